"""What a ledger refuses, each by its code, and how its operations move."""

from typing import Any

import pytest

from contextdash import clock
from contextdash.errors import Conflict
from sessions_app.models import Event, Purge, Run, ToolCall, ToolJournalEntry, ToolOperation
from sessions_app.queries.ledger_replay import prefix_of
from sessions_app.queries.tool_operations import resolutions, unsettled
from sessions_app.services.ledger_append import PLAIN, TOOLS
from tests.ledger.telling import Teller, append, run

pytestmark = pytest.mark.django_db

RECONCILE = {"recoveryMode": "reconcile"}


@pytest.fixture
def of() -> Run:
    return run()


@pytest.fixture
def tell(of) -> Teller:
    return Teller(of)


def code_of(of: Run, *events: dict[str, Any], writers: Any = TOOLS) -> str:
    """Why the last of the events is refused; all before it are accepted."""
    for event in events[:-1]:
        append(of, event, writers=writers)
    stored = Event.objects.count()
    with pytest.raises(Conflict) as refused:
        append(of, events[-1], writers=writers)
    assert Event.objects.count() == stored
    assert refused.value.field.startswith("events.0")
    return refused.value.code


def again(event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "id": f"{event['id']}-again"}


def test_a_call_is_told_and_answered_once(of, tell):
    call, response = tell.call("c1"), tell.response("c1")
    assert code_of(of, call, again(call), writers=PLAIN) == "duplicate_call"
    assert code_of(of, tell.response("c2"), writers=PLAIN) == "orphan_response"
    assert code_of(of, tell.response("c1", operationId="op-9"), writers=PLAIN) == "orphan_response"
    assert code_of(of, tell.response("c1", name="Edit"), writers=PLAIN) == "identity_conflict"
    assert code_of(of, response, again(response), writers=PLAIN) == "duplicate_response"
    assert ToolCall.objects.get().state == "done"


def test_the_tool_boundary_has_its_own_writer(of, tell):
    assert code_of(of, tell.call("c1"), tell.dispatch("c1"), writers=PLAIN) == "reserved_tool_boundary_fact"
    append(of, tell.dispatch("c1"), writers=TOOLS)
    bound = tell.response("c1", operationId="op-c1")
    assert code_of(of, bound, writers=PLAIN) == "reserved_tool_boundary_fact"
    assert code_of(of, tell.reconcile("c1", "diverged"), writers=PLAIN) == "reserved_recovery_fact"
    start = tell.event("start", actions={"continuationStart": {"claimId": "x"}})
    fact = tell.event("fact", actions={"workspaceFact": {"kind": "x"}})
    # Not the first event of its run: that comes before who may write it.
    assert code_of(of, start) == "event_order_conflict"
    assert code_of(of, fact) == "reserved_workspace_fact"
    other = run("s-2")
    start = {**start, **{name: value for name, value in Teller(other).event("start").items() if name != "id"}}
    assert code_of(other, start) == "reserved_continuation_fact"


def test_a_dispatch_follows_its_call_once(of, tell):
    call, dispatch = tell.call("c1"), tell.dispatch("c1")
    assert code_of(of, dispatch) == "orphan_dispatch"
    append(of, call)
    assert code_of(of, tell.dispatch("c1", toolName="Edit")) == "identity_conflict"
    bad = tell.dispatch("c1", canonicalArgsHash="md5:1")
    assert code_of(of, bad) == "canonical_args_hash_conflict"
    assert code_of(of, dispatch, again(dispatch)) == "duplicate_dispatch"
    assert code_of(of, again(tell.dispatch("c1", operationId="op-z"))) == "duplicate_dispatch"
    other_hash = again(tell.dispatch("c1", canonicalArgsHash="sha256:" + "0" * 64))
    assert code_of(of, other_hash) == "canonical_args_hash_conflict"
    append(of, tell.call("c2"))
    assert code_of(of, again(tell.dispatch("c2", operationId="op-c1"))) == "duplicate_operation"
    assert code_of(of, tell.call("c3", operationId="op-c1")) == "duplicate_operation"
    append(of, tell.response("c2"))
    assert code_of(of, tell.dispatch("c2")) == "event_order_conflict"
    assert code_of(of, tell.response("c1")) == "identity_conflict"
    announced = tell.call("c4", operationId="op-4")
    assert code_of(of, announced, tell.dispatch("c4", operationId="op-5")) == "identity_conflict"


