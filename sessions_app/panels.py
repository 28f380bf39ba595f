"""What this app itself shows on a session's page beside the timeline's own rows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from contextdash import clock
from sessions_app.models import Session
from sessions_app.queries.beside import ROWS, beside
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
    registry.add_panel(
        Panel(
            slug="beside",
            title="Runs, routing, documents and logs",
            template="sessions/panels/beside.html",
            context=_beside,
            count=lambda session: 0,
            raw=True,
        )
    )


def _subagents(session: Session) -> dict[str, Any]:
    family = family_of(session)
    root = agents_of(family, clock.now_us())
    return {"root": root, "root_list": [root], "shown_count": len(family.children)}


def _beside(session: Session) -> dict[str, Any]:
    kinds = [
        {"title": one.title, "note": one.note, "count": len(one.rows), "text": _dumped(one.rows)}
        for one in beside(session)
    ]
    return {"kinds": kinds, "most": ROWS}


def _dumped(rows: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(rows, ensure_ascii=False, indent=2)
