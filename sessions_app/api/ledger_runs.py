"""Turns, runs and model calls, as writers tell of them."""

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema, Status
from pydantic import Field

from contextdash import clock
from contextdash.apikit import Body, PatchBody, allow, if_match, may, once
from contextdash.models.token import Scope
from sessions_app.api.ledger_outs import (
    RunOut,
    TurnOut,
    run_out,
    turn_out,
)
from sessions_app.models import Iteration, Run, Turn
from sessions_app.queries import ledger_replay as replay
from sessions_app.queries import sessions_api
from sessions_app.services.belonging import told_us
from sessions_app.services.iterations import write_iteration
from sessions_app.services.ledger import change_run, open_run, open_turn

router = Router(tags=["ledger"])

type Moment = str | int | float | None


class TurnIn(Body):
    turn_id: str | None = Field(None, description="Left out, a new id is minted.")
    prompt: str | None = None
    started_at: Moment = None


class RunIn(Body):
    run_id: str | None = Field(None, description="Left out, a new id is minted.")
    invocation_id: str | None = Field(None, description="Unique everywhere. Left out, it is minted.")
    started_at: Moment = None


class RunPatch(PatchBody):
    status: str = ""
    answer: str | None = None
    error: str | None = None
    failure_class: str | None = None
    abort_source: str | None = None


class IterationIn(Body):
    response_id: str | None = Field(None, description="What makes it the same call when it is told again.")
    request_id: str | None = None
    provider: str | None = None
    model: str | None = None
    speed: str | None = None
    stop_reason: str | None = None
    thinking: str | None = None
    prose: str | None = None
    call_ids: list[str] = []
    started_at: Moment = None
    ended_at: Moment = None
    input_tokens: int | None = Field(None, description="From no cache.")
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_5m_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    web_searches: int | None = None
    cost_micro: int | None = Field(None, description="Micro-dollars. Left out, the list price is taken.")


class IterationOut(Schema):
    id: int
    session_id: str
    run_id: int | None
    response_id: str
    request_id: str
    source: str
    provider: str
    model: str
    started_at: str
    ended_at: str
    stop_reason: str
    call_ids: list[str]
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_5m_tokens: int | None
    cache_write_1h_tokens: int | None
    web_searches: int
    cost_micro: int | None
    priced_by: str


@router.post(
    "sessions/{session_id}/turns",
    response={200: TurnOut, 201: TurnOut},
    summary="Open a turn of a session",
)
def post_turn(request: HttpRequest, session_id: str, payload: TurnIn) -> Status[Any]:
    """The turn of that id, made where it is unknown; a session that nobody knows is made as that id."""
    actor = allow(request, Scope.WRITE)
    made = False

    def create() -> Turn:
        nonlocal made
        turn, made = open_turn(
            session_id=session_id,
            turn_id=payload.turn_id,
            prompt=payload.prompt,
            started_us=told_us(payload.started_at, "started_at"),
            actor=actor,
        )
        return turn

    turn = once(request, actor, Turn, create)
    return Status(201 if made else 200, turn_out(sessions_api.turn(turn.key)))


@router.post("turns/{turn_id}/runs", response={200: RunOut, 201: RunOut}, summary="Open a run of a turn")
def post_run(request: HttpRequest, turn_id: int, payload: RunIn) -> Status[Any]:
    """A run that its writer alone numbers, and seals by a terminal event. A known invocation is the same."""
    actor = allow(request, Scope.WRITE)
    made = False

    def create() -> Run:
        nonlocal made
        run, made = open_run(
            turn=sessions_api.turn(turn_id),
            run_id=payload.run_id,
            invocation_id=payload.invocation_id,
            started_us=told_us(payload.started_at, "started_at"),
            actor=actor,
        )
        return run

    run = once(request, actor, Run, create)
    return Status(201 if made else 200, run_out(run))


@router.get("runs/{run_id}", response=RunOut, summary="One run")
def run(request: HttpRequest, run_id: int) -> Any:
    actor = allow(request, Scope.READ)
    return run_out(replay.run_of(run_id, deleted=may(actor, Scope.ADMIN)))


@router.patch("runs/{run_id}", response=RunOut, summary="Change a run")
def patch_run(request: HttpRequest, run_id: int, payload: RunPatch) -> Any:
    """Set what is sent. A status that ends the run ends it now; the terminal event alone seals it."""
    actor = allow(request, Scope.WRITE)
    changed = change_run(
        run=replay.run_of(run_id),
        values=payload.values(),
        reason=payload.reason,
        expected_version=if_match(request),
        actor=actor,
    )
    return run_out(changed)


@router.post(
    "runs/{run_id}/iterations",
    response={200: IterationOut, 201: IterationOut},
    summary="Tell of a model call",
)
def post_iteration(request: HttpRequest, run_id: int, payload: IterationIn) -> Status[Any]:
    """A call that a transcript told of first stays as it is."""
    actor = allow(request, Scope.WRITE)
    made = False

    def create() -> Iteration:
        nonlocal made
        values = payload.model_dump(exclude={"call_ids", "started_at", "ended_at"}, exclude_none=True)
        row, made = write_iteration(
            run=replay.run_of(run_id),
            values=values,
            call_ids=payload.call_ids,
            started_us=told_us(payload.started_at, "started_at"),
            ended_us=told_us(payload.ended_at, "ended_at"),
            actor=actor,
        )
        return row

    row = once(request, actor, Iteration, create)
    return Status(201 if made else 200, _iteration_out(row))


def _iteration_out(row: Iteration) -> dict[str, Any]:
    names = (
        *("response_id", "request_id", "source", "provider", "model", "stop_reason", "call_ids"),
        *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_5m_tokens"),
        *("cache_write_1h_tokens", "web_searches", "cost_micro", "priced_by"),
    )
    return {
        "id": row.key,
        "session_id": row.session.id,
        "run_id": row.run_id,
        "started_at": clock.iso(clock.from_us(row.at_us)),
        "ended_at": clock.iso(clock.from_us(row.ended_us)),
        **{name: getattr(row, name) for name in names},
    }
