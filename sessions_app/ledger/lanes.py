"""What a run's ledger allows next: each call told once, its operation moved by facts in their order.

``Lanes`` holds the calls and operations that a batch names, as they are stored, and moves them in memory.
What it refuses has a code that stays; nothing of the batch is stored then.
"""

from collections.abc import Iterable
from typing import NoReturn

from msgspec import UNSET

from contextdash.errors import Conflict
from sessions_app.ledger.canonical import args_hash, is_args_hash
from sessions_app.ledger.digests import stream_name
from sessions_app.ledger.envelope import (
    Actions,
    DecisionPayload,
    FunctionCall,
    FunctionResponse,
    Lane,
    ReconcilePayload,
    Sent,
    ToolDispatch,
    lanes_of,
)
from sessions_app.models import LedgerCall, ToolJournalEntry, ToolOperation
from sessions_app.vocabulary import OperationState, RecoveryMode

EXPECTED_STATE = "matches_expected_state"

_ROLES: dict[Lane, tuple[str, ...]] = {
    Lane.CALL: ("model",),
    Lane.RESPONSE: ("tool",),
    Lane.DISPATCH: ("system",),
    Lane.RECOVERY: ("system",),
    Lane.CONTINUATION: ("system",),
    Lane.WORKSPACE: ("system",),
}
_WITHOUT_CONTENT = frozenset({Lane.DISPATCH, Lane.RECOVERY, Lane.CONTINUATION, Lane.WORKSPACE})

_RESERVED: dict[Lane, tuple[str, str]] = {
    Lane.DISPATCH: ("reserved_tool_boundary_fact", "POST runs/{id}/operations"),
    Lane.RECOVERY: ("reserved_recovery_fact", "POST runs/{id}/operations"),
    Lane.CONTINUATION: ("reserved_continuation_fact", "the endpoint of continuation claims"),
    Lane.WORKSPACE: ("reserved_workspace_fact", "the endpoint of workspace epochs"),
}


def check_lane(sent: Sent, place: str) -> None:
    """What an event may not be, whatever else its run holds.

    Raises:
        Conflict: semantic_lane_conflict, identity_conflict.
    """
    event, lane = sent.event, sent.lane
    lanes = lanes_of(event)
    if len(lanes) > 1:
        _refuse("semantic_lane_conflict", f"One event cannot be both {lanes[0]} and {lanes[1]}.", place)
    roles = _ROLES.get(lane)
    if roles and event.role not in roles:
        _refuse("semantic_lane_conflict", f"The role of a {lane} is {roles[0]}.", f"{place}.role")
    if lane in _WITHOUT_CONTENT and event.content is not UNSET:
        _refuse("semantic_lane_conflict", f"A {lane} has no content of its own.", f"{place}.content")
    if event.partial and lane != Lane.TELL:
        _refuse("semantic_lane_conflict", f"A {lane} cannot be partial.", f"{place}.partial")
    if event.partial and "actions" not in sent.value and stream_name(sent.value):
        _refuse(
            "partial_of_stream", "Pieces of a stream go to PUT partials/{stream_key}.", f"{place}.partial"
        )
    if event.actions.permission_closure_accepted is not UNSET and _several(event.actions):
        _refuse("semantic_lane_conflict", "permissionClosureAccepted stands alone.", f"{place}.actions")
    if isinstance(event.content, FunctionCall | FunctionResponse):
        _same(event.refs.tool_call_id, event.content.id, f"{place}.refs.toolCallId")
    if isinstance(event.actions.tool_dispatch, ToolDispatch):
        dispatch = event.actions.tool_dispatch
        _same(event.refs.tool_call_id, dispatch.provider_tool_call_id, f"{place}.refs.toolCallId")
        _same(event.refs.operation_id, dispatch.operation_id, f"{place}.refs.operationId")
    elif event.actions.tool_recovery is not UNSET:
        operation_id = event.actions.tool_recovery.payload.operation_id
        _same(event.refs.operation_id, operation_id, f"{place}.refs.operationId")


