"""What happened in a session, as programs read it."""

import json

import pytest

from contextdash import limits
from contextdash.ids import child_session_id
from sessions_app.models import ToolCall, Turn
from tests import factories

pytestmark = pytest.mark.django_db


def deliver(api, *bodies: dict) -> None:
    lines = [json.dumps({"type": "hook", "client": "claude-code", "body": body}) for body in bodies]
    answer = api.client.post(
        "/api/v1/ingest", "\n".join(lines), content_type="application/x-ndjson", headers=api.headers
    )
    assert len(answer.json()["accepted"]) == len(bodies), answer.json()


def hook(name: str, **fields) -> dict:
    return {"session_id": "S1", "hook_event_name": name, "prompt_id": "p1", **fields}


def tool(name: str, call: str, **fields) -> dict:
    return hook(name, tool_name="Bash", tool_use_id=call, tool_input={"command": "make"}, **fields)


def big(call: str, size: int) -> dict:
    return tool("PostToolUse", call, tool_response={"stdout": "x" * size})


@pytest.fixture
def story(api) -> None:
    deliver(
        api,
        hook("UserPromptSubmit", prompt="Fix it"),
        tool("PreToolUse", "t1"),
        tool("PostToolUse", "t1", tool_response={"stdout": "ok"}),
        tool("PreToolUse", "t2"),
        hook("Stop"),
    )


def test_events_are_told_in_order_of_commit_with_their_payload(api, story):
    told = api.get("sessions/S1/events", limit=3).json()
    assert [event["name"] for event in told["items"]] == ["UserPromptSubmit", "PreToolUse", "PostToolUse"]
    assert told["items"][0]["payload"]["prompt"] == "Fix it"
    assert told["items"][0]["seq"] == 1
    assert told["items"][0]["occurred_at"].endswith("Z")
    rest = api.get("sessions/S1/events", after=told["next"]).json()
    assert [event["name"] for event in rest["items"]] == ["PreToolUse", "Stop"]
    assert rest["next"] is None


def test_one_who_has_all_events_gets_none(api, story):
    last = api.get("sessions/S1/events").json()["items"][-1]["ordinal"]
    assert api.get("sessions/S1/events", after=last).json() == {"items": [], "next": None}


@pytest.mark.parametrize("after", ["-1", "x", str(2**63), "9" * 400])
def test_an_odd_place_to_go_on_from_is_422(api, story, after):
    assert api.get("sessions/S1/events", after=after).status_code == 422


def test_a_page_of_events_stays_about_a_megabyte_and_loses_none(api):
    for start in range(0, 40, 10):
        deliver(api, *(big(f"t{number}", 100_000) for number in range(start, start + 10)))
    seen, after = [], 0
    while after is not None:
        answer = api.get("sessions/S1/events", after=after, limit=100)
        assert len(answer.content) < 1.3 * limits.EVENT_PAGE_BYTES
        told = answer.json()
        seen += [event["payload"]["tool_use_id"] for event in told["items"]]
        after = told["next"]
    assert seen == [f"t{number}" for number in range(40)]


def test_a_very_large_payload_is_left_out_of_the_list_and_whole_by_itself(api):
    deliver(api, big("t1", 900_000), big("t2", 10))
    answer = api.get("sessions/S1/events")
    assert len(answer.content) < 10_000
    large, small = answer.json()["items"]
    assert (large["payload"], large["payload_cut"]) == (None, True)
    assert large["payload_size"] > 900_000
    assert small["payload_cut"] is False
    whole = api.get(f"sessions/S1/events/{large['ordinal']}").json()
    assert len(whole["payload"]["tool_response"]["stdout"]) == 900_000


def test_an_event_that_is_not_there_is_404(api, story):
    for ordinal in ("0", "999", "9" * 30):
        assert api.get(f"sessions/S1/events/{ordinal}").status_code == 404


def test_reading_a_page_of_events_costs_few_queries(api, story, django_assert_max_num_queries):
    with django_assert_max_num_queries(6):
        api.get("sessions/S1/events")


def test_tool_calls_are_newest_first_and_filtered_by_state(api, story):
    calls = api.get("sessions/S1/tool-calls").json()["items"]
    assert {call["call_id"] for call in calls} == {"t1", "t2"}
    done = api.get("sessions/S1/tool-calls", state="done").json()["items"]
    assert [(call["call_id"], call["name"], call["summary"]) for call in done] == [("t1", "Bash", "make")]
    assert done[0]["turn_id"] == Turn.objects.get().key


def test_tool_calls_are_paged(api):
    deliver(api, *(tool("PreToolUse", f"t{number}") for number in range(5)))
    first = api.get("sessions/S1/tool-calls", limit=3).json()
    rest = api.get("sessions/S1/tool-calls", limit=3, cursor=first["next"]).json()
    ids = [call["call_id"] for call in first["items"] + rest["items"]]
    assert sorted(ids) == [f"t{number}" for number in range(5)]
    assert ToolCall.objects.count() == 5


def test_turns_are_told_with_their_runs(api, story, django_assert_max_num_queries):
    deliver(api, hook("UserPromptSubmit", prompt="And now?") | {"prompt_id": "p2"})
    with django_assert_max_num_queries(6):
        turns = api.get("turns", session="S1").json()["items"]
    assert [turn["prompt"] for turn in turns] == ["And now?", "Fix it"]
    assert turns[1]["runs"][0]["status"] == "completed"
    assert api.get(f"turns/{turns[1]['id']}").json() == turns[1]
    assert api.get("turns/0").status_code == 404
    assert api.get("turns").status_code == 422
    assert api.get("turns", session="nobody").status_code == 404


def test_a_subagent_is_a_session_of_its_own(api):
    deliver(api, tool("PreToolUse", "t1") | {"agent_id": "a1", "agent_type": "tester"})
    child = child_session_id("S1", "a1")
    assert api.get(f"sessions/{child}").json()["parent_id"] == "S1"
    assert len(api.get(f"sessions/{child}/tool-calls").json()["items"]) == 1


def test_what_a_deleted_session_did_is_not_read(api, story):
    turn = Turn.objects.get().key
    api.client.delete("/api/v1/sessions/S1?reason=x", headers=api.headers)
    for path in ("sessions/S1/events", "sessions/S1/tool-calls", f"turns/{turn}", "turns?session=S1"):
        assert api.get(path).status_code == 404


def test_a_session_without_events_has_empty_lists(api):
    factories.session("S2")
    for path in ("sessions/S2/events", "sessions/S2/tool-calls", "turns?session=S2"):
        assert api.get(path).json() == {"items": [], "next": None}
