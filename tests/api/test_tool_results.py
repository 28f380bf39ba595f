"""What tool calls gave, by the ids of their client; what a session cost."""

from typing import Any

import pytest

from contextdash.ids import digest16
from contextdash.limits import EVENT_PAYLOAD_BYTES
from sessions_app.models import Iteration, Session
from tests import factories
from tests.sessions import deliveries

pytestmark = pytest.mark.django_db


def deliver(call_id: str, output: str = "ok") -> None:
    for event in ("PreToolUse", "PostToolUse"):
        body = deliveries.tool(event, call_id)
        if event == "PostToolUse":
            body["tool_response"] = {"stdout": output}
        deliveries.deliver(deliveries.seen(body))


def test_calls_are_answered_in_the_order_asked_for(api: Any) -> None:
    deliver("t1")
    deliver("t2", "second")
    answer = api.get("sessions/s1/tool-results", ids="t2, t1,t2,none").json()
    assert [one["call_id"] for one in answer["items"]] == ["t2", "t1"]
    assert answer["items"][0]["output"] == {"stdout": "second"}
    assert answer["items"][0]["input"] == {"command": "run t2"}
    assert answer["items"][0]["cut"] is False
    assert answer["missing"] == ["none"]


def test_too_many_or_none_are_refused(api: Any) -> None:
    deliver("t1")
    assert api.get("sessions/s1/tool-results", ids=",").status_code == 422
    assert api.get("sessions/s1/tool-results").status_code == 422
    many = api.get("sessions/s1/tool-results", ids=",".join(f"t{n}" for n in range(101)))
    assert many.status_code == 422
    assert "PAGE_ROWS" in many.json()["detail"]
    assert api.get("sessions/none/tool-results", ids="t1").status_code == 404


def test_what_is_large_or_erased_is_told_as_cut(api: Any, django_assert_max_num_queries: Any) -> None:
    deliver("large", "x" * (EVENT_PAYLOAD_BYTES + 1))
    for number in range(9):
        deliver(f"t{number}", "y" * (EVENT_PAYLOAD_BYTES - 2_000))
    ids = ",".join(["large", *(f"t{number}" for number in range(9))])
    with django_assert_max_num_queries(8):
        answer = api.get("sessions/s1/tool-results", ids=ids)
    assert len(answer.content) < 1_300_000
    cut = {one["call_id"]: one["cut"] for one in answer.json()["items"]}
    assert cut["large"]
    assert not cut["t0"]
    assert cut["t8"]
    assert answer.json()["items"][0]["input"] == {"command": "run large"}


def test_a_session_tells_its_tokens_and_cost_and_unknown_is_null(api: Any) -> None:
    deliver("t1")
    names = ("input_tokens", "cached_tokens", "output_tokens", "cost_micro")
    assert api.get("sessions/s1").json()["usage"] == {"model_calls": 0, **dict.fromkeys(names)}
    Session.objects.update(
        iteration_count=2,
        input_tokens=5,
        cache_read_tokens=3,
        cache_write_tokens=2,
        output_tokens=7,
        cost_micro=9,
    )
    usage = api.get("sessions").json()["items"][0]["usage"]
    assert [usage[name] for name in ("model_calls", *names)] == [2, 10, 3, 7, 9]


def test_turns_and_runs_tell_what_they_cost_with_one_query_for_all(
    api: Any, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        prompt = deliveries.body("UserPromptSubmit", prompt=f"{number}", prompt_id=f"p{number}")
        deliveries.deliver(deliveries.seen(prompt))
    session = Session.objects.get(id="s1")
    for number, run in enumerate(session.runs.order_by("key")[:2]):
        for place in range(2):
            Iteration.objects.create(
                session=session,
                run=run,
                identity=digest16(b"%d %d" % (number, place)),
                source="transcript",
                client="c",
                agent="main",
                at_us=1,
                ended_us=2,
                input_tokens=5 if number else None,
                cache_read_tokens=3 if number else None,
                output_tokens=7 if number else None,
                cost_micro=9 if number and place else None,
            )
    with django_assert_max_num_queries(10):
        turns = {one["number"]: one for one in api.get("turns", session="s1", limit=50).json()["items"]}
    names = ("model_calls", "input_tokens", "cached_tokens", "output_tokens", "cost_micro")
    told = {number: [turn["usage"][name] for name in names] for number, turn in turns.items()}
    assert (told[1], told[2], told[3]) == ([2, None, None, None, None], [2, 16, 6, 14, 9], [0, *[None] * 4])
    assert turns[2]["runs"][0]["usage"] == turns[2]["usage"]
    assert api.get(f"turns/{turns[2]['id']}").json() == turns[2]


def test_a_session_tells_what_it_cost_with_all_below_it(api: Any) -> None:
    deliver("t1")
    root = Session.objects.get(id="s1")
    told = {"family_root": root, "iteration_count": 1}
    kid = factories.session("kid", parent=root, cost_micro=20, child_count=1, **told)
    factories.session("grandkid", parent=kid, cost_micro=3, **told)
    Session.objects.filter(key=root.key).update(cost_micro=100, iteration_count=1, child_count=1)
    whole = {name: api.get(f"sessions/{name}").json() for name in ("s1", "kid", "grandkid")}
    assert [one["usage"]["cost_micro"] for one in whole.values()] == [100, 20, 3]
    assert [one["usage_with_subagents"]["cost_micro"] for one in whole.values()] == [123, 23, 3]
    assert whole["s1"]["usage_with_subagents"]["model_calls"] == 3
    assert {one["usage_with_subagents"] for one in api.get("sessions").json()["items"]} == {None}