class Lanes:
    def __init__(
        self,
        *,
        run_key: int,
        calls: Iterable[LedgerCall],
        operations: Iterable[ToolOperation],
        writers: frozenset[Lane],
        at_us: int,
    ) -> None:
        """``writers`` are the reserved lanes that the caller may write."""
        self.new_calls: list[LedgerCall] = []
        self.answered: list[LedgerCall] = []
        self.new_operations: list[tuple[ToolOperation, LedgerCall]] = []
        self.moved: dict[str, ToolOperation] = {}
        self.journal: list[ToolJournalEntry] = []
        self._run_key = run_key
        self._writers = writers
        self._at_us = at_us
        self._calls = {call.provider_call_id: call for call in calls}
        self._operations = {one.operation_id: one for one in operations}
        of_call = {one.call_id: one for one in self._operations.values()}
        self._operation_of = {
            call.provider_call_id: of_call[call.call_id]
            for call in self._calls.values()
            if call.call_id in of_call
        }
        self._announced: set[str] = set()

    def apply(self, sent: Sent, place: str, *, first: bool) -> None:
        """Take the next event; ``first`` where the run is empty.

        Raises:
            Conflict: with one of the ledger's codes.
        """
        actions, content = sent.event.actions, sent.event.content
        if not first and not (actions.runtime_protocol is UNSET and actions.continuation_start is UNSET):
            _refuse("event_order_conflict", "Only the first event of a run may say this.", f"{place}.actions")
        if sent.lane in _RESERVED and sent.lane not in self._writers:
            code, where = _RESERVED[sent.lane]
            _refuse(code, f"A {sent.lane} fact has its own writer: {where}.", f"{place}.actions")
        if isinstance(content, FunctionCall):
            self._called(sent, content, place)
        elif isinstance(content, FunctionResponse):
            self._answered(sent, content, place)
        elif isinstance(actions.tool_dispatch, ToolDispatch):
            self._dispatched(sent, actions.tool_dispatch, place)
        elif actions.tool_recovery is not UNSET:
            payload = actions.tool_recovery.payload
            if isinstance(payload, ReconcilePayload):
                self._reconciled(sent, payload, place)
            else:
                self._decided(sent, payload, place)

    def call(self, provider_call_id: str) -> LedgerCall:
        return self._calls[provider_call_id]

    def _called(self, sent: Sent, content: FunctionCall, place: str) -> None:
        known = self._calls.get(content.id)
        if known is not None:
            _refuse(
                "duplicate_call",
                f"Call {content.id} was told before, by {known.call_event}.",
                f"{place}.content.id",
            )
        announced = sent.event.refs.operation_id or ""
        if announced and (announced in self._operations or announced in self._announced):
            _refuse("duplicate_operation", "Another call has this operation.", f"{place}.refs.operationId")
        if announced:
            self._announced.add(announced)
        call = LedgerCall(
            run_id=self._run_key,
            provider_call_id=content.id,
            name=content.name,
            operation_id=announced,
            args_hash=args_hash(content.name, content.args),
            call_event=sent.event.id,
            provider_executed=content.provider_executed is True,
        )
        self._calls[content.id] = call
        self.new_calls.append(call)

    def _dispatched(self, sent: Sent, told: ToolDispatch, place: str) -> None:
        field = f"{place}.actions.toolDispatch"
        if not is_args_hash(told.canonical_args_hash):
            _refuse(
                "canonical_args_hash_conflict",
                "Send sha256: and 64 hex digits.",
                f"{field}.canonicalArgsHash",
            )
        call = self._calls.get(told.provider_tool_call_id)
        known = self._operations.get(told.operation_id)
        if call is None:
            _refuse("orphan_dispatch", "The call was not told before its dispatch.", field)
        of_call = self._operation_of.get(told.provider_tool_call_id)
        if known is not None and known is not of_call:
            _refuse("duplicate_operation", "Another call has this operation.", f"{field}.operationId")
        if of_call is not None:
            if of_call.operation_id != told.operation_id:
                _refuse("duplicate_dispatch", "The call was dispatched as another operation.", field)
            if of_call.args_hash != told.canonical_args_hash:
                _refuse(
                    "canonical_args_hash_conflict",
                    "The operation was dispatched with other arguments.",
                    f"{field}.canonicalArgsHash",
                )
            _refuse("duplicate_dispatch", f"It was dispatched before, by {of_call.dispatch_event}.", field)
        if call.result_event:
            _refuse("event_order_conflict", "The call has its result; a dispatch comes before it.", field)
        if call.provider_executed:
            _refuse("semantic_lane_conflict", "What the provider executes is not dispatched.", field)
        _same(call.operation_id or UNSET, told.operation_id, f"{field}.operationId")
        _same(call.name, told.tool_name, f"{field}.toolName")
        operation = ToolOperation(
            operation_id=told.operation_id,
            run_id=self._run_key,
            state=OperationState.PREPARED,
            version=0,
            recovery_mode=told.recovery_mode,
            args_hash=told.canonical_args_hash,
            args_hash_ok=told.canonical_args_hash == call.args_hash,
            call_event=call.call_event,
            dispatch_event=sent.event.id,
            prepared_us=self._at_us,
        )
        self._operations[told.operation_id] = self._operation_of[told.provider_tool_call_id] = operation
        self.new_operations.append((operation, call))
        self._move(operation, OperationState.PREPARED, sent)

    def _answered(self, sent: Sent, content: FunctionResponse, place: str) -> None:
        call = self._calls.get(content.id)
        if call is None:
            _refuse("orphan_response", f"There is no call {content.id} to answer.", f"{place}.content.id")
        if call.result_event:
            _refuse(
                "duplicate_response",
                f"It was answered before, by {call.result_event}.",
                f"{place}.content.id",
            )
        _same(call.name, content.name, f"{place}.content.name")
        operation = self._operation_of.get(content.id)
        if operation is not None:
            if Lane.DISPATCH not in self._writers:
                _refuse(
                    "reserved_tool_boundary_fact",
                    "The result of an operation has its own writer: POST runs/{id}/operations.",
                    place,
                )
            _same(sent.event.refs.operation_id or "", operation.operation_id, f"{place}.refs.operationId")
            if operation.state != OperationState.PREPARED:
                _refuse(
                    "transition_shape_conflict",
                    f"The operation is {operation.state}; only a prepared one takes its result.",
                    place,
                )
            operation.result_event = sent.event.id
            self._move(operation, OperationState.OUTCOME_COMMITTED, sent)
        elif sent.event.refs.operation_id and sent.event.refs.operation_id != call.operation_id:
            _refuse("orphan_response", "The call has no such operation.", f"{place}.refs.operationId")
        call.result_event = sent.event.id
        if call.pk is not None:
            self.answered.append(call)

    def _reconciled(self, sent: Sent, payload: ReconcilePayload, place: str) -> None:
        operation = self._recoverable(payload.operation_id, place)
        if operation.state != OperationState.PREPARED or operation.reconcile_event:
            _refuse("transition_shape_conflict", "Only a prepared operation is reconciled, once.", place)
        operation.reconcile_event, operation.observation = sent.event.id, payload.observation
        self._move(operation, "reconcile_observed", sent)

    def _decided(self, sent: Sent, payload: DecisionPayload, place: str) -> None:
        operation = self._recoverable(payload.operation_id, place)
        field = f"{place}.actions.toolRecovery.payload"
        matches = operation.observation == EXPECTED_STATE
        state = OperationState.OUTCOME_COMMITTED if matches else OperationState.PREPARED
        if not operation.reconcile_event or operation.state != state:
            _refuse("transition_shape_conflict", "A decision follows what reconciling saw.", place)
        if payload.disposition != ("completed" if matches else "parked"):
            _refuse(
                "transition_shape_conflict",
                "It does not follow from the observation.",
                f"{field}.disposition",
            )
        if payload.reason_code != f"reconcile_{operation.observation}":
            _refuse(
                "transition_shape_conflict", "It does not follow from the observation.", f"{field}.reasonCode"
            )
        evidence = [operation.call_event, operation.dispatch_event, operation.reconcile_event]
        evidence += [operation.result_event] if operation.result_event else []
        if payload.evidence_event_ids != evidence:
            _refuse(
                "transition_shape_conflict",
                "Name the call, the dispatch, the reconciling and the result, in this order.",
                f"{field}.evidenceEventIds",
            )
        if (payload.outcome_event_id or "") != operation.result_event:
            _refuse("transition_shape_conflict", "Name the operation's result.", f"{field}.outcomeEventId")
        done = OperationState.RECOVERY_COMPLETED if matches else OperationState.RECOVERY_PARKED
        self._move(operation, done, sent)

    def _recoverable(self, operation_id: str, place: str) -> ToolOperation:
        operation = self._operations.get(operation_id)
        if operation is None or operation.run_id != self._run_key:
            _refuse("transition_shape_conflict", "The run has no such operation.", place)
        if operation.recovery_mode != RecoveryMode.RECONCILE:
            _refuse(
                "transition_shape_conflict",
                f"The operation's recovery mode is {operation.recovery_mode}; only reconcile is recovered.",
                place,
            )
        return operation

    def _move(self, operation: ToolOperation, state: str, sent: Sent) -> None:
        """Set what the fact says, count it, and write it down."""
        if state in OperationState.values:
            operation.state = state
        operation.version += 1
        if operation.pk is not None:
            self.moved[operation.operation_id] = operation
        fact = sent.value["actions"].get("toolRecovery") if sent.lane == Lane.RECOVERY else None
        self.journal.append(
            ToolJournalEntry(
                operation=operation,
                version=operation.version,
                state=state,
                event=sent.event.id,
                fact=fact,
                committed_us=self._at_us,
            )
        )


def _several(actions: Actions) -> bool:
    return sum(getattr(actions, name) is not UNSET for name in actions.__struct_fields__) > 1


def _same(told: object, expected: str, field: str) -> None:
    """Raises identity_conflict where an id is told and is another one."""
    if told is not UNSET and told != expected:
        _refuse("identity_conflict", f"{field} is not {expected}.", field)


def _refuse(code: str, detail: str, field: str) -> NoReturn:
    raise Conflict(detail, code=code, field=field)
