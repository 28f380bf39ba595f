"""What tool calls gave, by the ids of their client."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from contextdash import clock
from contextdash.apikit import allow
from contextdash.models.token import Scope
from sessions_app.queries.sessions_api import find_session
from sessions_app.queries.tool_results import ToolResult, tool_results

router = Router(tags=["ledger"])


class ResultsQuery(Schema):
    ids: str = Field(description="Ids of tool calls as their client gave them, parted by commas.")


class ToolResultOut(Schema):
    call_id: str
    name: str
    state: str
    input: Any
    output: Any
    error: Any
    started_at: str
    ended_at: str | None
    duration_us: int | None
    cut: bool


class ToolResultList(Schema):
    items: list[ToolResultOut]
    missing: list[str]


@router.get(
    "sessions/{session_id}/tool-results", response=ToolResultList, summary="What named tool calls gave"
)
def results(request: HttpRequest, session_id: str, query: Query[ResultsQuery]) -> Any:
    """In the order asked for. ``cut``: the events are too large to send along, or were erased."""
    allow(request, Scope.READ)
    found, missing = tool_results(find_session(session_id), query.ids.split(","))
    return {"items": [_out(one) for one in found], "missing": missing}


def _out(one: ToolResult) -> dict[str, Any]:
    call = one.call
    return {
        "call_id": call.call_id,
        "name": call.name,
        "state": call.state,
        "input": one.input,
        "output": one.output,
        "error": one.error,
        "started_at": clock.iso(clock.from_us(call.started_us)),
        "ended_at": None if call.ended_us is None else clock.iso(clock.from_us(call.ended_us)),
        "duration_us": call.duration_us,
        "cut": one.cut,
    }
