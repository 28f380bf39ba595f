"""Subagents that ledger clients claim under a parent."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from contextdash import clock
from contextdash.apikit import Body, Paging, allow, listed
from contextdash.models.token import Scope
from sessions_app.models import SubagentSpawn
from sessions_app.queries.sessions_api import session_id_of
from sessions_app.queries.spawns import spawn_page
from sessions_app.services.spawns import Place, Proposal, claim_spawn

router = Router(tags=["claims"])


class SpawnIn(Body):
    parent_session_id: str
    parent_run_id: str = Field("", description="The parent's run, as its client names it.")
    tool_call_id: str = ""
    swarm_id: str = ""
    item_id: str = ""
    request_fingerprint: str = Field(description="Of the work: the same work has the same.")
    child_session_id: str
    initial_turn_id: str
    initial_run_id: str
    initial_invocation_id: str = Field("", description="Left out, the server makes one.")
    agent_name: str = ""
    prompt: str | None = None


class SpawnOut(Schema):
    id: int
    parent_session_id: str
    parent_run_id: str
    tool_call_id: str
    swarm_id: str
    item_id: str
    request_fingerprint: str
    child_session_id: str
    initial_turn_id: str
    initial_run_id: str
    claimed_at: str


class SpawnList(Schema):
    items: list[SpawnOut]
    next: str | None


class SpawnQuery(Paging):
    parent: str | None = Field(None, description="The parent session: an id, the beginning of one, latest.")


@router.post("", response={200: SpawnOut, 201: SpawnOut}, summary="Claim a place for a subagent")
def spawn(request: HttpRequest, payload: SpawnIn) -> Status[Any]:
    """The first who claims a place decides. The same work again is answered with the child that was made."""
    actor = allow(request, Scope.WRITE)
    place_fields = set(Place.__dataclass_fields__)
    made, fresh = claim_spawn(
        place=Place(**payload.model_dump(include=place_fields)),
        fingerprint=payload.request_fingerprint,
        proposal=Proposal(**payload.model_dump(exclude={*place_fields, "request_fingerprint"})),
        actor=actor,
    )
    return Status(201 if fresh else 200, spawn_out(made))


@router.get("", response=SpawnList, summary="Spawns, newest first")
def spawns(request: HttpRequest, query: Query[SpawnQuery]) -> Any:
    allow(request, Scope.READ)
    found = spawn_page(parent=session_id_of(query.parent), limit=query.limit, cursor=query.cursor)
    return listed(found, spawn_out)


def spawn_out(row: SubagentSpawn) -> dict[str, Any]:
    return {
        "id": row.pk,
        "parent_session_id": row.parent_session_id,
        "parent_run_id": row.parent_run_id,
        "tool_call_id": row.tool_call_id,
        "swarm_id": row.swarm_id,
        "item_id": row.item_id,
        "request_fingerprint": row.request_fingerprint,
        "child_session_id": row.child_session_id,
        "initial_turn_id": row.initial_turn_id,
        "initial_run_id": row.initial_run_id,
        "claimed_at": clock.iso(clock.from_us(row.claimed_us)),
    }
