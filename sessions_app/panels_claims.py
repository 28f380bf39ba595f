"""What ledger clients claimed in a session, raw: the ledger's page leads to it."""

import json
from collections.abc import Sequence
from typing import Any

from sessions_app.models import Session
from sessions_app.queries.claims import Claims, claims_of, claims_of_all
from sessions_app.registry import Panel, registry


def register() -> None:
    """Called once, from ``AppConfig.ready``."""
    registry.add_panel(
        Panel(
            slug="claims",
            title="Claims and streams",
            template="sessions/panels/claims.html",
            context=_claims,
            count=lambda session: 0,
            raw=True,
        )
    )


def _claims(session: Session) -> dict[str, Any]:
    return {"claims": _drawn(claims_of(session)), "of_all": _drawn(claims_of_all())}


def _drawn(found: Sequence[Claims]) -> list[dict[str, Any]]:
    return [
        {
            "title": one.title,
            "note": one.note,
            "count": len(one.rows),
            "text": json.dumps(one.rows, ensure_ascii=False, indent=2),
        }
        for one in found
    ]
