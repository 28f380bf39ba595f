"""What an export reads: small slices by key, each a query of its own, so that no snapshot is held while the
receiver is slow and no more than a slice is in memory.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import BinaryField, Model, QuerySet

from contextdash import clock
from contextdash.limits import EVENT_PAGE_BYTES, KIB
from sessions_app.models import AgentMessage, Decision, Event, HookEvent, Mistake, Plan, Session, SessionEvent
from sessions_app.registry import Exported, registry
from sessions_app.services.ending import descendants

SLICE_ROWS = 10
"""Rows with long texts in memory at a time: at the most 8 MiB each."""
SLICE_EVENTS = 100
CHUNK_BYTES = 32 * KIB
"""Small pieces are sent together."""

OWN: Sequence[Exported] = (
    Exported(
        "messages",
        "Messages",
        lambda session: AgentMessage.objects.filter(session=session),
        "agent_name",
        ("role", "target", "ts"),
        ("content",),
    ),
    Exported(
        "plans",
        "Plans",
        lambda session: Plan.objects.filter(session=session),
        "title",
        ("path", "number", "status", "ts"),
        ("body_md",),
    ),
    Exported(
        "decisions",
        "Decisions",
        lambda session: Decision.objects.filter(session=session),
        "topic",
        ("agent_name", "status", "ts"),
        ("choice", "rationale"),
    ),
    Exported(
        "mistakes",
        "Mistakes",
        lambda session: Mistake.objects.filter(session=session),
        "summary",
        ("category", "agent_name", "ts"),
        ("root_cause", "fix"),
    ),
    Exported(
        "hook_events",
        "Hooks",
        lambda session: HookEvent.objects.filter(session=session),
        "hook_name",
        ("event_type", "outcome", "ts"),
        ("payload_json",),
    ),
    Exported(
        "notes",
        "What else happened",
        lambda session: SessionEvent.objects.filter(session=session),
        "type",
        ("category", "data"),
    ),
)


def nouns() -> list[Exported]:
    """This app's, then those of the other apps."""
    return [*OWN, *registry.exported.values()]


def family(session: Session) -> Iterator[Session]:
    """The session, then its subagents, without those that were deleted by themselves."""
    keys = [one.key for one in descendants(session) if one.deleted_at is None]
    for key in (session.key, *keys):
        found = Session.objects.select_related("project", "parent", "owner").filter(key=key).first()
        if found is not None:
            yield found


def in_slices[M: Model](rows: QuerySet[M], *, size: int = SLICE_ROWS) -> Iterator[M]:
    """Every row in the order of ``rows``; what leaves meanwhile is left out, what comes is not in it.

    The keys are read first, eight bytes each: a slice is then found by its keys, however long the session is.
    """
    keys = array("q", rows.prefetch_related(None).values_list("pk", flat=True).iterator())
    for start in range(0, len(keys), size):
        wanted = keys[start : start + size].tolist()
        found = {row.pk: row for row in rows.filter(pk__in=wanted)}
        yield from (found[key] for key in wanted if key in found)


def events(session: Session) -> Iterator[Event]:
    """Every event in order of commit, with its payload; at most EVENT_PAGE_BYTES of payload at a time."""
    after = -1
    while True:
        left = Event.objects.filter(session=session, ordinal__gt=after).order_by("ordinal")
        sized = list(left.values_list("key", "ordinal", "payload_size")[:SLICE_EVENTS])
        taken, total = 0, 0
        for _, _, size in sized:
            total += size
            if taken and total > EVENT_PAGE_BYTES:
                break
            taken += 1
        if not taken:
            return
        yield from Event.objects.filter(key__in=[key for key, _, _ in sized[:taken]]).order_by("ordinal")
        after = sized[taken - 1][1]


def row_out(row: Model) -> dict[str, Any]:
    """A row by its columns; digests are left out, times are ISO 8601 with Z."""
    return {
        field.attname: _out(getattr(row, field.attname))
        for field in row._meta.concrete_fields
        if not isinstance(field, BinaryField)
    }


def in_chunks(pieces: Iterable[str]) -> Iterator[bytes]:
    """UTF-8 of the pieces, small ones joined."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        raw = piece.encode("utf-8", "replace")
        waiting.append(raw)
        size += len(raw)
        if size >= CHUNK_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _out(value: Any) -> Any:
    return clock.iso(value) if isinstance(value, datetime) else value
