"""Who first claims a place under a parent decides whose child it is."""

import pytest

from contextdash.actor import SYSTEM
from sessions_app.models import Run, Session, SubagentSpawn, ToolCall, Turn
from sessions_app.services.ending import delete_session
from tests.ledger.telling import Teller, append, run

pytestmark = pytest.mark.django_db

WORK = {
    "parent_session_id": "s-1",
    "parent_run_id": "run-1",
    "tool_call_id": "call-1",
    "request_fingerprint": "f" * 64,
    "child_session_id": "child-1",
    "initial_turn_id": "turn-1",
    "initial_run_id": "crun-1",
    "agent_name": "reviewer",
    "prompt": "Read the tests.",
}


def parent_with_call() -> Run:
    made = run("s-1", run_id="run-1")
    append(made, Teller(made).call("call-1", name="Task"))
    return made


def test_a_claim_makes_the_child_its_turn_and_run_and_the_call_leads_to_it(api, page):
    parent_with_call()
    answer = api.post("spawns", WORK)
    assert answer.status_code == 201, answer.content
    child = Session.objects.get(id="child-1")
    assert child.parent is not None
    assert child.family_root is not None
    assert (child.parent.id, child.family_root.id, child.agent_name) == ("s-1", "s-1", "reviewer")
    assert child.user_request == "Read the tests."
    assert Session.objects.get(id="s-1").child_count == 1
    turn = Turn.objects.get(session=child)
    assert (turn.turn_id, turn.prompt) == ("turn-1", "Read the tests.")
    assert Run.objects.get(session=child).run_id == "crun-1"
    assert ToolCall.objects.get(call_id="call-1").child_id == child.key
    assert "reviewer" in page.get("/sessions/s-1/subagents/").content.decode()
    listed = api.get("spawns", parent="s-1").json()["items"]
    assert [row["child_session_id"] for row in listed] == ["child-1"]
    assert api.get("spawns", parent="child-1").json()["items"] == []


def test_the_same_work_gets_the_original_child_and_the_new_proposal_is_ignored(api):
    api.post("spawns", WORK)
    proposal = {"child_session_id": "child-2", "initial_turn_id": "t-2", "initial_run_id": "r-2"}
    again = api.post("spawns", {**WORK, **proposal, "prompt": "Something else."})
    assert again.status_code == 200
    told = again.json()
    assert (told["child_session_id"], told["initial_turn_id"], told["initial_run_id"]) == (
        *("child-1", "turn-1", "crun-1"),
    )
    assert not Session.objects.filter(id="child-2").exists()
    assert Session.objects.get(id="s-1").child_count == 1


def test_other_work_at_the_same_place_is_a_conflict_and_other_places_are_free(api):
    api.post("spawns", WORK)
    other = api.post("spawns", {**WORK, "request_fingerprint": "0" * 64, "child_session_id": "child-2"})
    assert (other.status_code, other.json()["error"]) == (409, "different_work")
    for number, place in enumerate(
        ({"tool_call_id": ""}, {"parent_run_id": ""}, {"swarm_id": "w"}, {"swarm_id": "w", "item_id": "docs"})
    ):
        body = {**WORK, **place, "child_session_id": f"free-{number}"}
        assert api.post("spawns", body).status_code == 201, place
    assert SubagentSpawn.objects.count() == 5


def test_a_deleted_child_keeps_its_place_for_ever(api):
    api.post("spawns", WORK)
    delete_session(session=Session.objects.get(id="child-1"), actor=SYSTEM, reason="a test run")
    for body in (WORK, {**WORK, "child_session_id": "child-2"}, {**WORK, "request_fingerprint": "0" * 64}):
        answer = api.post("spawns", body)
        assert (answer.status_code, answer.json()["error"]) == (409, "deleted_session")


def test_a_child_that_is_known_already_is_linked_and_keeps_what_it_has(api):
    known = run("child-1", "turn-1", run_id="crun-1", invocation_id="inv-c")
    api.post("spawns", {**WORK, "parent_session_id": "child-1", "child_session_id": "grandchild"})
    append(known, Teller(known).said("said", "On it."))
    assert api.post("spawns", WORK).status_code == 201
    assert Session.objects.get(id="child-1").parent_id == Session.objects.get(id="s-1").key
    assert Run.objects.filter(session__id="child-1").count() == 1
    assert Session.objects.get(id="grandchild").family_root_id == Session.objects.get(id="s-1").key


def test_a_call_that_is_told_after_its_spawn_leads_to_the_child_and_a_swarms_to_the_first(api):
    made = run("s-1", run_id="run-1")
    for number, item in enumerate(("docs", "runtime")):
        place = {"swarm_id": "w", "item_id": item, "child_session_id": f"child-{number}"}
        assert api.post("spawns", {**WORK, **place}).status_code == 201
    append(made, Teller(made).call("call-1", name="Task"))
    assert ToolCall.objects.get(call_id="call-1").child_id == Session.objects.get(id="child-0").key


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"parent_session_id": " "}, "parent_session_id"),
        ({"child_session_id": ""}, "child_session_id"),
        ({"initial_run_id": ""}, "initial_run_id"),
        ({"tool_call_id": "a b"}, "tool_call_id"),
        ({"item_id": "x" * 201}, "item_id"),
        ({"swarm_id": "é"}, "swarm_id"),
        ({"child_session_id": "s-1"}, "child_session_id"),
        ({"request_fingerprint": ""}, "request_fingerprint"),
    ],
)
def test_what_is_no_claim_is_refused_by_name(api, change, field):
    answer = api.post("spawns", {**WORK, **change})
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert not SubagentSpawn.objects.exists()


def test_a_child_has_one_parent_and_no_ancestor_becomes_a_child(api):
    api.post("spawns", WORK)
    taken = api.post("spawns", {**WORK, "parent_session_id": "s-2"})
    assert (taken.status_code, taken.json()["error"]) == (409, "child_taken")
    up = {**WORK, "parent_session_id": "child-1", "child_session_id": "s-1"}
    assert api.post("spawns", up).status_code == 422
    assert SubagentSpawn.objects.count() == 1


def test_a_deleted_parent_takes_no_spawn(api):
    delete_session(session=run("s-1").session, actor=SYSTEM, reason="a test run")
    assert api.post("spawns", WORK).json()["error"] == "deleted_session"


def test_however_deep_they_are_no_ancestor_becomes_a_child(api):
    for number in range(9):
        made = {"parent_session_id": f"deep-{number}", "child_session_id": f"deep-{number + 1}"}
        assert api.post("spawns", {**WORK, **made}).status_code == 201
    closing = {"parent_session_id": "deep-9", "child_session_id": "deep-0"}
    assert api.post("spawns", {**WORK, **closing}).status_code == 422
