"""Streams that are not final yet, in the order in which a replay shows them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Prefetch, QuerySet, Sum

from contextdash.errors import NotFound, TooLarge
from contextdash.limits import PAGE_ROWS, REPLAY_BYTES
from sessions_app.ledger.digests import stream_key
from sessions_app.models import Event, PartialSegment, PartialSnapshot, Run
from sessions_app.queries.ledger_replay import whole_run
from sessions_app.queries.sessions_api import payload_value

LISTED_SEGMENTS = 4
"""How much of a stream a list holds: 256 KiB."""

_FINAL_KINDS = ("text", "thinking", "function_response")


@dataclass(frozen=True, slots=True)
class Partial:
    """A stream as it stands: the event that it would be, with the text so far."""

    stream_key: str
    run_id: str
    after_seq: int
    """It comes after the event of that place in the run; 0 is before all."""
    occurred_us: int
    updated_us: int
    event_id: str
    kind: str
    text: str
    size: int
    """Bytes of the whole text, of which a list holds the beginning only."""
    envelope: dict[str, Any]


def partials_of(run: Run) -> list[Partial]:
    """A run's streams by the place they are shown at, then by time and id. A corrupt one is left out."""
    rows = _measured().filter(run=run).prefetch_related("segments")
    read = [_read(row) for row in rows.order_by("after_seq", "occurred_us", "event_id", "pk")]
    return [partial for partial in read if partial is not None]


@dataclass(frozen=True, slots=True)
class Replayed:
    """One entry of a replay: an event as its writer sent it, or a stream as the event that it would be."""

    seq: int | None
    """None for a stream."""
    event: Any


def replayed(run: Run, *, after: int) -> list[Replayed]:
    """A run's events beyond a seq, with its streams after the events that they came after.

    Raises:
        TooLarge: as ``whole_run``; the streams count as well.
    """
    sizes = PartialSegment.objects.filter(snapshot__run=run).aggregate(size=Sum("size"))
    if (sizes["size"] or 0) > REPLAY_BYTES:
        raise TooLarge(
            f"The run's streams are {sizes['size']} bytes; one answer holds {REPLAY_BYTES} (REPLAY_BYTES).",
            code="limit_exceeded",
        )
    merged: list[tuple[int, int, Replayed]] = []
    for read in whole_run(run, after=after):
        seq = read.event.seq or 0
        merged.append((seq, 0, Replayed(seq, read.payload)))
    for place, one in enumerate(partials_of(run), 1):
        if one.after_seq >= after:
            merged.append((one.after_seq, place, Replayed(None, one.envelope)))
    return [entry for _, _, entry in sorted(merged, key=lambda line: line[:2])]


def partial(key: str) -> Partial:
    """Raises NotFound where there is no such stream, where it is final, or corrupt."""
    rows = _measured().filter(stream_key=key, run__session__deleted_at=None)
    row = rows.prefetch_related("segments").first()
    found = _read(row) if row is not None else None
    if found is None:
        raise NotFound("There is no such stream; when its final event comes, it leaves.")
    return found


def of_session(session_key: int) -> Sequence[Partial]:
    """The newest PAGE_ROWS of a session, newest first, each with its first LISTED_SEGMENTS."""
    first = Prefetch("segments", PartialSegment.objects.filter(number__lte=LISTED_SEGMENTS))
    rows = _measured().filter(run__session=session_key).prefetch_related(first)
    read = [_read(row) for row in rows.order_by("-updated_us", "-pk")[:PAGE_ROWS]]
    return [partial for partial in read if partial is not None]


def is_final(run: Run, key: str) -> bool:
    """Whether the final event of a stream is in its run. Reads the run's texts and results, newest first."""
    rows = (
        Event.objects.filter(run=run, name__in=_FINAL_KINDS)
        .order_by("-seq")
        .values_list("payload", flat=True)
    )
    return any(_is_end(payload_value(payload), key) for payload in rows.iterator(chunk_size=100))


def _is_end(envelope: Any, key: str) -> bool:
    return isinstance(envelope, dict) and not envelope.get("partial") and stream_key(envelope) == key


def _measured() -> QuerySet[PartialSnapshot]:
    return PartialSnapshot.objects.select_related("run").annotate(size=Sum("segments__size"))


def _read(row: PartialSnapshot) -> Partial | None:
    try:
        envelope = json.loads(row.envelope)
    except ValueError:
        return None
    if not isinstance(envelope, dict):
        return None
    text = "".join(segment.text for segment in row.segments.all())
    if isinstance(envelope.get("content"), dict):
        envelope["content"] = {**envelope["content"], "text": text}
    return Partial(
        stream_key=row.stream_key,
        run_id=row.run.run_id,
        after_seq=row.after_seq,
        occurred_us=row.occurred_us,
        updated_us=row.updated_us,
        event_id=row.event_id,
        kind=row.kind,
        text=text,
        size=row.size or 0,  # type: ignore[attr-defined]  # annotated
        envelope=envelope,
    )
