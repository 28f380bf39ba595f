"""What is told of a session: labels, archive, identity, deletion, each against the version that was seen."""

import unicodedata
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextdash.errors import Invalid
from contextdash.models import Change
from sessions_app.models import Session, SessionLabel, Tombstone
from sessions_app.services.labels import checked_labels
from tests import factories
from tests.ledger.telling import Teller, append, run

pytestmark = pytest.mark.django_db


def patch(api: Any, version: int, **told: Any) -> Any:
    return api.patch("sessions/S1", headers={"If-Match": str(version)}, **told)


def error(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


# Labels


def test_labels_are_replaced_whole_and_keep_their_order(api):
    factories.session("S1")
    assert patch(api, 1, labels=["storage", "bug", "storage"]).json()["labels"] == ["storage", "bug"]
    assert api.get("sessions/S1").json()["metadata_version"] == 2
    same = patch(api, 2, labels=["storage", "bug"]).json()
    assert same["metadata_version"] == 2, "nothing was changed"
    turned = patch(api, 2, labels=["bug", "storage"], title="Both at once", reason="tidier").json()
    assert (turned["labels"], turned["metadata_version"]) == (["bug", "storage"], 3)
    line = Change.objects.filter(noun="sessions", field="labels").order_by("-id")[0]
    assert (line.old, line.new, line.reason) == ('["storage", "bug"]', '["bug", "storage"]', "tidier")
    assert patch(api, 3, labels=[]).json()["labels"] == []
    assert not SessionLabel.objects.exists()


def test_labels_need_the_version_that_was_seen(api):
    factories.session("S1")
    assert error(api.patch("sessions/S1", labels=["bug"])) == (412, "if_match_required")
    patch(api, 1, labels=["bug"])
    assert error(patch(api, 1, labels=["idea"])) == (412, "stale")
    assert api.get("sessions/S1").json()["labels"] == ["bug"]


@pytest.mark.parametrize(
    ("labels", "limit"),
    [
        ([f"label {number}" for number in range(33)], "LABELS"),
        (["é" * 65], "LABEL_BYTES"),
        (["bug", " "], "empty"),
    ],
)
def test_a_list_that_is_none_is_refused_by_its_limit(api, labels, limit):
    factories.session("S1")
    answer = patch(api, 1, labels=labels)
    assert (answer.status_code, answer.json()["field"]) == (422, "labels")
    assert limit in answer.json()["detail"]
    assert not SessionLabel.objects.exists()


def test_a_label_moves_no_terminal_and_reorders_no_text():
    assert checked_labels(["\x1b[31mred\x1b[0m", "a\u202eb"]) == ["red", "a[U+202E]b"]


@given(st.lists(st.text(max_size=40), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_stored_is_what_a_second_check_leaves_alone(labels):
    try:
        made = checked_labels(labels)
    except Invalid:
        return
    assert checked_labels(made) == made
    assert len(set(made)) == len(made) <= 32
    assert all(unicodedata.is_normalized("NFC", one) and len(one.encode()) <= 128 for one in made)


def test_the_list_is_narrowed_by_all_labels_that_are_asked_for(api, django_assert_max_num_queries):
    for number, labels in enumerate((["bug"], ["bug", "storage"], ["storage"], ["Bug"])):
        factories.session(f"S{number}")
        api.patch(f"sessions/S{number}", headers={"If-Match": "1"}, labels=labels)

    def ids(**query: Any) -> list[str]:
        return sorted(row["id"] for row in api.get("sessions", **query).json()["items"])

    with django_assert_max_num_queries(5):
        assert ids(label="bug") == ["S0", "S1"]
    assert ids(label=["bug", "storage"]) == ["S1"]
    assert ids(label="nothing") == []
    assert {row["id"]: row["labels"] for row in api.get("sessions").json()["items"]}["S1"] == [
        "bug",
        "storage",
    ]


# Archive


def seen(*pairs: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"id": session_id, "metadata_version": version} for session_id, version in pairs]


def test_sessions_are_archived_together_or_not_at_all(api):
    for number in (1, 2, 3):
        factories.session(f"S{number}")
    patch(api, 1, title="Changed")
    stale = api.post("sessions/archive", sessions=seen(("S2", 1), ("S1", 1)), reason="old")
    assert error(stale) == (412, "stale")
    assert "S1" in stale.json()["detail"]
    assert not Session.objects.exclude(archived_at=None).exists()
    done = api.post("sessions/archive", sessions=seen(("S2", 1), ("S1", 2)), reason="old").json()["items"]
    assert all(row["archived_at"] for row in done)
    # What is there already is left alone, whatever version is told of it.
    again = api.post("sessions/archive", sessions=seen(("S2", 1), ("S3", 1))).json()["items"]
    assert [row["metadata_version"] for row in again] == [2, 2]
    assert Session.objects.exclude(archived_at=None).count() == 3
    out = api.post("sessions/archive", sessions=seen(("S2", 2)), archived=False).json()["items"]
    assert out[0]["archived_at"] is None
    assert api.post("sessions/archive", sessions=seen(("nobody", 1))).status_code == 404
    assert api.post("sessions/archive", sessions=[]).status_code == 422


# Identity


def test_a_stable_session_is_found_only_by_the_request_that_made_it(api):
    told = {"session_id": "S1", "request_fingerprint": "sha256:1"}
    assert api.post("sessions/ensure", told).status_code == 201
    assert api.post("sessions/ensure", told).status_code == 200
    other = api.post("sessions/ensure", {**told, "request_fingerprint": "sha256:2"})
    assert error(other) == (409, "identity_mismatch")
    # Who names no request finds it as ever; a session made so belongs to none.
    assert api.post("sessions/ensure", session_id="S1").status_code == 200
    api.post("sessions/ensure", session_id="S2")
    plain = api.post("sessions/ensure", {**told, "session_id": "S2"})
    assert error(plain) == (409, "identity_mismatch")
    delete(api, "S1", reason="a test run")
    assert error(api.post("sessions/ensure", told)) == (409, "deleted_session")


# Deletion


def delete(api: Any, session_id: str, version: int | None = None, **query: str) -> Any:
    headers = {**api.headers, **({} if version is None else {"If-Match": str(version)})}
    return api.client.delete(f"/api/v1/sessions/{session_id}?{urlencode(query)}", headers=headers)


def test_deleting_compares_the_version_where_one_is_told(api):
    factories.session("S1")
    patch(api, 1, title="Changed")
    assert error(delete(api, "S1", version=1, reason="old")) == (412, "stale")
    assert delete(api, "S1", version=2, reason="old").status_code == 204


def test_sessions_are_deleted_together_or_not_at_all_and_a_repeat_is_fine(api):
    for number in (1, 2):
        factories.session(f"S{number}")
    child = factories.session("child", parent=Session.objects.get(id="S1"))
    assert error(api.post("sessions/delete", sessions=seen(("S1", 1), ("S2", 9)), reason="old")) == (
        *(412, "stale"),
    )
    assert not Tombstone.objects.exists()
    both = {"sessions": seen(("S1", 1), ("child", 1), ("S2", 1)), "reason": "old"}
    assert api.post("sessions/delete", {**both, "reason": ""}).status_code == 422
    assert api.post("sessions/delete", both).status_code == 204
    first = Tombstone.objects.get(session_id="S1").deleted_at
    assert api.post("sessions/delete", both).status_code == 204
    assert Tombstone.objects.get(session_id="S1").deleted_at == first
    assert Tombstone.objects.count() == 3
    child.refresh_from_db()
    assert child.deleted_at is not None, "subagents go with their session"


def test_runs_and_events_of_a_deleted_session_stay_readable_for_who_answers_for_them(api, make_api, owner):
    of = run("S1", run_id="run-1")
    append(of, Teller(of).said("said", "Still here."), Teller(of).end())
    delete(api, "S1", reason="a test run")
    admin = make_api("admin", owner)
    told = admin.get("sessions/S1").json()
    assert told["deleted_at"] is not None
    events = admin.get("sessions/S1/events").json()["items"]
    assert [one["seq"] for one in events] == [1, 2]
    assert admin.get(f"sessions/S1/events/{events[0]['ordinal']}").status_code == 200
    for path in ("events", "replay", "prefix"):
        assert admin.get(f"runs/{of.key}/{path}").status_code == 200, path
    assert admin.get(f"runs/{of.key}").json()["status"] == "completed"
    (turn,) = admin.get("turns", session="S1").json()["items"]
    assert admin.get(f"turns/{turn['id']}").json()["runs"][0]["status"] == "completed"
    assert admin.get("sessions/S1/tool-calls").json()["items"] == []
    assert admin.get("sessions").json()["items"] == []
    # By its whole id alone, and by nobody else.
    assert admin.get("sessions/latest").status_code == 404
    for caller in (api, make_api("read"), make_api("admin")):
        for path in ("sessions/S1", "sessions/S1/events", "turns?session=S1", f"turns/{turn['id']}"):
            assert caller.get(path).status_code == 404, path
        assert caller.get(f"runs/{of.key}/replay").status_code == 404
