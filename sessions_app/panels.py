"""What this app itself shows on a session's page beside the timeline's own rows."""

from typing import Any

from contextdash import clock
from sessions_app.models import Session
from sessions_app.queries.session import family_of
from sessions_app.queries.states import state_of
from sessions_app.registry import Panel, registry


def register() -> None:
    """Called once, from ``AppConfig.ready``."""
    registry.add_panel(
        Panel(
            slug="subagents",
            title="Subagents",
            template="sessions/panels/subagents.html",
            context=_subagents,
            count=lambda session: session.child_count,
        )
    )


def _subagents(session: Session) -> dict[str, Any]:
    now_us = clock.now_us()
    children = family_of(session).children
    return {"children": [(child, state_of(child, now_us)) for child in children]}
