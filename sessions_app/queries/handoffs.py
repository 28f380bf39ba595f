"""Messages and hand-offs: who waits for whom."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import CharField, Count, Exists, F, OuterRef, Q, QuerySet, Value

from contextdash.paging import Page, page
from contextdash.prepared import Prepared, newest_id
from contextdash.queries.history import newest_change
from sessions_app.models import AgentMessage, Session
from sessions_app.queries.streams import Place, Waiting, answered_in_stream
from sessions_app.queries.texts import with_starts
from sessions_app.vocabulary import MessageRole

MESSAGE_CHARS = 2_000
"""What the messages panel shows of one message; a longer one has a page of its own."""
OPEN_HANDOFFS = 500
"""How many of the newest unacknowledged hand-offs are looked at, so that old ones cost nothing."""


INBOX_ROWS = 50
"""What the inbox shows at once; the rest moves up as these are acknowledged."""


@dataclass(frozen=True, slots=True)
class Entry:
    message: AgentMessage
    long: bool
    """Its ``content_start`` is not all of it."""
    answered: bool
    """Its target wrote later in the session."""

    @property
    def unread(self) -> bool:
        """A hand-off that nobody answered or acknowledged."""
        message = self.message
        handed = message.role == MessageRole.HANDOFF and bool(message.target)
        return handed and message.acknowledged_at is None and not self.answered


@dataclass(frozen=True, slots=True)
class Thread:
    entries: Sequence[Entry]
    """Newest first."""
    more: bool

    @property
    def unread(self) -> int:
        return sum(entry.unread for entry in self.entries)


def open_handoffs(
    *, project: str | None = None, target: str | None = None, limit: int = 50
) -> list[AgentMessage]:
    """Hand-offs that wait: with a target who wrote nothing later in the session, and not acknowledged.

    Newest first, content up to 300 characters.
    """
    told = _WAITING.rows(False)
    ids = [
        pk for pk, name, slug in told if (not target or name == target) and (not project or slug == project)
    ]
    return _with_sessions(ids[:limit])


def open_handoff_count(project: str | None = None) -> int:
    """How many ``open_handoffs`` there are, at most OPEN_HANDOFFS."""
    return sum(count for slug, count in _OPEN.rows(bool(project)) if not project or slug == project)


def _open_by_project(of_project: bool) -> QuerySet[AgentMessage, Any]:
    slug = F("session__project__slug") if of_project else Value(None, CharField())
    return _open().order_by().values_list(slug).annotate(count=Count("id"))


_OPEN = Prepared(_open_by_project)


@dataclass(frozen=True, slots=True)
class Inbox:
    handoffs: Sequence[AgentMessage]
    """Those that wait, newest first, at most INBOX_ROWS, content up to 300 characters."""
    hidden: int
    """How many more wait."""
    targets: Sequence[tuple[str, int]]
    """For whom and how many, of the whole inbox."""
    answered_elsewhere: int
    """Left out, since the target wrote later in the work stream."""


def inbox(*, project: str | None, target: str | None, in_streams: bool) -> Inbox:
    """What waits, for everybody or one target.

    ``in_streams`` takes a later word of the target in another session of the same work stream for an answer
    as well: some clients make every turn a session.
    """
    # All are counted, few are shown: only these are read with their texts and sessions.
    waiting = [row for row in _WAITING.rows(in_streams) if not project or row[2] == project]
    answered: set[int] = set()
    if in_streams:
        answered = answered_in_stream([Waiting(row[0], row[1], row[3], Place(*row[4:])) for row in waiting])
    kept = [(row[0], row[1]) for row in waiting if row[0] not in answered]
    counted = Counter(name for _, name in kept)
    shown = [pk for pk, name in kept if target in (None, name)]
    return Inbox(
        handoffs=_with_sessions(shown[:INBOX_ROWS]),
        hidden=len(shown[INBOX_ROWS:]),
        targets=counted.most_common(),
        answered_elsewhere=len(answered),
    )


def acknowledged_page(
    *, project: str | None, target: str | None, limit: int, cursor: str | None
) -> Page[AgentMessage]:
    """Hand-offs that somebody has taken note of, newest first."""
    taken = AgentMessage.objects.filter(role=MessageRole.HANDOFF, acknowledged_at__isnull=False)
    rows = taken.filter(session__deleted_at=None).select_related(
        "session", "session__project", "acknowledged_by"
    )
    if project:
        rows = rows.filter(session__project__slug=project)
    if target:
        rows = rows.filter(target=target)
    return page(with_starts(rows, 300, "content"), limit=limit, cursor=cursor)


def thread(session: Session, *, limit: int) -> Thread:
    """The newest messages of a session."""
    rows = AgentMessage.objects.filter(session=session).select_related("acknowledged_by")
    rows = with_starts(rows.annotate(answered=answered_later()), MESSAGE_CHARS, "content")
    found = list(rows.order_by("-ts", "-id")[: limit + 1])
    entries = [_entry(row) for row in found[:limit]]
    return Thread(entries, more=len(found) > limit)


def inbox_version() -> str:
    """Changes with every new message and every acknowledgement."""
    return f"{newest_id(AgentMessage)}.{newest_change()}"


def _open() -> QuerySet[AgentMessage]:
    """Of every project: a database that is asked for one may begin there and read all its messages."""
    newest = (
        AgentMessage.objects.filter(role=MessageRole.HANDOFF, acknowledged_at=None)
        .order_by("-ts", "-id")
        .values_list("id", flat=True)[:OPEN_HANDOFFS]
    )
    rows = AgentMessage.objects.filter(~answered_later(), id__in=newest, session__deleted_at=None)
    return rows.exclude(target=None).exclude(target="")


def _waiting(with_places: bool) -> QuerySet[AgentMessage, Any]:
    """(id, target, slug of the project), with places also the time and what ``Place`` holds; newest first."""
    places = ("ts", *(f"session__{name}" for name in Place._fields)) if with_places else ()
    return _open().order_by("-ts", "-id").values_list("id", "target", "session__project__slug", *places)


_WAITING = Prepared(_waiting)


def _with_sessions(ids: Sequence[int]) -> list[AgentMessage]:
    rows = AgentMessage.objects.filter(id__in=ids).order_by("-ts", "-id")
    # A session has sixty columns, of which a line shows four: models of whole rows cost more than the query.
    rows = rows.select_related("session", "session__project").only(*_SHOWN)
    return list(with_starts(rows, 300, "content"))


_SHOWN = (
    *("agent_name", "role", "target", "ts", "acknowledged_at", "version", "session__id", "session__title"),
    *("session__branch", "session__project__name", "session__project__slug"),
)


def _entry(row: Any) -> Entry:
    """Of a row that carries ``answered`` and ``content_start``."""
    return Entry(row, long=len(row.content_start) > MESSAGE_CHARS, answered=row.answered)


def answered_later() -> Exists:
    """Whether a message's target wrote later in its session."""
    later = AgentMessage.objects.filter(session=OuterRef("session"), agent_name=OuterRef("target"))
    return Exists(later.filter(Q(ts__gt=OuterRef("ts")) | Q(ts=OuterRef("ts"), id__gt=OuterRef("id"))))
