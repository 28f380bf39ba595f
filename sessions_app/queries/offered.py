"""What forms offer while somebody types: the newest sessions, the agents that were seen."""

from collections.abc import Sequence

from sessions_app.models import Session
from sessions_app.queries.sessions import facets

SESSIONS = 30
AGENTS = 200


def offered_sessions() -> Sequence[tuple[str, str]]:
    """(id, title) of the newest, without subagents."""
    rows = Session.objects.filter(deleted_at=None, parent=None).order_by("-last_us", "-key")[:SESSIONS]
    return list(rows.values_list("id", "title"))


def offered_agents() -> Sequence[tuple[str, str]]:
    """(name, nothing to add)"""
    return [(name, "") for name in facets(None).agents[:AGENTS]]
