"""Events read again: of a session in order of commit or of time, of a run from any place, and whole."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from contextdash.errors import Conflict, Invalid, NotFound, TooLarge
from contextdash.ids import digest16
from contextdash.limits import EVENT_PAGE_BYTES, EVENT_PAYLOAD_BYTES, REPLAY_BYTES, REPLAY_EVENTS
from sessions_app.ledger.digests import Identity, prefix_digest
from sessions_app.models import Event, Run, Session, SessionEvent
from sessions_app.queries.sessions_api import ReadEvent, payload_value


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What is wanted of a session's events; an empty field wants all."""

    category: str = ""
    """Of the line that the event has on the timeline."""
    kind: str = ""
    """Ours, or the name that the source gave it."""
    source: str = ""
    run: int | None = None


@dataclass(frozen=True, slots=True)
class Prefix:
    """A run from its first event on, without a gap, and the digest that its writer computes of it."""

    seq: int
    digest: str
    items: Sequence[ReadEvent]


def events_by_commit(
    session: Session, *, wanted: EventFilter, after: int, limit: int
) -> tuple[Sequence[ReadEvent], int | None]:
    """Events beyond an ordinal, and the ordinal to go on from (None at the end).

    A page ends early at EVENT_PAGE_BYTES of payload; one payload above EVENT_PAYLOAD_BYTES is left out.
    """
    rows = _wanted(session, wanted).filter(ordinal__gt=after).order_by("ordinal")
    found, more = _page(rows, limit)
    return found, found[-1].event.ordinal if more else None


def events_by_time(
    session: Session, *, wanted: EventFilter, cursor: str | None, limit: int
) -> tuple[Sequence[ReadEvent], str | None]:
    """Events as their sources date them: by time, then run, then place in it. Not the order of commit."""
    rows = _wanted(session, wanted).annotate(of_run=Coalesce("run_id", 0), place=Coalesce("seq", 0))
    if cursor:
        rows = rows.filter(_beyond(cursor))
    found, more = _page(rows.order_by("occurred_us", "of_run", "place", "key"), limit)
    last = found[-1].event if more else None
    go_on = None if last is None else f"{last.occurred_us}.{last.run_id or 0}.{last.seq or 0}.{last.key}"
    return found, go_on


def run_of(key: int, *, deleted: bool = False) -> Run:
    """A run with its session and turn. Raises NotFound for one that is not there.

    ``deleted``: also of a session that was.
    """
    found = Run.objects.select_related("session", "turn").filter(key=key).first()
    if found is None or (found.session.deleted_at is not None and not deleted):
        raise NotFound(f"There is no run {key}.")
    return found


def position_of(run_key: int) -> tuple[int, bool]:
    """The seq of a run's newest event, and whether it is sealed."""
    return Run.objects.filter(key=run_key).values_list("last_seq", "sealed").get()


def run_events(run: Run, *, after: int, limit: int) -> tuple[Sequence[ReadEvent], int | None]:
    """Events of a run beyond a seq, and the seq to go on from."""
    rows = Event.objects.filter(run=run, seq__gt=after).order_by("seq")
    found, more = _page(rows, limit)
    return found, found[-1].event.seq if more else None


def whole_run(run: Run, *, after: int) -> Sequence[ReadEvent]:
    """All events of a run beyond a seq, each with its whole payload.

    Raises:
        TooLarge: limit_exceeded; they are more than REPLAY_EVENTS or REPLAY_BYTES. Nothing is cut.
    """
    rows = Event.objects.filter(run=run, seq__gt=after)
    measured = rows.aggregate(events=Count("key"), size=Sum("payload_size"))
    if measured["events"] > REPLAY_EVENTS or (measured["size"] or 0) > REPLAY_BYTES:
        raise TooLarge(
            f"These are {measured['events']} events of {measured['size']} bytes; one answer holds"
            f" {REPLAY_EVENTS} (REPLAY_EVENTS) and {REPLAY_BYTES} bytes (REPLAY_BYTES). Read them in pages.",
            code="limit_exceeded",
        )
    return [
        ReadEvent(row, payload_value(row.payload), False)
        for row in rows.select_related("run").order_by("seq")
    ]