def test_an_operation_is_unique_over_all_runs(of, tell):
    append(of, tell.call("c1"), tell.dispatch("c1"), writers=TOOLS)
    other = run("s-2")
    elsewhere = Teller(other)
    call = {**elsewhere.call("c1"), "id": "other-call"}
    dispatch = {**elsewhere.dispatch("c1"), "id": "other-dispatch"}
    assert code_of(other, call, dispatch) == "duplicate_operation"


@pytest.mark.parametrize(
    "change",
    [
        {"role": "user"},
        {"status": "completed"},
        {"partial": True},
        {"actions": {"toolRecovery": {"kind": "maka.tool.recovery_decision", "version": 1, "payload": None}}},
    ],
)
def test_an_event_does_one_thing(of, tell, change):
    if "actions" in change:
        change = {"actions": tell.decision("c1", "diverged")["actions"]}
    assert code_of(of, {**tell.call("c1"), **change}) == "semantic_lane_conflict"


def test_a_dispatch_has_no_content_and_a_closure_stands_alone(of, tell):
    dispatch = {**tell.dispatch("c1"), "content": {"kind": "text", "text": "x"}}
    assert code_of(of, tell.call("c1"), dispatch) == "semantic_lane_conflict"
    closure = tell.event("x", actions={"permissionClosureAccepted": True, "stateDelta": {}})
    assert code_of(of, closure, writers=PLAIN) == "semantic_lane_conflict"
    apart = {**tell.call("c2"), "refs": {"toolCallId": "c3"}}
    assert code_of(of, apart) == "identity_conflict"


def test_the_protocol_is_named_by_the_first_event_only(of, tell):
    protocol = {"runtimeProtocol": {"toolBoundary": "t1_after_preflight_v1"}}
    first, second = tell.event("a", actions=protocol), tell.event("b", actions=protocol)
    assert code_of(of, first, second, writers=PLAIN) == "event_order_conflict"


@pytest.mark.parametrize(
    "observation", ["matches_expected_state", "matches_prior_state", "diverged", "unreadable"]
)
def test_an_operation_is_recovered_by_what_reconciling_saw(of, tell, observation):
    append(of, tell.call("c1"), tell.dispatch("c1", **RECONCILE), writers=TOOLS)
    done = observation == "matches_expected_state"
    facts = [
        tell.reconcile("c1", observation),
        *([tell.response("c1", operationId="op-c1")] if done else []),
        tell.decision("c1", observation),
    ]
    append(of, *facts, writers=TOOLS)
    operation = ToolOperation.objects.get()
    assert operation.state == ("recovery_completed" if done else "recovery_parked")
    assert operation.version == (4 if done else 3)
    journal = ToolJournalEntry.objects.filter(operation=operation)
    assert [entry.version for entry in journal] == list(range(1, operation.version + 1))
    assert journal[1].fact["payload"]["observation"] == observation
    verdict = resolutions([operation.call])[operation.call_id][0].verdict
    assert verdict == ("completed" if done else "parked")
    late = again(tell.response("c1", operationId="op-c1"))
    assert code_of(of, late) == ("duplicate_response" if done else "transition_shape_conflict")


