"""Messages and hand-offs: who waits for whom."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from contextdash.queries.history import newest_change
from sessions_app.models import AgentMessage, Session
from sessions_app.queries.texts import with_starts
from sessions_app.vocabulary import MessageRole

MESSAGE_CHARS = 10_000
"""What the messages panel shows of one message; the rest is on a page of its own."""
OPEN_HANDOFFS = 500
"""How many of the newest unacknowledged hand-offs are looked at, so that old ones cost nothing."""


@dataclass(frozen=True, slots=True)
class Thread:
    messages: Sequence[AgentMessage]
    """Newest first; a hand-off carries ``answered``, whether its target wrote later in the session."""
    more: bool
    unread: int


def open_handoffs(
    *, project: str | None = None, target: str | None = None, limit: int = 50
) -> list[AgentMessage]:
    """Hand-offs that wait: with a target who wrote nothing later in the session, and not acknowledged.

    Newest first, content up to 300 characters.
    """
    newest = (
        AgentMessage.objects.filter(role=MessageRole.HANDOFF, acknowledged_at=None)
        .order_by("-ts", "-id")
        .values("id")[:OPEN_HANDOFFS]
    )
    rows = _with_answered(AgentMessage.objects.filter(id__in=newest, session__deleted_at=None))
    rows = rows.filter(answered=False).exclude(target=None).exclude(target="")
    if project:
        rows = rows.filter(session__project__slug=project)
    if target:
        rows = rows.filter(target=target)
    rows = rows.select_related("session", "session__project")
    return list(with_starts(rows, 300, "content").order_by("-ts", "-id")[:limit])


def thread(session: Session, *, limit: int) -> Thread:
    """The newest messages of a session."""
    rows = _with_answered(AgentMessage.objects.filter(session=session)).select_related("acknowledged_by")
    found = list(with_starts(rows, MESSAGE_CHARS, "content").order_by("-ts", "-id")[: limit + 1])
    messages = found[:limit]
    return Thread(messages=messages, more=len(found) > limit, unread=sum(is_unread(row) for row in messages))


def is_unread(message: AgentMessage) -> bool:
    """Of a row that carries ``answered``."""
    answered: bool = message.answered  # type: ignore[attr-defined]  # annotated by _with_answered
    return bool(
        message.role == MessageRole.HANDOFF
        and message.target
        and message.acknowledged_at is None
        and not answered
    )


def inbox_version() -> str:
    """Changes with every new message and every acknowledgement."""
    newest = AgentMessage.objects.order_by("-id").values_list("id", flat=True).first() or 0
    return f"{newest}.{newest_change()}"


def _with_answered(rows: QuerySet[AgentMessage]) -> QuerySet[AgentMessage]:
    later = AgentMessage.objects.filter(session=OuterRef("session"), agent_name=OuterRef("target")).filter(
        Q(ts__gt=OuterRef("ts")) | Q(ts=OuterRef("ts"), id__gt=OuterRef("id"))
    )
    return rows.annotate(answered=Exists(later))