def prefix_of(run: Run, *, to: int | None) -> Prefix:
    """The run up to the event ``to`` (None: all of it), for whoever goes on from there.

    Raises:
        Conflict: ledger_gap, partial_in_prefix or masked_in_prefix: no digest can be told of it.
        NotFound: the run does not reach that far.
        TooLarge: as ``whole_run``.
    """
    items = [read for read in whole_run(run, after=0) if to is None or (read.event.seq or 0) <= to]
    texts = [zlib.decompress(bytes(read.event.payload)) for read in items]
    for expected, (read, raw) in enumerate(zip(items, texts, strict=True), 1):
        if read.event.seq != expected:
            raise Conflict(
                f"The run has a gap: expected {expected}, received {read.event.seq}.", code="ledger_gap"
            )
        if not isinstance(read.payload, Mapping) or read.payload.get("partial"):
            raise Conflict(f"Event {expected} of the run is partial.", code="partial_in_prefix")
        if bytes(read.event.content) != digest16(raw):
            raise Conflict(
                f"Event {expected} of the run holds text that was masked, so its digest is not its writer's.",
                code="masked_in_prefix",
            )
    seq = len(items)
    if seq == 0 or (to is not None and seq < to):
        raise NotFound(f"The run has {seq} events.")
    identity = Identity(
        run.session.external_id or run.session.id, run.invocation_id, run.run_id, run.turn.turn_id
    )
    digest = prefix_digest(identity, ((place, raw.decode()) for place, raw in enumerate(texts, 1)))
    return Prefix(seq, digest, items)


def _wanted(session: Session, wanted: EventFilter) -> QuerySet[Event]:
    rows = Event.objects.filter(session=session)
    if wanted.kind:
        rows = rows.filter(Q(kind=wanted.kind) | Q(name=wanted.kind))
    if wanted.source:
        rows = rows.filter(source=wanted.source)
    if wanted.run is not None:
        rows = rows.filter(run=wanted.run)
    if wanted.category:
        told = SessionEvent.objects.filter(session=session, category=wanted.category)
        rows = rows.filter(key__in=told.values("event_id"))
    return rows


def _page(rows: QuerySet[Event], limit: int) -> tuple[list[ReadEvent], bool]:
    """What fits on a page, and whether there is more."""
    sizes = list(rows.values_list("key", "payload_size")[: limit + 1])
    taken, total = 0, 0
    for _, size in sizes[:limit]:
        total += min(size, EVENT_PAYLOAD_BYTES)
        if taken and total > EVENT_PAGE_BYTES:
            break
        taken += 1
    small = [key for key, size in sizes[:taken] if size <= EVENT_PAYLOAD_BYTES]
    payloads: dict[int, Any] = dict(Event.objects.filter(key__in=small).values_list("key", "payload"))
    found = {
        event.key: event
        for event in Event.objects.filter(key__in=[key for key, _ in sizes[:taken]])
        .select_related("run")
        .defer("payload")
    }
    items = [
        ReadEvent(found[key], payload_value(payloads[key]) if key in payloads else None, key not in payloads)
        for key, _ in sizes[:taken]
    ]
    return items, len(sizes) > taken


def _beyond(cursor: str) -> Q:
    """
    Raises:
        Invalid: the cursor is not one of ours.
    """
    parts = cursor.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in parts):
        raise Invalid("This cursor is not valid. Start from the beginning.", field="cursor")
    at_us, run, place, key = map(int, parts)
    return (
        Q(occurred_us__gt=at_us)
        | Q(occurred_us=at_us, of_run__gt=run)
        | Q(occurred_us=at_us, of_run=run, place__gt=place)
        | Q(occurred_us=at_us, of_run=run, place=place, key__gt=key)
    )
