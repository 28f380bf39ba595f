"""Tool operations as they stand: what became of each, and what nobody knows the end of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from contextdash.errors import NotFound
from contextdash.paging import Page, page
from sessions_app.models import Event, LedgerCall, Session, ToolCall, ToolOperation
from sessions_app.queries.sessions_api import payload_value
from sessions_app.vocabulary import CallState, OperationState

UNSETTLED_ROWS = 1000
"""The most unsettled operations that one answer lists."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What may be believed of a call that its ledger told of."""

    verdict: str
    """completed, parked, definitely_not_dispatched, indeterminate or corruption."""
    reason: str = ""


_SETTLED = {
    OperationState.OUTCOME_COMMITTED: Resolution("completed", "matching_response"),
    OperationState.RECOVERY_COMPLETED: Resolution("completed", "recovery_bundle_completed"),
    OperationState.RECOVERY_PARKED: Resolution("parked"),
}


def resolve(call: LedgerCall, operation: ToolOperation | None, *, new_protocol: bool) -> Resolution:
    """``new_protocol``: whether the run promises that nothing is done before it is dispatched."""
    if operation is None:
        if call.result_event:
            return Resolution("completed", "matching_response")
        return (
            Resolution("definitely_not_dispatched")
            if new_protocol
            else Resolution("indeterminate", "old_protocol")
        )
    settled = _SETTLED.get(OperationState(operation.state)) if operation.state in OperationState else None
    if settled is None:
        if operation.state != OperationState.PREPARED:
            return Resolution("corruption", "transition_shape_conflict")
        return Resolution("indeterminate", "dispatch_without_response")
    if settled.verdict == "completed" and not operation.result_event:
        return Resolution("corruption", "orphan_dispatch")
    return settled


def resolutions(calls: Iterable[ToolCall]) -> dict[int, tuple[Resolution, ToolOperation | None]]:
    """By key of those calls that a ledger told of: what may be believed, and the operation. Four queries."""
    told = {one.call_id: one for one in LedgerCall.objects.filter(call__in=[call.key for call in calls])}
    if not told:
        return {}
    operations = {one.call_id: one for one in ToolOperation.objects.filter(call__in=list(told))}
    open_runs = {one.run_id for key, one in told.items() if key not in operations and not one.result_event}
    promised = _promised(open_runs)
    return {
        key: (
            resolve(one, operations.get(key), new_protocol=one.run_id in promised),
            operations.get(key),
        )
        for key, one in told.items()
    }


_DOUBTS = {
    "parked": "Its recovery was given up: nobody knows whether it was done as asked.",
    "definitely_not_dispatched": "It was never dispatched: nothing was done.",
    "indeterminate": "It was never answered: nobody knows whether it was done.",
    "corruption": "What its ledger tells of it contradicts itself.",
}


def doubts(call: ToolCall, *, live: bool) -> str:
    """What a reader must know of a call whose end its ledger leaves open; empty where there is no doubt.

    ``live``: its session works, so that an open call may be running.
    """
    if live and call.state == CallState.PREPARED:
        return ""
    told = resolutions([call]).get(call.key)
    if told is None:
        return ""
    resolution, operation = told
    parts = [_DOUBTS.get(resolution.verdict, "")]
    if operation is not None and not operation.args_hash_ok:
        parts.append("The hash of its arguments that was told is not theirs.")
    return " ".join(part for part in parts if part)


def operation_page(
    *,
    session: Session | None,
    run: int | None,
    state: str | None,
    operation_id: str | None,
    limit: int,
    cursor: str | None,
) -> Page[ToolOperation]:
    """Newest first."""
    rows = _rows()
    if session is not None:
        rows = rows.filter(run__session=session)
    if run is not None:
        rows = rows.filter(run=run)
    if state:
        rows = rows.filter(state=state)
    if operation_id:
        rows = rows.filter(operation_id=operation_id)
    return page(rows, limit=limit, cursor=cursor, time_field="prepared_us", id_field="key")


def unsettled(session: Session | None) -> Sequence[ToolOperation]:
    """What was dispatched and never heard of again, in the order of invocations and operations."""
    rows = _rows().filter(state=OperationState.PREPARED, result_event="")
    if session is not None:
        rows = rows.filter(run__session=session)
    return list(rows.order_by("run__invocation_id", "operation_id")[:UNSETTLED_ROWS])


def operation(key: int) -> ToolOperation:
    """Raises NotFound for one that is not there."""
    found = _rows().prefetch_related("journal").filter(key=key).first()
    if found is None:
        raise NotFound(f"There is no operation {key}.")
    return found


def _rows() -> QuerySet[ToolOperation]:
    rows = ToolOperation.objects.filter(run__session__deleted_at=None)
    return rows.select_related("call", "run__session")


def _promised(runs: Iterable[int]) -> set[int]:
    """Those of the runs whose first event names a protocol of the tool boundary."""
    firsts = Event.objects.filter(run__in=list(runs), seq=1).values_list("run_id", "payload")
    return {run for run, payload in firsts if _names_protocol(payload_value(payload))}


def _names_protocol(event: object) -> bool:
    actions = event.get("actions") if isinstance(event, dict) else None
    return isinstance(actions, dict) and "runtimeProtocol" in actions
