"""An event as a ledger's writer sends it: strict, unknown keys are refused; brought into one form; its kind.

``read`` is all that others call. Names are those of the wire.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, NoReturn

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from contextdash.clock import MAX_US
from contextdash.decoding import shallow
from contextdash.errors import Invalid, Malformed
from contextdash.limits import JSON_DEPTH, NAME_CHARS, SESSION_ID_CHARS, TEXT_BYTES
from sessions_app.ledger.canonical import canonical
from sessions_app.vocabulary import RecoveryMode

# What no database can store is in no id: an id is never changed to fit.
type Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS, pattern="^[^\x00\ud800-\udfff]*$")]
type Object = dict[str, Any]
type Maybe[T] = T | UnsetType

TERMINAL = frozenset({"completed", "failed", "aborted", "cancelled"})


class Lane(StrEnum):
    """What an event does to the ledger beside telling: no event does two of these."""

    TELL = "tell"
    CALL = "call"
    RESPONSE = "response"
    DISPATCH = "dispatch"
    RECOVERY = "recovery"
    CONTINUATION = "continuation"
    WORKSPACE = "workspace"
    TERMINAL = "terminal"


class _Strict(Struct, forbid_unknown_fields=True, rename="camel"):
    pass


class Text(_Strict, tag_field="kind", tag="text"):
    text: str
    display_text: Maybe[str] = UNSET
    attachments: Maybe[list[Any]] = UNSET
    quotes: Maybe[list[Any]] = UNSET
    inline_references: Maybe[list[Any]] = UNSET
    origin: Maybe[Object] = UNSET
    steering: Maybe[Literal[True]] = UNSET
    provider_options: Maybe[Object] = UNSET


class Thinking(_Strict, tag_field="kind", tag="thinking"):
    text: str
    signature: Maybe[str] = UNSET
    provider_options: Maybe[Object] = UNSET


class FunctionCall(_Strict, tag_field="kind", tag="function_call"):
    id: Name
    name: Name
    args: Any
    provider_options: Maybe[Object] = UNSET
    provider_executed: Maybe[bool] = UNSET


class FunctionResponse(_Strict, tag_field="kind", tag="function_response"):
    id: Name
    name: Name
    result: Any
    is_error: Maybe[bool] = UNSET
    provider_executed: Maybe[bool] = UNSET
    provider_output: Maybe[Any] = UNSET


class ErrorContent(_Strict, tag_field="kind", tag="error"):
    message: str
    code: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET
    details: Maybe[Any] = UNSET


class ToolDispatch(_Strict):
    canonical_args_hash: str
    operation_id: Name
    protocol: Name
    provider_tool_call_id: Name
    recovery_mode: str
    tool_name: Name


class ReconcilePayload(_Strict):
    observation: Literal["matches_expected_state", "matches_prior_state", "diverged", "unreadable"]
    operation_id: Name
    protocol: Name
    observation_digest: Maybe[str] = UNSET
    observation_schema: Maybe[str] = UNSET


class DecisionPayload(_Strict):
    disposition: Literal["completed", "parked"]
    evidence_event_ids: list[str]
    operation_id: Name
    protocol: Name
    reason_code: str
    outcome_event_id: Maybe[str] = UNSET


class ReconcileFact(_Strict, tag_field="kind", tag="maka.tool.reconcile_result"):
    payload: ReconcilePayload
    version: Literal[1]


class DecisionFact(_Strict, tag_field="kind", tag="maka.tool.recovery_decision"):
    payload: DecisionPayload
    version: Literal[1]


class Actions(_Strict):
    state_delta: Maybe[Object] = UNSET
    artifact_delta: Maybe[Object] = UNSET
    permission_request: Maybe[Object] = UNSET
    permission_decision: Maybe[Object] = UNSET
    permission_answer_accepted: Maybe[Any] = UNSET
    permission_closure_accepted: Maybe[Any] = UNSET
    user_question_request: Maybe[Object] = UNSET
    user_question_answer_accepted: Maybe[Any] = UNSET
    transfer_to_agent: Maybe[Any] = UNSET
    end_invocation: Maybe[bool] = UNSET
    token_usage: Maybe[Object] = UNSET
    tool_dispatch: Maybe[ToolDispatch] = UNSET
    tool_recovery: Maybe[ReconcileFact | DecisionFact] = UNSET
    runtime_protocol: Maybe[Object] = UNSET
    continuation_start: Maybe[Object] = UNSET
    workspace_fact: Maybe[Object] = UNSET


class Refs(_Strict):
    stored_message_id: Maybe[str] = UNSET
    trace_event_id: Maybe[str] = UNSET
    tool_call_id: Maybe[Name] = UNSET
    provider_event_id: Maybe[str] = UNSET
    source_message_digest: Maybe[str] = UNSET
    provider_request_trace_id: Maybe[str] = UNSET
    artifact_id: Maybe[str] = UNSET
    operation_id: Maybe[Name] = UNSET
    parent_tool_call_id: Maybe[str] = UNSET
    parent_operation_id: Maybe[str] = UNSET
    step_id: Maybe[str] = UNSET
    source_invocation_id: Maybe[str] = UNSET
    source_run_id: Maybe[str] = UNSET
    source_turn_id: Maybe[str] = UNSET
    source_runtime_event_high_water: Maybe[int] = UNSET


class Envelope(_Strict):
    id: Name
    invocation_id: Name
    run_id: Name
    session_id: Annotated[str, Meta(min_length=1, max_length=SESSION_ID_CHARS)]
    turn_id: Name
    ts: float
    partial: bool
    role: Literal["user", "model", "tool", "system"]
    author: Literal["user", "host", "agent", "tool", "system"]
    branch: Maybe[str] = UNSET
    origin: Maybe[Literal["provider", "code_mode"]] = UNSET
    model_visibility: Maybe[Literal["visible", "hidden"]] = UNSET
    status: Maybe[Literal["streaming", "completed", "failed", "aborted", "cancelled"]] = UNSET
    content: Maybe[Text | Thinking | FunctionCall | FunctionResponse | ErrorContent] = UNSET
    actions: Actions = msgspec.field(default_factory=Actions)
    refs: Refs = msgspec.field(default_factory=Refs)

    @property
    def terminal(self) -> bool:
        """Whether nothing may follow it in its run."""
        return self.status in TERMINAL or self.actions.end_invocation is True


@dataclass(frozen=True, slots=True)
class Sent:
    """An event that was read: its parts, its value in the one form, its canonical text."""

    event: Envelope
    value: dict[str, Any]
    text: str
    kind: str
    lane: Lane


def decode(raw: bytes) -> Any:
    """The JSON of a ledger's writer, with nothing lost: no NaN, no number that a double does not hold.

    Raises:
        Malformed: it cannot be read, or is nested deeper than JSON_DEPTH.
    """
    if not shallow(raw):
        raise Malformed(f"The JSON is nested deeper than {JSON_DEPTH} levels (JSON_DEPTH).")
    try:
        return json.loads(raw, parse_constant=_no_constant)
    except ValueError as error:
        raise Malformed(f"The body is not JSON: {error}") from error


def at_us(ts: float) -> int | None:
    """An event's time in microseconds: ``ts`` is milliseconds whatever its size. None for no date of ours."""
    return round(ts * 1000) if 0 <= ts <= MAX_US // 1000 else None


