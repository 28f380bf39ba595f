"""Lines of writers' logs, and routing of model calls."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from contextdash import clock
from contextdash.apikit import Body, Key, Paging, allow, listed, once_told
from contextdash.limits import LOG_LINES, ROUTING_EVENTS
from contextdash.models.token import Scope
from sessions_app.models import LogEntry, RoutingEvent
from sessions_app.queries import logs as queries
from sessions_app.queries import routing, sessions_api
from sessions_app.services.belonging import told_us
from sessions_app.services.logs import write_logs
from sessions_app.services.routing import add_routing

router = Router(tags=["logs"])

type Moment = str | int | float | None


class LineIn(Body):
    level: str = "info"
    event: str
    message: str = ""
    data: Any = None
    session_id: str | None = None
    run_id: Key | None = None
    iteration_id: Key | None = None
    ts: Moment = None


class LogsIn(Body):
    lines: list[LineIn] = Field(min_length=1, description=f"At most {LOG_LINES}.")


class WrittenOut(Schema):
    written: int


class LineOut(Schema):
    id: int
    level: str
    event: str
    message: str
    data: Any
    session_id: str | None
    run_id: int | None
    iteration_id: int | None
    ts: str


class LineList(Schema):
    items: list[LineOut]
    next: str | None


class LogQuery(Paging):
    session: str | None = None
    run: Key | None = None
    level: str = Field("", description="This one and those above it.")
    event: str = ""


class RoutingIn(Body):
    type: str = Field(description="llm.routing/provider-retry, …/provider-fallback, …/model-fallback…")
    position: int | None = Field(None, ge=0, lt=2**31, description="From 0; left out, it is the next.")
    provider: str = ""
    model: str = ""
    from_provider: str = ""
    from_model: str = ""
    to_provider: str = ""
    to_model: str = ""
    status: int | None = None
    reason: str = ""
    error: str = ""
    attempt: int | None = None
    delay_ms: int | None = None
    elapsed_ms: int | None = None
    at: Moment = None
    data: dict[str, Any] = {}


class RoutingsIn(Body):
    events: list[RoutingIn] = Field(min_length=1, max_length=ROUTING_EVENTS)


class RoutingOut(Schema):
    position: int
    type: str
    provider: str
    model: str
    from_provider: str
    from_model: str
    to_provider: str
    to_model: str
    status: int | None
    reason: str
    error: str
    attempt: int | None
    delay_ms: int | None
    elapsed_ms: int | None
    at: str | None
    data: Any


class RoutingList(Schema):
    items: list[RoutingOut]
    note: str
    """The one line that stands below the call in the transcript."""
    next: None


@router.post("logs", response={201: WrittenOut}, summary="Write lines into the log")
def post_logs(request: HttpRequest, payload: LogsIn) -> Status[Any]:
    """All of them or none. The newest 200,000 (``LOG_ROWS``) are kept."""
    actor = allow(request, Scope.WRITE)
    lines = [{**line.model_dump(exclude={"ts"}), "at_us": told_us(line.ts, "ts")} for line in payload.lines]

    def write() -> dict[str, int]:
        return {"written": len(write_logs(lines=lines, actor=actor))}

    return Status(201, once_told(request, actor, "log_entries", write))


@router.get("logs", response=LineList, summary="Lines of the log, newest first")
def logs(request: HttpRequest, query: Query[LogQuery]) -> Any:
    allow(request, Scope.READ)
    found = queries.log_page(
        session=sessions_api.find_session(query.session) if query.session else None,
        run=query.run,
        level=query.level,
        event=query.event,
        limit=query.limit,
        cursor=query.cursor,
    )
    return listed(found, _line_out)


@router.post(
    "iterations/{iteration_id}/routing",
    response={201: RoutingList},
    summary="Tell how a model call was routed",
)
def post_routing(request: HttpRequest, iteration_id: int, payload: RoutingsIn) -> Status[Any]:
    """They are appended in order. With ``position`` the same event again is accepted and not written."""
    actor = allow(request, Scope.WRITE)
    events = [
        {**event.model_dump(exclude={"at"}), "at_us": told_us(event.at, "at")} for event in payload.events
    ]
    call = routing.iteration_of(iteration_id)

    def append() -> int:
        return len(add_routing(iteration=call, events=events, actor=actor))

    known = once_told(request, actor, "routing_events", append)
    return Status(201, _routing_out(routing.routing_of(call)[:known]))


@router.get("iterations/{iteration_id}/routing", response=RoutingList, summary="How a model call was routed")
def get_routing(request: HttpRequest, iteration_id: int) -> Any:
    allow(request, Scope.READ)
    return _routing_out(routing.routing_of(routing.iteration_of(iteration_id)))


def _line_out(row: LogEntry) -> dict[str, Any]:
    return {
        "id": row.key,
        "level": row.level,
        "event": row.event,
        "message": row.message,
        "data": row.data,
        "session_id": row.session.id if row.session else None,
        "run_id": row.run_id,
        "iteration_id": row.iteration_id,
        "ts": clock.iso(clock.from_us(row.at_us)),
    }


def _routing_out(rows: list[RoutingEvent]) -> dict[str, Any]:
    names = set(RoutingOut.model_fields) - {"at"}
    return {
        "items": [
            {
                **{name: getattr(row, name) for name in names},
                "at": None if row.at_us is None else clock.iso(clock.from_us(row.at_us)),
            }
            for row in rows
        ],
        "note": routing.note_of(rows) if rows else "",
        "next": None,
    }
