"""What ledger clients claimed in one session, as it was told, for who wants to look."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, Q
from django.forms.models import model_to_dict

from contextdash import clock
from contextdash.cleaning import cut_bytes
from contextdash.limits import KIB
from sessions_app.models import (
    ContinuationClaim,
    Session,
    SessionCreateClaim,
    SubagentSpawn,
    WorkspaceEpoch,
)
from sessions_app.queries.capabilities import capabilities
from sessions_app.queries.partials import of_session

ROWS = 50
"""The newest of each kind."""

TEXT_BYTES = 16 * KIB
"""How much of a streamed text is shown."""


@dataclass(frozen=True, slots=True)
class Claims:
    """One kind of claims: rows of names and values."""

    title: str
    note: str
    rows: Sequence[Mapping[str, Any]]


def claims_of(session: Session) -> list[Claims]:
    """The kinds that there are, then what holds for the whole ledger."""
    ours = Q(parent_session_id=session.id) | Q(child_session_id=session.id)
    spawns = SubagentSpawn.objects.filter(ours).order_by("-claimed_us", "-pk")[:ROWS]
    continued = ContinuationClaim.objects.filter(source_session_id=session.id).order_by("-claimed_us", "-pk")
    made = SessionCreateClaim.objects.filter(session_id=session.id)
    found = [
        Claims("Subagents", "Whose child a subagent is, by the place that was claimed.", _told(spawns)),
        Claims("Continuations", "Who goes on where a run ended.", _told(continued[:ROWS])),
        Claims("Streams", "Texts whose final event has not come.", _streams(session)),
        Claims("Made by", "The request that made the session.", _told(made)),
    ]
    return [one for one in found if one.rows]


def claims_of_all() -> list[Claims]:
    epochs = WorkspaceEpoch.objects.order_by("-committed_us", "-pk")[:ROWS]
    spoken = [{"capability": one.capability, "version": one.version} for one in capabilities()]
    found = [
        Claims("Capabilities", "Protocols of the ledger that clients may rely on.", spoken),
        Claims("Workspace epochs", "Commits that workspaces were opened at.", _told(epochs)),
    ]
    return [one for one in found if one.rows]


def _told(rows: Iterable[Model]) -> list[Mapping[str, Any]]:
    return [
        {name: _shown(name, value) for name, value in model_to_dict(row).items() if name != "id"}
        for row in rows
    ]


def _shown(name: str, value: Any) -> Any:
    if name.endswith("_us"):
        return clock.iso(clock.from_us(value))
    return json.loads(value) if name == "boundary_json" else value


def _streams(session: Session) -> list[Mapping[str, Any]]:
    return [
        {
            "stream_key": one.stream_key,
            "run": one.run_id,
            "kind": one.kind,
            "after_seq": one.after_seq,
            "updated": clock.iso(clock.from_us(one.updated_us)),
            "text": cut_bytes(one.text, TEXT_BYTES),
        }
        for one in of_session(session.key)[:ROWS]
    ]