def read(value: Any, place: str = "") -> Sent:
    """One event, checked and normalised. ``place`` names it in refusals: ``events.3``.

    Raises:
        Invalid: a key is unknown or missing, a value is not of its type, or the event is larger than
            TEXT_BYTES; ``field`` says which.
    """
    try:
        event = msgspec.convert(value, Envelope)
    except msgspec.ValidationError as error:
        raise _invalid(error, place) from None
    except UnicodeEncodeError:  # half of a surrogate pair where a word or a number belongs
        raise Invalid(f"{place or 'event'}: a word is no text.", field=place or None) from None
    value = _normalised(value)
    try:
        text = canonical(value)
    except ValueError as error:
        raise Invalid(f"{place or 'event'}: {error}", field=place or None) from error
    if len(text) > TEXT_BYTES or (len(text) > TEXT_BYTES // 4 and len(text.encode()) > TEXT_BYTES):
        raise Invalid(f"The event is larger than {TEXT_BYTES} bytes (TEXT_BYTES).", field=place or None)
    if event.actions.tool_dispatch and event.actions.tool_dispatch.recovery_mode not in RecoveryMode.values:
        field = _joined(place, "actions.toolDispatch.recoveryMode")
        raise Invalid(f"{field}: send one of {', '.join(RecoveryMode.values)}.", field=field)
    return Sent(event, value, text, kind_of(event), lane_of(event))


def kind_of(event: Envelope) -> str:
    """The derived kind; the first that applies. It does not tell whether an event is terminal."""
    if event.content is not UNSET:
        return str(event.content.__struct_config__.tag)
    if event.status is not UNSET:
        return event.status
    if event.actions.workspace_fact is not UNSET:
        return "workspace_fact"
    if event.actions.tool_dispatch is not UNSET:
        return "tool_dispatch"
    return "invocation_end" if event.actions.end_invocation else "runtime_fact"


def lanes_of(event: Envelope) -> list[Lane]:
    """Every lane that the event claims; more than one is a conflict."""
    actions = event.actions
    claimed = [
        (Lane.CALL, isinstance(event.content, FunctionCall)),
        (Lane.RESPONSE, isinstance(event.content, FunctionResponse)),
        (Lane.DISPATCH, actions.tool_dispatch is not UNSET),
        (Lane.RECOVERY, actions.tool_recovery is not UNSET),
        (Lane.CONTINUATION, actions.continuation_start is not UNSET),
        (Lane.WORKSPACE, actions.workspace_fact is not UNSET),
        (Lane.TERMINAL, event.terminal),
    ]
    return [lane for lane, is_so in claimed if is_so]


def lane_of(event: Envelope) -> Lane:
    return next(iter(lanes_of(event)), Lane.TELL)


def _normalised(value: dict[str, Any]) -> dict[str, Any]:
    """Without what says nothing: two inputs that differ in it alone are one event."""
    content = value.get("content")
    if not isinstance(content, Mapping) or content.get("kind") != "text":
        return value
    empty = {name for name in ("attachments", "quotes") if content.get(name) == []}
    if "displayText" in content and content["displayText"] == content["text"]:
        empty.add("displayText")
    if not empty:
        return value
    return {**value, "content": {name: part for name, part in content.items() if name not in empty}}


def _invalid(error: msgspec.ValidationError, place: str) -> Invalid:
    said, _, at = str(error).partition(" - at `$")
    field = _joined(place, at.rstrip("`").lstrip("."))
    if "unknown field" in said or "missing required field" in said:
        field = _joined(field, said.split("`")[1])
    return Invalid(f"{field or 'event'}: {said}.", field=field[:200] or None)


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")
