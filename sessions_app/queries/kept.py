"""What was deleted and what was erased: for the page that tells both, and where something is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Count, Max, Q, Sum
from django.utils import timezone

from contextdash import clock
from contextdash.cleaning import one_line
from contextdash.rendering.ansi import plain
from sessions_app.models import Event, Purge, Session, Tombstone
from sessions_app.services.ending import UNDO_FOR
from sessions_app.services.purging import RETENTION_REASON

PURGE_ROWS = 50
DELETED_ROWS = 100
REASON_CHARS = 120


@dataclass(frozen=True, slots=True)
class Deleted:
    """A session that was deleted by itself, not with its parent."""

    session: Session
    tombstone: Tombstone
    until: datetime
    """How long it can be brought back."""
    undoable: bool
    holds_events: bool


@dataclass(frozen=True, slots=True)
class Erased:
    """A purge with the session that it is about; None for retention and where that row is gone."""

    purge: Purge
    session: Session | None
    retention: bool


@dataclass(frozen=True, slots=True)
class Purges:
    items: Sequence[Erased]
    next: int | None
    """What to ask for as ``before`` for older ones."""


def deleted_sessions() -> Sequence[Deleted]:
    """The newest DELETED_ROWS, newest first."""
    top = Q(parent=None) | Q(parent__deleted_at=None)
    gone = Session.objects.filter(top, ~Q(deleted_at=None)).defer("user_request", "extra")
    found = list(gone.order_by("-deleted_at", "-key")[:DELETED_ROWS])
    marks = {
        mark.session_id: mark
        for mark in Tombstone.objects.filter(session_id__in=[one.id for one in found]).select_related(
            "user", "token"
        )
    }
    now = clock.now()
    return [_deleted(one, marks[one.id], now) for one in found if one.id in marks]


def _deleted(session: Session, mark: Tombstone, now: datetime) -> Deleted:
    until = mark.deleted_at + UNDO_FOR
    return Deleted(
        session=session,
        tombstone=mark,
        until=until,
        undoable=mark.final_at is None and now <= until,
        holds_events=Event.objects.filter(session=session).exists(),
    )


def purges(*, before: int | None = None) -> Purges:
    """PURGE_ROWS that have come to their end, newest first; a session's subagents have rows of their own."""
    rows = Purge.objects.exclude(finished_at=None).select_related("user", "token").order_by("-pk")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows[: PURGE_ROWS + 1])
    more = len(found) > PURGE_ROWS
    found = found[:PURGE_ROWS]
    return Purges(_with_sessions(found), found[-1].pk if more else None)


def open_purges() -> Sequence[Erased]:
    """Those that still go on, oldest first."""
    rows = Purge.objects.filter(finished_at=None).select_related("user", "token").order_by("pk")
    return _with_sessions(list(rows[:PURGE_ROWS]))


def _with_sessions(found: Sequence[Purge]) -> list[Erased]:
    keys = {one.session_key for one in found if one.session_key is not None}
    sessions: Mapping[int, Session] = Session.objects.defer("user_request", "extra").in_bulk(keys)
    return [Erased(one, sessions.get(one.session_key or 0), is_retention(one)) for one in found]


def kept_version() -> str:
    """Changes with everything that the page tells."""
    purged = Purge.objects.aggregate(
        newest=Max("pk"),
        open=Count("pk", filter=Q(finished_at=None)),
        events=Sum("events_deleted", filter=Q(finished_at=None)),
    )
    marks = Tombstone.objects.aggregate(newest=Max("pk"), all=Count("pk"), final=Max("final_at"))
    final = clock.to_us(marks["final"]) if marks["final"] else 0
    minute = clock.now_us() // 60_000_000
    parts = (purged["newest"], purged["open"], purged["events"], marks["newest"], marks["all"], final, minute)
    return ".".join(str(part or 0) for part in parts)


def is_retention(purge: Purge) -> bool:
    return purge.session_key is None and purge.reason.startswith(RETENTION_REASON)


def erasure_of(session: Session, at_us: int) -> Purge | None:
    """The purge that took what a session had at a moment: the first that names it. None where none does."""
    named = Q(session_key=session.key, started_at__gte=clock.from_us(at_us)) | Q(received_before_us__gt=at_us)
    return Purge.objects.filter(named, events_deleted__gt=0).select_related("user").order_by("pk").first()


def newest_erasure(session: Session) -> Purge | None:
    """The newest purge that took some of a session's entries, for the page that lists those that are left.

    Of retention's it is only known that they took all that was older, so one counts that is younger than the
    session's beginning.
    """
    named = Q(session_key=session.key) | Q(received_before_us__gt=session.started_us)
    return Purge.objects.filter(named, events_deleted__gt=0).select_related("user").order_by("-pk").first()


def erased_words(purge: Purge) -> str:
    """The end of a sentence: ``erased on 1 December 2026 by olga (she asked)``, in the reader's zone."""
    day = timezone.localtime(purge.started_at)
    head = f"erased on {day.day} {day:%B %Y} by"
    if is_retention(purge):
        return f"{head} retention"
    return f"{head} {purge.user or 'contextdash'} ({one_line(plain(purge.reason), REASON_CHARS)})"


def retention_days() -> int | None:
    days: int | None = settings.RETENTION_DAYS
    return days
