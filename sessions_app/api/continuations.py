"""Claims to go on where a sealed run ended."""

import json
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from contextdash import clock
from contextdash.apikit import Body, Paging, allow
from contextdash.models.token import Scope
from sessions_app.ledger.digests import Identity
from sessions_app.ledger.envelope import decode, read
from sessions_app.models import ContinuationClaim
from sessions_app.queries import continuations as queries
from sessions_app.queries.sessions_api import session_id_of
from sessions_app.services.continuations import Wanted, claim_continuation, start_continuation

router = Router(tags=["claims"])


class ContinuationIn(Body):
    claim_id: str
    source_session_id: str
    source_invocation_id: str
    source_run_id: str
    source_turn_id: str
    source_event_high_water: int = Field(ge=1, lt=2**31, description="The seq of the source's last event.")
    source_prefix_digest: str
    boundary_digest: str = ""
    boundary: dict[str, Any] = Field({}, description="Left out, it is the end of the source alone.")
    provider_projection_version: Literal[1] = 1
    provider_replay_digest: str = ""
    target_session_id: str
    target_invocation_id: str
    target_run_id: str
    target_turn_id: str
    target_run_header: dict[str, Any] = {}


class StartIn(Body):
    event: dict[str, Any] = Field(description="With actions.continuationStart of this claim.")


class ClaimOut(Schema):
    claim_id: str
    source_session_id: str
    source_invocation_id: str
    source_run_id: str
    source_turn_id: str
    source_event_high_water: int
    source_prefix_digest: str
    prefix_checked: bool
    boundary_digest: str
    boundary: dict[str, Any]
    provider_projection_version: int
    provider_replay_digest: str
    target_session_id: str
    target_invocation_id: str
    target_run_id: str
    target_turn_id: str
    target_run_header: dict[str, Any]
    claimed_at: str
    start_event_id: str | None
    start_kind: str | None


class AcquiredOut(ClaimOut):
    result: Literal["acquired", "existing"]


class ClaimList(Schema):
    items: list[ClaimOut]
    next: str | None


class ClaimQuery(Paging):
    session: str | None = Field(None, description="An id, the beginning of one, or latest.")
    pending: bool = Field(False, description="Only those whose target has not begun.")


@router.post("", response={200: AcquiredOut, 201: AcquiredOut}, summary="Claim a continuation")
def post_claim(request: HttpRequest, payload: ContinuationIn) -> Status[Any]:
    """Exclusive: who comes second for the same boundary is answered ``existing`` with the first's claim."""
    actor = allow(request, Scope.WRITE)
    wanted = Wanted(
        claim_id=payload.claim_id,
        source=_identity(payload, "source"),
        high_water=payload.source_event_high_water,
        prefix=payload.source_prefix_digest,
        target=_identity(payload, "target"),
        boundary=payload.boundary,
        boundary_digest=payload.boundary_digest,
        provider_replay_digest=payload.provider_replay_digest,
        target_run_header=payload.target_run_header,
    )
    claim, acquired = claim_continuation(wanted=wanted, actor=actor)
    answer = {**claim_out(claim), "result": "acquired" if acquired else "existing"}
    return Status(201 if acquired else 200, answer)


@router.post("/{claim_id}/start", response={200: ClaimOut, 201: ClaimOut}, summary="Start a continuation")
def start(request: HttpRequest, claim_id: str, payload: StartIn) -> Status[Any]:
    """Append the reserved first event of the target, which is opened with it."""
    actor = allow(request, Scope.WRITE)
    sent = read(decode(request.body)["event"], "event")
    claim, created = start_continuation(claim=queries.claim(claim_id), sent=sent, actor=actor)
    return Status(201 if created else 200, claim_out(claim))


@router.get("", response=ClaimList, summary="Claims of continuations, oldest first")
def claims(request: HttpRequest, query: Query[ClaimQuery]) -> Any:
    allow(request, Scope.READ)
    found = queries.claim_page(
        pending=query.pending, session=session_id_of(query.session), limit=query.limit, cursor=query.cursor
    )
    return {"items": [claim_out(row) for row in found.items], "next": found.next}


@router.get("/{claim_id}", response=ClaimOut, summary="One claim of a continuation")
def claim(request: HttpRequest, claim_id: str) -> Any:
    allow(request, Scope.READ)
    return claim_out(queries.claim(claim_id))


def _identity(payload: ContinuationIn, side: str) -> Identity:
    return Identity(
        *(getattr(payload, f"{side}_{name}_id") for name in ("session", "invocation", "run", "turn"))
    )


def claim_out(row: ContinuationClaim) -> dict[str, Any]:
    return {
        "claim_id": row.claim_id,
        "source_session_id": row.source_session_id,
        "source_invocation_id": row.source_invocation_id,
        "source_run_id": row.source_run_id,
        "source_turn_id": row.source_turn_id,
        "source_event_high_water": row.source_event_high_water,
        "source_prefix_digest": row.source_prefix_digest,
        "prefix_checked": row.prefix_checked,
        "boundary_digest": row.boundary_digest,
        "boundary": json.loads(row.boundary_json),
        "provider_projection_version": row.provider_projection_version,
        "provider_replay_digest": row.provider_replay_digest,
        "target_session_id": row.target_session_id,
        "target_invocation_id": row.target_invocation_id,
        "target_run_id": row.target_run_id,
        "target_turn_id": row.target_turn_id,
        "target_run_header": row.target_run_header,
        "claimed_at": clock.iso(clock.from_us(row.claimed_us)),
        "start_event_id": row.start_event_id,
        "start_kind": row.start_kind or None,
    }
