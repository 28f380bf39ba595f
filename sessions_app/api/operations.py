"""Tool operations of ledgers: moved by their writers, read by everybody."""

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status

from contextdash import clock
from contextdash.apikit import Key, Paging, allow, listed
from contextdash.models.token import Scope
from sessions_app.api.ledger_events import BUNDLE, AppendOut, appended, sent_events
from sessions_app.models import Session, ToolOperation
from sessions_app.queries import sessions_api, tool_operations
from sessions_app.queries.ledger_replay import run_of
from sessions_app.services.tool_operations import append_bundle

router = Router(tags=["ledger"])


class JournalOut(Schema):
    version: int
    state: str
    event_id: str
    fact: dict[str, Any] | None
    committed_at: str


class OperationOut(Schema):
    id: int
    operation_id: str
    session_id: str
    run_id: int
    tool_call_id: int
    call_id: str
    name: str
    state: str
    version: int
    recovery_mode: str
    args_hash: str
    args_hash_ok: bool
    call_event_id: str
    dispatch_event_id: str
    reconcile_event_id: str
    observation: str
    result_event_id: str
    prepared_at: str


class OperationWhole(OperationOut):
    verdict: str
    reason: str
    journal: list[JournalOut]


class OperationList(Schema):
    items: list[OperationOut]
    next: str | None


class OperationQuery(Paging):
    session: str | None = None
    run: Key | None = None
    state: str | None = None
    operation_id: str | None = None


class UnsettledQuery(Schema):
    session: str | None = None


@router.post(
    "runs/{run_id}/operations",
    response={200: AppendOut, 201: AppendOut},
    summary="Move a tool operation by one step",
    openapi_extra=BUNDLE,
)
def post_operation(request: HttpRequest, run_id: int) -> Status[Any]:
    """One step is: call, dispatch; or response; or reconcile, (response,) decision. All or nothing."""
    actor = allow(request, Scope.WRITE)
    events, expected = sent_events(request, "expected_seq", "expected_version")
    made = append_bundle(run=run_of(run_id), events=events, actor=actor, **expected)
    return appended(run_id, made)


@router.get("operations", response=OperationList, summary="Tool operations, newest first")
def operations(request: HttpRequest, query: Query[OperationQuery]) -> Any:
    allow(request, Scope.READ)
    found = tool_operations.operation_page(
        session=_session(query.session),
        run=query.run,
        state=query.state,
        operation_id=query.operation_id,
        limit=query.limit,
        cursor=query.cursor,
    )
    return listed(found, _operation_out)


@router.get("operations/unsettled", response=OperationList, summary="Operations that nobody knows the end of")
def unsettled(request: HttpRequest, query: Query[UnsettledQuery]) -> Any:
    """By invocation and operation; at most 1,000."""
    allow(request, Scope.READ)
    found = tool_operations.unsettled(_session(query.session))
    return {"items": [_operation_out(row) for row in found], "next": None}


@router.get("operations/{operation_id}", response=OperationWhole, summary="One operation and its journal")
def operation(request: HttpRequest, operation_id: int) -> Any:
    """``verdict`` says what may be believed: completed, parked, indeterminate, corruption."""
    allow(request, Scope.READ)
    row = tool_operations.operation(operation_id)
    return {
        **_operation_out(row),
        **asdict(tool_operations.resolutions([row.call])[row.call.key][0]),
        "journal": [
            {
                "version": entry.version,
                "state": entry.state,
                "event_id": entry.event,
                "fact": entry.fact,
                "committed_at": clock.iso(clock.from_us(entry.committed_us)),
            }
            for entry in row.journal.all()
        ],
    }


def _session(reference: str | None) -> Session | None:
    return sessions_api.find_session(reference) if reference else None


def _operation_out(row: ToolOperation) -> dict[str, Any]:
    return {
        "id": row.key,
        "operation_id": row.operation_id,
        "session_id": row.run.session.id,
        "run_id": row.run_id,
        "tool_call_id": row.call_id,
        "call_id": row.call.call_id,
        "name": row.call.name,
        "state": row.state,
        "version": row.version,
        "recovery_mode": row.recovery_mode,
        "args_hash": row.args_hash,
        "args_hash_ok": row.args_hash_ok,
        "call_event_id": row.call_event,
        "dispatch_event_id": row.dispatch_event,
        "reconcile_event_id": row.reconcile_event,
        "observation": row.observation,
        "result_event_id": row.result_event,
        "prepared_at": clock.iso(clock.from_us(row.prepared_us)),
    }
