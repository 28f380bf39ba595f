"""What ledger clients claimed in a session, raw: the ledger's page leads to it."""

import json
from collections.abc import Sequence
from typing import Any

from sessions_app.models import ContinuationClaim, PartialSegment, Session, SubagentSpawn
from sessions_app.queries.claims import Claims, claims_of, claims_of_all
from sessions_app.registry import Exported, Panel, registry

_EXPORTED = (
    Exported(
        "spawns",
        "Subagents by the place that was claimed",
        lambda session: SubagentSpawn.objects.filter(parent_session_id=session.id),
        "child_session_id",
        ("parent_run_id", "tool_call_id", "swarm_id", "item_id"),
    ),
    Exported(
        "continuations",
        "Continuations",
        lambda session: ContinuationClaim.objects.filter(source_session_id=session.id),
        "claim_id",
        ("source_run_id", "target_run_id", "start_event_id"),
    ),
    Exported(
        "streams",
        "Texts that were not final",
        lambda session: PartialSegment.objects.filter(snapshot__run__session=session),
        "snapshot_id",
        ("number",),
        ("text",),
    ),
)


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
    for exported in _EXPORTED:
        registry.add_export(exported)


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
