"""What this app itself shows on a session's page beside the timeline's own rows."""

from typing import Any

from contextdash import clock
from sessions_app.models import Session
from sessions_app.queries.session import family_of
from sessions_app.queries.subagents import agents_of
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
            styles="pages/session_panels.css",
        )
    )


def _subagents(session: Session) -> dict[str, Any]:
    family = family_of(session)
    root = agents_of(family, clock.now_us())
    return {"root": root, "root_list": [root], "shown_count": len(family.children)}