def test_recovery_is_for_operations_that_reconcile(of, tell):
    append(of, tell.call("c1"), tell.dispatch("c1"), writers=TOOLS)
    shape = "transition_shape_conflict"
    assert code_of(of, tell.reconcile("c1", "diverged")) == shape
    assert code_of(of, tell.reconcile("c9", "diverged")) == shape
    append(of, tell.call("c2"), tell.dispatch("c2", **RECONCILE), writers=TOOLS)
    assert code_of(of, tell.decision("c2", "diverged")) == shape
    append(of, tell.reconcile("c2", "diverged"), writers=TOOLS)
    assert code_of(of, again(tell.reconcile("c2", "diverged"))) == shape
    for wrong in (
        {"disposition": "completed"},
        {"reasonCode": "reconcile_unreadable"},
        {"evidenceEventIds": ["c2_call"]},
        {"outcomeEventId": "c2_response"},
    ):
        assert code_of(of, tell.decision("c2", "diverged", **wrong)) == shape
    assert [one.operation_id for one in unsettled(None)] == ["op-c1", "op-c2"]


def test_a_run_whose_calls_are_in_disorder_can_always_be_ended(of, tell):
    append(of, tell.call("c1"), tell.dispatch("c1", **RECONCILE), tell.call("c2"), writers=TOOLS)
    append(of, tell.reconcile("c1", "diverged"), writers=TOOLS)
    append(of, tell.end(status="failed", failureClass="app_restarted"))
    assert Run.objects.get().status == "failed"
    assert set(ToolCall.objects.values_list("state", flat=True)) == {"interrupted"}
    assert ToolOperation.objects.get().state == "prepared"


def test_a_run_that_lost_events_goes_on_and_can_be_ended(of, tell):
    append(of, tell.said("e1", "a"), tell.call("c1"), tell.said("e2", "b"))
    purge = Purge.objects.create(session_key=of.session_id, reason="asked", started_at=clock.now())
    Event.objects.filter(run=of, seq__in=(2, 3)).delete()
    purge.finished_at = clock.now()
    purge.save()
    # No number is used twice, and what was told of the call is remembered.
    assert [one.seq for one in append(of, tell.response("c1"), tell.end())] == [4, 5]
    with pytest.raises(Conflict, match="expected 2, received 4") as refused:
        prefix_of(of, to=None)
    assert refused.value.code == "ledger_gap"
    assert Run.objects.get().status == "completed"


def test_a_piece_of_a_stream_is_no_event_and_a_lone_partial_changes_nothing(of, tell):
    piece = {**tell.said("e1", "I am"), "partial": True, "refs": {"providerEventId": "step-1"}}
    assert code_of(of, piece, writers=PLAIN) == "partial_of_stream"
    append(of, {**tell.said("e2", "I am"), "partial": True})
    assert Run.objects.get().answer == ""
    with pytest.raises(Conflict) as refused:
        prefix_of(of, to=None)
    assert refused.value.code == "partial_in_prefix"


def test_a_call_that_never_came_to_its_dispatch_is_told_apart(of, tell):
    protocol = {"runtimeProtocol": {"toolBoundary": "t1_after_preflight_v1"}}
    append(of, {**tell.said("e1", "go", role="user"), "actions": protocol}, tell.call("c1"))
    old = run("s-old")
    append(old, {**Teller(old).call("c1"), "id": "old-call"})
    calls = list(ToolCall.objects.order_by("key"))
    found = resolutions(calls)
    assert [found[call.key][0].verdict for call in calls] == ["definitely_not_dispatched", "indeterminate"]


def test_two_runs_of_a_session_may_have_calls_of_one_id(of, tell):
    append(of, tell.call("c1"), tell.response("c1"))
    second = run(turn_id="turn-2")
    telling = Teller(second)
    append(second, {**telling.call("c1"), "id": "b-call"}, {**telling.response("c1"), "id": "b-response"})
    calls = ToolCall.objects.all()
    assert [call.state for call in calls] == ["done", "done"]
    assert {call.run_id for call in calls} == {of.key, second.key}
