"""Several writers of one run at the same moment: every event has its number, and none is missing."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from sessions_app.models import Event, Iteration, Run, ToolOperation
from tests.api.racing import closing, serving
from tests.ledger.telling import Teller

pytestmark = pytest.mark.django_db(transaction=True)


def opened(api: Any, session: str = "L1") -> Run:
    turn = api.post(f"sessions/{session}/turns", turn_id="t1").json()
    made = api.post(f"turns/{turn['id']}/runs", run_id="r1", invocation_id=f"i-{session}").json()
    return Run.objects.select_related("session", "turn").get(key=made["id"])


def post(api: Any, path: str, body: dict[str, Any]) -> Any:
    with closing(connection):
        return api.post(path, body)


def test_two_appenders_leave_no_gap(api):
    run = opened(api)
    path = f"runs/{run.key}/events"
    bodies = [
        {"events": [Teller(run).said(f"{writer}-{step}-{place}", "x") for place in range(1 + step % 3)]}
        for step in range(15)
        for writer in "ab"
    ]
    with serving(), ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda body: post(api, path, body), bodies))
    assert {answer.status_code for answer in answers} == {201}
    total = sum(len(body["events"]) for body in bodies)
    assert list(Event.objects.order_by("ordinal").values_list("seq", flat=True)) == list(range(1, total + 1))
    told = sorted(one["seq"] for answer in answers for one in answer.json()["items"])
    assert told == list(range(1, total + 1))


def test_of_two_who_append_to_the_same_place_one_is_told(api):
    run = opened(api)
    path = f"runs/{run.key}/events"
    with serving(), ThreadPoolExecutor(2) as pool:
        for step in range(10):
            bodies = [
                {"events": [Teller(run).said(f"{writer}-{step}", "x")], "expected_seq": step}
                for writer in "ab"
            ]
            answers = list(pool.map(lambda body: post(api, path, body), bodies))
            assert sorted(answer.status_code for answer in answers) == [201, 409]
            refused = next(answer.json() for answer in answers if answer.status_code == 409)
            assert (refused["error"], refused["current"]) == ("seq_conflict", step + 1)


def test_the_same_event_sent_twice_at_once_is_stored_once(api):
    runs = [opened(api, "L1"), opened(api, "L2")]
    with serving(), ThreadPoolExecutor(4) as pool:
        for step in range(10):
            sent = [(run, {"events": [Teller(run).said(f"e-{step}", "x")]}) for run in (*runs, *runs)]
            answers = list(pool.map(lambda one: post(api, f"runs/{one[0].key}/events", one[1]), sent))
            # An id is global: one session has it, with its retry; the other one is told.
            assert sorted(answer.status_code for answer in answers) == [200, 201, 409, 409]
    assert Event.objects.count() == 10


def test_an_operation_takes_one_result(api):
    run = opened(api)
    tell = Teller(run)
    path = f"runs/{run.key}/operations"
    api.post(path, {"events": [tell.call("c1"), tell.dispatch("c1")]})
    results = [
        {"events": [{**tell.response("c1", operationId="op-c1"), "id": f"result-{n}"}], "expected_version": 1}
        for n in range(2)
    ]
    with serving(), ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda body: post(api, path, body), results))
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert ToolOperation.objects.get().version == 2


def test_an_operation_id_is_given_once(api):
    runs = [opened(api, "L1"), opened(api, "L2")]
    with serving(), ThreadPoolExecutor(2) as pool:
        for step in range(8):
            bodies = []
            for run in runs:
                tell, call = Teller(run), f"c{step}"
                events = [tell.call(call), tell.dispatch(call)]
                named = [{**event, "id": f"{run.session.id}-{event['id']}"} for event in events]
                bodies.append((f"runs/{run.key}/operations", {"events": named}))
            answers = list(pool.map(lambda one: post(api, *one), bodies))
            assert sorted(answer.status_code for answer in answers) == [201, 409]
            assert {answer.json().get("error") for answer in answers} == {None, "duplicate_operation"}


def test_a_model_call_that_two_sessions_tell_of_at_once_belongs_to_one(api):
    """The other is told so; neither is a failure of ours."""
    runs = [opened(api, "L1"), opened(api, "L2")]
    with serving(), ThreadPoolExecutor(2) as pool:
        for step in range(10):
            body = {"response_id": f"msg_{step}", "model": "m", "output_tokens": 1}
            answers = list(
                pool.map(lambda run, body=body: post(api, f"runs/{run.key}/iterations", body), runs)
            )
            assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert Iteration.objects.count() == 10
