"""How the ledger of a session looks in answers: turns and runs, events, tool calls."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ninja import Schema

from contextdash import clock
from sessions_app.api.usage_outs import UsageOut, usage_out
from sessions_app.models import Run, ToolCall, Turn
from sessions_app.queries.sessions_api import ReadEvent
from sessions_app.queries.tool_operations import Resolution
from sessions_app.queries.transcript_steps import Cost, cost_of, costs_of_runs
from sessions_app.vocabulary import RunStatus


class RunOut(Schema):
    id: int
    turn_id: int
    number: int
    run_id: str
    """The writer's own; empty where none opened it."""
    invocation_id: str
    status: str
    started_at: str
    ended_at: str | None
    answer: str
    error: str
    failure_class: str
    abort_source: str
    ledger: bool
    sealed: bool
    incomplete: bool
    """Its terminal event does not say why it failed or who stopped it."""
    last_seq: int
    version: int
    usage: UsageOut


class TurnOut(Schema):
    id: int
    session_id: str
    number: int
    turn_id: str
    prompt: str
    started_at: str
    ended_at: str | None
    tool_calls: int
    failed_tool_calls: int
    usage: UsageOut
    runs: list[RunOut]


class TurnList(Schema):
    items: list[TurnOut]
    next: str | None


class EventOut(Schema):
    ordinal: int
    seq: int | None
    turn_id: int | None
    run_id: int | None
    source: str
    client: str
    name: str
    kind: str
    occurred_at: str
    received_at: str
    late: bool
    payload: Any
    payload_size: int
    payload_cut: bool


class EventList(Schema):
    items: list[EventOut]
    next: int | None


class EventsByTime(Schema):
    items: list[EventOut]
    next: str | None


class ResolutionOut(Schema):
    """What may be believed of a call that a ledger told of."""

    verdict: str
    reason: str


class CallOut(Schema):
    id: int
    call_id: str
    turn_id: int | None
    name: str
    state: str
    summary: str
    error: str
    child_id: str | None
    started_at: str
    ended_at: str | None
    duration_us: int | None
    input_size: int
    output_size: int
    resolution: ResolutionOut | None
    """Null where no ledger told of it."""


class CallList(Schema):
    items: list[CallOut]
    next: str | None


def turn_out(row: Turn, costs: Mapping[int, Cost] | None = None) -> dict[str, Any]:
    """``costs`` are of its runs, where they were read for many turns at once."""
    runs = list(row.runs.all())
    known = costs_of_runs([run.key for run in runs]) if costs is None else costs
    spent = [known.get(run.key, Cost()) for run in runs]
    return {
        "id": row.key,
        "session_id": row.session.id,
        "number": row.number,
        "turn_id": row.turn_id,
        "prompt": row.prompt,
        "started_at": _us(row.started_us),
        "ended_at": _us_or_none(row.ended_us),
        "tool_calls": row.call_count,
        "failed_tool_calls": row.failed_count,
        "usage": usage_out(cost_of(spent)),
        "runs": [run_out(run, cost) for run, cost in zip(runs, spent, strict=True)],
    }


def run_out(row: Run, cost: Cost | None = None) -> dict[str, Any]:
    spent = costs_of_runs([row.key]).get(row.key, Cost()) if cost is None else cost
    return {
        "id": row.key,
        "turn_id": row.turn_id,
        "number": row.number,
        "run_id": row.run_id,
        "invocation_id": row.invocation_id,
        "status": row.status,
        "started_at": _us(row.started_us),
        "ended_at": _us_or_none(row.ended_us),
        "answer": row.answer,
        "error": row.error,
        "failure_class": row.failure_class,
        "abort_source": row.abort_source,
        "ledger": row.ledger,
        "sealed": row.sealed,
        "incomplete": row.sealed
        and (
            (row.status == RunStatus.FAILED and not row.failure_class)
            or (row.status == RunStatus.INTERRUPTED and not row.abort_source)
        ),
        "last_seq": row.last_seq,
        "version": row.version,
        "usage": usage_out(spent),
    }


def event_out(read: ReadEvent) -> dict[str, Any]:
    row = read.event
    return {
        "ordinal": row.ordinal,
        "seq": row.seq,
        "turn_id": row.run.turn_id if row.run else None,
        "run_id": row.run_id,
        "source": row.source,
        "client": row.client,
        "name": row.name,
        "kind": row.kind,
        "occurred_at": _us(row.occurred_us),
        "received_at": _us(row.received_us),
        "late": row.late,
        "payload": read.payload,
        "payload_size": row.payload_size,
        "payload_cut": read.cut,
    }


def call_out(row: ToolCall, resolution: Resolution | None = None) -> dict[str, Any]:
    return {
        "id": row.key,
        "call_id": row.call_id,
        "turn_id": row.run.turn_id if row.run else None,
        "name": row.name,
        "state": row.state,
        "summary": row.summary,
        "error": row.error,
        "child_id": row.child.id if row.child else None,
        "started_at": _us(row.started_us),
        "ended_at": _us_or_none(row.ended_us),
        "duration_us": row.duration_us,
        "input_size": row.input_size,
        "output_size": row.output_size,
        "resolution": None if resolution is None else asdict(resolution),
    }


def _us(us: int) -> str:
    return clock.iso(clock.from_us(us))


def _us_or_none(us: int | None) -> str | None:
    return None if us is None else _us(us)
