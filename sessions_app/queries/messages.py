"""Messages: the newest of a session or agent, in reading order."""

from collections.abc import Sequence

from django.db.models import QuerySet
from django.db.models.functions import Substr

from contextdash.errors import NotFound
from contextdash.limits import READ_RECENT_CHARS
from contextdash.paging import Page, page
from sessions_app.models import AgentMessage


def recent_messages(
    *,
    session_id: str | None,
    agent: str | None,
    project: str | None,
    limit: int,
    cursor: str | None = None,
) -> Page[AgentMessage]:
    """The newest ``limit`` messages before the cursor, oldest first; deleted sessions' are left out.

    ``content`` is not read whole: ``content_head`` holds READ_RECENT_CHARS and one more character.
    """
    rows: QuerySet[AgentMessage] = AgentMessage.objects.filter(session__deleted_at=None)
    if session_id is not None:
        rows = rows.filter(session_id=session_id)
    if agent:
        rows = rows.filter(agent_name=agent)
    if project:
        rows = rows.filter(session__project__slug=project)
    rows = rows.annotate(content_head=Substr("content", 1, READ_RECENT_CHARS + 1)).defer("content")
    found = page(rows, limit=limit, cursor=cursor)
    oldest_first: Sequence[AgentMessage] = found.items[::-1]
    return Page(oldest_first, found.next)


def message(message_id: int) -> AgentMessage:
    """Raises NotFound for one that is not there."""
    found = AgentMessage.objects.select_related("session").filter(pk=message_id).first()
    if found is None or found.session.deleted_at is not None:
        raise NotFound(f"There is no message {message_id}.")
    return found
