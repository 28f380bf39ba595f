"""Two writers at the same moment: both changes are kept, or the second is told; never one lost in silence."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from tests.api.nouns import NOUNS
from tests.api.racing import closing, serving

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 50
CHANGEABLE = [noun for noun in NOUNS if noun.changed]


def patch(api, path: str, fields: dict, headers: dict) -> tuple[dict, int, dict]:
    with closing(connection):
        answer = api.patch(path, headers=headers, **fields)
        return fields, answer.status_code, answer.json()


@pytest.mark.parametrize("noun", CHANGEABLE, ids=lambda noun: noun.name)
@pytest.mark.parametrize("versioned", [False, True], ids=["without If-Match", "with If-Match"])
def test_two_fields_set_at_once_are_both_kept_or_the_second_is_told(api, noun, versioned):
    path = f"{noun.path}/{api.post(noun.path, noun.body).json()['id']}"
    told = 0
    with serving(), ThreadPoolExecutor(2) as pool:
        # With a version the outcome is certain, so a few rounds tell it.
        rounds = 10 if versioned else ROUNDS
        for number in range(rounds):
            before = api.get(path).json()
            headers = {"If-Match": str(before["version"])} if versioned else {}
            wanted = [{name: f"{value} {number}"} for name, value in noun.changed.items()]
            outcomes = list(pool.map(lambda fields, h=headers: patch(api, path, fields, h), wanted))
            after = api.get(path).json()
            accepted = [fields for fields, status, _ in outcomes if status == 200]
            assert accepted, outcomes
            for fields in accepted:
                for name, value in fields.items():
                    assert after[name] == value, (before, after, outcomes)
            for _, status, body in outcomes:
                assert status in (200, 409, 412), body
                if status != 200:
                    told += 1
                    assert f"version {after['version']}" in body["detail"]
            assert after["version"] == before["version"] + len(accepted)
    if versioned:
        assert told == rounds


def test_of_two_that_change_a_session_with_one_version_the_second_is_told(api):
    api.post("sessions/ensure", session_id="S1")
    with serving(), ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            version = api.get("sessions/S1").json()["metadata_version"]
            headers = {"If-Match": str(version)}
            wanted = [{"title": f"title {number}"}, {"branch": f"branch {number}"}]
            outcomes = list(pool.map(lambda fields, h=headers: patch(api, "sessions/S1", fields, h), wanted))
            assert sorted(status for _, status, _ in outcomes) == [200, 412]
            after = api.get("sessions/S1").json()
            assert after["metadata_version"] == version + 1


def test_closing_from_eight_threads_keeps_one_end(api):
    api.post("sessions/ensure", session_id="S1")

    def close(_: int) -> tuple[int, str]:
        with closing(connection):
            answer = api.post("sessions/S1/close")
            return answer.status_code, answer.json().get("ended_at")

    with serving(), ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(close, range(8)))
    ends = {end for status, end in answers if status == 200}
    assert len(ends) == 1
    assert {status for status, _ in answers} <= {200, 412}


@pytest.mark.parametrize("bodies", [["# One", "# Two"], ["# Same", "# Same"]], ids=["two texts", "one text"])
def test_two_first_snapshots_of_a_plan_at_once_are_two_versions_or_one(api, bodies):
    api.post("sessions/ensure", session_id="S1")

    def snapshot(told: tuple[str, str]) -> int:
        with closing(connection):
            path, body = told
            return api.post("plans", {"session_id": "S1", "path": path, "body_md": body}).status_code

    with serving(), ThreadPoolExecutor(2) as pool:
        for number in range(20):
            path = f"{number}.plan.md"
            assert list(pool.map(snapshot, [(path, body) for body in bodies])) == [201, 201]
            kept = api.get(f"plans?path={path}").json()["items"]
            kept.sort(key=lambda row: row["number"])
            assert [row["number"] for row in kept] == list(range(1, len(set(bodies)) + 1))
            assert [row["newest"] for row in kept] == [*[False] * (len(kept) - 1), True]
