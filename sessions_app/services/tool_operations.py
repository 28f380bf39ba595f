"""Tool operations of a ledger: each step is one bundle of events, stored together or not at all."""

from collections.abc import Sequence

from contextdash.actor import Actor
from contextdash.errors import Conflict
from sessions_app.ledger.envelope import DecisionFact, Lane, ReconcileFact, Sent
from sessions_app.models import Run
from sessions_app.services.ledger_append import TOOLS, Appended, append_events

PREPARE, OUTCOME, RECOVERY = "prepare", "outcome", "recovery"

_SHAPES: dict[tuple[str, ...], str] = {
    ("call", "dispatch"): PREPARE,
    ("response",): OUTCOME,
    ("reconcile", "decision"): RECOVERY,
    ("reconcile", "response", "decision"): RECOVERY,
}


def append_bundle(
    *,
    run: Run,
    events: Sequence[Sent],
    actor: Actor,
    expected_version: int | None = None,
    expected_seq: int | None = None,
) -> Sequence[Appended]:
    """One step of one operation: call and dispatch; result; or what reconciling saw, perhaps a result, and
    the decision.

    ``expected_version`` is the operation's, 0 for one that is not there yet.

    Raises:
        Conflict: transition_shape_conflict where the events are no such step, version_conflict with the
            operation's version, and all that ``append_events`` raises.
    """
    shape = tuple(_part(sent) for sent in events)
    if shape not in _SHAPES:
        raise Conflict(
            "Send one step: call, dispatch; or response; or reconcile, (response,) decision.",
            code="transition_shape_conflict",
            field="events",
        )
    ids = {operation_id for sent in events if (operation_id := operation_of(sent))}
    if len(ids) != 1:
        raise Conflict("All events of a step name one operation.", code="identity_conflict", field="events")
    return append_events(
        run=run,
        events=events,
        actor=actor,
        expected_seq=expected_seq,
        expected_version=None if expected_version is None else (ids.pop(), expected_version),
        writers=TOOLS,
    )


def operation_of(sent: Sent) -> str:
    """The operation that an event names; empty where it names none."""
    event = sent.event
    if event.actions.tool_dispatch:
        return event.actions.tool_dispatch.operation_id
    if event.actions.tool_recovery:
        return event.actions.tool_recovery.payload.operation_id
    return event.refs.operation_id or ""


def _part(sent: Sent) -> str:
    fact = sent.event.actions.tool_recovery
    if isinstance(fact, ReconcileFact):
        return "reconcile"
    if isinstance(fact, DecisionFact):
        return "decision"
    return str(sent.lane) if sent.lane in (Lane.CALL, Lane.DISPATCH, Lane.RESPONSE) else "other"
