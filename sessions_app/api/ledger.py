"""What happened in a session: turns, events, tool calls."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from contextdash.apikit import Key, Paging, allow, listed, may
from contextdash.limits import PAGE_ROWS
from contextdash.models.token import Scope
from sessions_app.api.found import readable
from sessions_app.api.ledger_outs import (
    CallList,
    EventList,
    EventOut,
    EventsByTime,
    TurnList,
    TurnOut,
    call_out,
    event_out,
    turn_out,
)
from sessions_app.queries import ledger_replay as replay
from sessions_app.queries import sessions_api as queries
from sessions_app.queries.ledger_replay import EventFilter
from sessions_app.queries.tool_operations import resolutions
from sessions_app.queries.transcript_steps import costs_of_runs

router = Router(tags=["ledger"])


class TurnQuery(Paging):
    session: str = Field(description="An id, the beginning of one, or latest.")


class EventQuery(Schema):
    after: int = Field(0, ge=0, lt=2**63, description="The ordinal of the last event that you have.")
    limit: int = Field(20, ge=1, le=PAGE_ROWS)
    category: str = Field("", description="Of the line that the event has on the timeline: prompt, turn…")
    kind: str = Field("", description="Ours (tool_start), or the source's own name (function_call).")
    source: str = Field("", description="hook, transcript, otlp or api.")
    run: Key | None = None


class TimeQuery(Paging):
    category: str = ""
    kind: str = ""
    source: str = ""
    run: Key | None = None


class CallQuery(Paging):
    state: str | None = None


@router.get("turns", response=TurnList, summary="Turns of a session, newest first")
def turns(request: HttpRequest, query: Query[TurnQuery]) -> Any:
    actor = allow(request, Scope.READ)
    found = queries.turn_page(readable(actor, query.session), limit=query.limit, cursor=query.cursor)
    costs = costs_of_runs([run.key for row in found.items for run in row.runs.all()])
    return listed(found, lambda row: turn_out(row, costs))


@router.get("turns/{turn_id}", response=TurnOut, summary="One turn and its runs")
def turn(request: HttpRequest, turn_id: int) -> Any:
    actor = allow(request, Scope.READ)
    return turn_out(queries.turn(turn_id, deleted=may(actor, Scope.ADMIN)))


@router.get(
    "sessions/{session_id}/events", response=EventList, summary="Events of a session, in order of commit"
)
def events(request: HttpRequest, session_id: str, query: Query[EventQuery]) -> Any:
    """``next`` is what to send as ``after`` for more. A payload above 256 KiB is left out of the list."""
    actor = allow(request, Scope.READ)
    wanted = EventFilter(query.category, query.kind, query.source, query.run)
    session = readable(actor, session_id)
    items, go_on = replay.events_by_commit(session, wanted=wanted, after=query.after, limit=query.limit)
    return {"items": [event_out(item) for item in items], "next": go_on}


@router.get(
    "sessions/{session_id}/events-by-time",
    response=EventsByTime,
    summary="Events of a session, as their sources date them",
)
def events_by_time(request: HttpRequest, session_id: str, query: Query[TimeQuery]) -> Any:
    """By time, then run, then place in the run. What is told late has its place among what was known."""
    actor = allow(request, Scope.READ)
    wanted = EventFilter(query.category, query.kind, query.source, query.run)
    session = readable(actor, session_id)
    items, go_on = replay.events_by_time(session, wanted=wanted, cursor=query.cursor, limit=query.limit)
    return {"items": [event_out(item) for item in items], "next": go_on}


@router.get(
    "sessions/{session_id}/events/{ordinal}", response=EventOut, summary="One event with its whole payload"
)
def event(request: HttpRequest, session_id: str, ordinal: int) -> Any:
    actor = allow(request, Scope.READ)
    return event_out(queries.event(readable(actor, session_id), ordinal))


@router.get(
    "sessions/{session_id}/tool-calls", response=CallList, summary="Tool calls of a session, newest first"
)
def calls(request: HttpRequest, session_id: str, query: Query[CallQuery]) -> Any:
    actor = allow(request, Scope.READ)
    found = queries.call_page(
        readable(actor, session_id), state=query.state, limit=query.limit, cursor=query.cursor
    )
    told = resolutions(found.items)
    items = [call_out(row, told[row.key][0] if row.key in told else None) for row in found.items]
    return {"items": items, "next": found.next}
