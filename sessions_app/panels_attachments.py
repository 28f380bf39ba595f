"""The files of a session as a panel of its page."""

from typing import Any

from sessions_app.models import Session
from sessions_app.queries.attachments import files_of, hidden_count, seen_count
from sessions_app.registry import Panel, registry


def register() -> None:
    """Called once, from ``AppConfig.ready``."""
    registry.add_panel(
        Panel(
            slug="attachments",
            title="Attachments",
            template="attachments/panel.html",
            context=_files,
            count=seen_count,
            styles="pages/session_panels.css",
        )
    )


def _files(session: Session) -> dict[str, Any]:
    return {"files": files_of(session), "for_model": hidden_count(session)}
