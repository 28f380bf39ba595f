"""Pieces of telemetry become rows, each once: a request that is sent again changes nothing."""

# ruff: noqa: S608 - the text is made of our own names and of %s marks

from collections import Counter
from collections.abc import Iterable, Sequence

from django.db import connection

from contextdash.writer import write, writer
from sessions_app.importers.gathering import IterationSeen
from sessions_app.importers.iterations import store_iterations
from sessions_app.ingest import store as ingest
from sessions_app.ingest.observation import Observation, Outcome
from sessions_app.ingest.otlp.taking import Piece, Taker
from sessions_app.models import Session
from sessions_app.services.hook_buckets import QUARTER_US, add_counts

SLICE = 200
"""Pieces that are stored in one turn of the writer: hooks wait for no more than that."""

COLUMNS = ("starts", "commits", "pull_requests", "lines_added", "lines_removed")
_SQL = (
    f"INSERT INTO code_counts (session_id, start_us, {', '.join(COLUMNS)})"
    f" VALUES ({', '.join(['%s'] * (len(COLUMNS) + 2))})"
    " ON CONFLICT (session_id, start_us) DO UPDATE SET "
    + ", ".join(f"{name} = code_counts.{name} + excluded.{name}" for name in COLUMNS)
)


def store_taken(taker: Taker) -> None:
    """Store what a request told; what was refused meanwhile is added to ``taker.refused``.

    Raises:
        Busy: not all of it was stored; sending it again stores the rest.
    """
    for start in range(0, len(taker.pieces), SLICE):
        pieces = taker.pieces[start : start + SLICE]
        (outcomes,) = writer.submit(_store_slices, [pieces])
        for piece, outcome in zip(pieces, outcomes, strict=True):
            _tell(taker, piece, outcome)
    _count(taker=taker)


def _tell(taker: Taker, piece: Piece, outcome: Outcome) -> None:
    seen = piece.observation
    if not piece.label:
        return
    if outcome in _WHY:
        taker.refuse(seen.client, piece.label, _WHY[outcome])
    else:
        new = "accepted" if seen.known else "unknown"
        taker.count(seen.client, piece.label, "duplicate" if outcome == Outcome.DUPLICATE else new)


_WHY = {
    Outcome.CONFLICT: "A record was sent before with other content.",
    Outcome.DELETED_SESSION: "Its session was deleted; its id is not used again.",
}


def _store_slices(slices: Sequence[Sequence[Piece]]) -> Sequence[Sequence[Outcome]]:
    return [_store(pieces) for pieces in slices]


def _store(pieces: Sequence[Piece]) -> Sequence[Outcome]:
    observations = [piece.observation for piece in pieces]
    outcomes = ingest.store(observations)
    new = [piece for piece, outcome in zip(pieces, outcomes, strict=True) if outcome == Outcome.ACCEPTED]
    _store_calls(new, observations)
    _store_code(new)
    return outcomes


def _store_calls(pieces: Iterable[Piece], observations: Sequence[Observation]) -> None:
    calls: dict[bytes, IterationSeen] = {}
    for piece in pieces:
        if piece.iteration is not None:
            known = calls.setdefault(piece.iteration.identity, piece.iteration)
            if known is not piece.iteration:
                known.merge(piece.iteration)
    store_iterations(calls, observations)


def _store_code(pieces: Iterable[Piece]) -> None:
    sums: dict[tuple[str, int], Counter[str]] = {}
    for piece in pieces:
        if piece.code is not None:
            at_us = piece.observation.at_us
            key = (piece.observation.session_id, at_us - at_us % QUARTER_US)
            sums.setdefault(key, Counter())[piece.code.column] += piece.code.number
    if not sums:
        return
    keys = dict(Session.objects.filter(id__in={session for session, _ in sums}).values_list("id", "key"))
    rows = [
        (keys[session], start_us, *(numbers[name] for name in COLUMNS))
        for (session, start_us), numbers in sorted(sums.items())
        if session in keys
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_SQL, rows)


@write
def _count(*, taker: Taker) -> None:
    add_counts(taker.counts)
