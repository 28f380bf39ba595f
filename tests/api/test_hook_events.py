"""Reports of hook scripts and the gate through the API."""

import pytest

from sessions_app.models import HookEvent, Session

pytestmark = pytest.mark.django_db

REPORT = {"hook_name": "21-build-gate.csx", "event_type": "beforeCommit", "outcome": "fail"}


@pytest.mark.parametrize("session_id", [None, "", "  "])
def test_a_report_of_no_session_is_one(api, session_id):
    made = api.post("hook-events", REPORT | {"session_id": session_id}).json()
    assert made["session_id"] is None
    assert Session.objects.count() == 0


def test_a_session_that_nobody_knows_is_made_as_that_id(api):
    assert api.post("hook-events", REPORT | {"session_id": "S1"}).json()["session_id"] == "S1"
    assert Session.objects.get().hook_count == 1


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (None, None),
        ("plain text", "plain text"),
        ('{"a": 1}', '{"a": 1}'),
        ({"fileCount": 5, "name": "ü"}, '{"fileCount":5,"name":"ü"}'),
        ([1, None], "[1,null]"),
        (0, "0"),
        (False, "false"),
    ],
)
def test_a_payload_is_kept_as_text(api, told, kept):
    made = api.post("hook-events", REPORT | {"payload_json": told}).json()
    assert made["payload_json"] == kept
    assert api.get(f"hook-events/{made['id']}").json()["payload_json"] == kept


@pytest.mark.parametrize("duration", [-1, 2**53, "long", 1.5])
def test_an_odd_duration_is_422(api, duration):
    answer = api.post("hook-events", REPORT | {"duration_ms": duration})
    assert answer.status_code == 422
    assert answer.json()["field"] == "duration_ms"


def test_the_list_has_no_payloads_and_is_filtered(api):
    api.post("hook-events", REPORT | {"payload_json": "x", "session_id": "S1"})
    api.post("hook-events", REPORT | {"outcome": "ok", "hook_name": "gate"})
    items = api.get("hook-events").json()["items"]
    assert [item["outcome"] for item in items] == ["ok", "fail"]
    assert "payload_json" not in items[0]
    for name, value in {
        "outcome": "ok",
        "hook": "gate",
        "session": "S1",
        "event_type": "beforeCommit",
    }.items():
        assert api.get("hook-events", **{name: value}).json()["items"]
    assert api.get("hook-events", outcome="skip").json()["items"] == []


def test_reports_of_a_deleted_session_are_not_read_and_those_of_none_are(api):
    gone = api.post("hook-events", REPORT | {"session_id": "S1"}).json()["id"]
    kept = api.post("hook-events", REPORT).json()["id"]
    api.client.delete("/api/v1/sessions/S1?reason=x", headers=api.headers)
    assert [item["id"] for item in api.get("hook-events").json()["items"]] == [kept]
    assert api.get(f"hook-events/{gone}").status_code == 404
    assert HookEvent.objects.count() == 2
