"""Sessions through the API: ensured, closed, listed, found, changed, hidden, purged."""

from urllib.parse import urlencode

import pytest

from contextdash import clock
from contextdash.models import Change
from sessions_app.models import Event, Purge, Session, Tombstone, Workspace
from tests import factories
from tests.core.test_ledger_guard import make_event

pytestmark = pytest.mark.django_db


def test_ensuring_without_an_id_mints_one(api):
    answer = api.post("sessions/ensure", user_request="Fix the tests", branch="main")
    assert answer.status_code == 201
    made = answer.json()
    assert len(made["id"]) == 32
    assert made["title"] == "Fix the tests"
    assert made["owner"] == "mia"
    assert made["status"] == "active"


def test_ensuring_again_fills_what_was_empty_and_overwrites_nothing(api):
    api.post("sessions/ensure", session_id="S1", branch="main")
    answer = api.post("sessions/ensure", session_id="S1", branch="other", model="opus", agent_name="tester")
    assert answer.status_code == 200
    assert answer.json()["branch"] == "main"
    assert answer.json()["model"] == "opus"
    assert answer.json()["agent_name"] == "main"
    assert Session.objects.count() == 1


def test_a_session_gets_the_project_that_is_known_of_its_workspace(api):
    by_root = factories.project("moss", slug="moss", root="/src/moss")
    own = factories.project("fern", slug="fern")
    Workspace.objects.create(host="box", root="/src/moss", project=own, created_at=clock.now())

    def ensured(**told):
        return api.post("sessions/ensure", **told).json()["id"]

    of = {
        ensured(host="box", workspace="/src/moss"): own,
        ensured(host="other", workspace="/src/moss"): by_root,
        ensured(host="box", workspace="/src/moss", project="moss"): by_root,
        ensured(host="box", workspace="/elsewhere"): None,
        ensured(host="box"): None,
    }
    assert {row.pk: row.project for row in Session.objects.select_related("project")} == {
        Session.objects.get(id=name).pk: project for name, project in of.items()
    }


def test_ensuring_does_not_reopen_a_closed_session(api):
    api.post("sessions/ensure", session_id="S1")
    api.post("sessions/S1/close")
    answer = api.post("sessions/ensure", session_id="S1")
    assert answer.json()["status"] == "closed"
    assert answer.json()["ended_at"] is not None


def test_closing_twice_keeps_the_first_end(api):
    api.post("sessions/ensure", session_id="S1")
    first = api.post("sessions/S1/close").json()
    second = api.post("sessions/S1/close", status="errored", reason="it crashed").json()
    assert second["ended_at"] == first["ended_at"]
    assert second["status"] == "errored"
    assert second["activity"] == "ended"
    assert Change.objects.filter(noun="sessions", field="status").count() == 2


def test_an_id_that_cannot_be_kept_is_found_by_what_was_sent(api):
    made = api.post("sessions/ensure", session_id="a b\nc").json()
    assert made["id"].startswith("x")
    assert made["external_id"] == "a b\nc"
    again = api.post("sessions/ensure", session_id="a b\nc")
    assert again.status_code == 200


def test_ensuring_names_a_project_by_its_slug(api):
    factories.project("Ledgerline")
    assert (
        api.post("sessions/ensure", session_id="S1", project="ledgerline").json()["project"] == "ledgerline"
    )
    assert api.post("sessions/ensure", session_id="S2", project="nowhere").status_code == 422


def test_latest_and_unique_beginnings_resolve(api):
    factories.session("abcd-1", at_us=1)
    newest = factories.session("abce-2")
    assert api.get("sessions/latest").json()["id"] == newest.id
    assert api.get("sessions/abcd").json()["id"] == "abcd-1"
    assert api.get("sessions/abcd-1").json()["id"] == "abcd-1"
    assert api.get("sessions/abc").status_code == 404
    factories.session("abcd-3")
    ambiguous = api.get("sessions/abcd")
    assert ambiguous.status_code == 409
    assert ambiguous.json()["error"] == "ambiguous"


def test_latest_of_nothing_is_not_found(api):
    assert api.get("sessions/latest").status_code == 404


@pytest.mark.parametrize("odd", ["ab%d", "ab_d", "abc'", "zzzz", "abcd\\", "é" * 5])
def test_odd_beginnings_find_nothing_and_break_nothing(api, odd):
    factories.session("abcd-1")
    assert api.get(f"sessions/{odd}").status_code == 404


def test_the_list_is_filtered_and_paged(api, member, django_assert_max_num_queries):
    project = factories.project("Ledgerline")
    now = clock.now_us()
    for number in range(5):
        factories.session(f"S{number}", at_us=now - number, client="codex", project=project, owner=member)
    factories.session("other", client="gemini", at_us=now + 10, branch="fix/login", activity="working")
    with django_assert_max_num_queries(7):
        first = api.get("sessions", client="codex", project="ledgerline", owner="mia", limit=3).json()
    assert [row["id"] for row in first["items"]] == ["S0", "S1", "S2"]
    second = api.get("sessions", client="codex", limit=3, cursor=first["next"]).json()
    assert [row["id"] for row in second["items"]] == ["S3", "S4"]
    assert second["next"] is None
    for name, value in {"branch": "login", "activity": "working", "q": "othe", "agent": "main"}.items():
        assert "other" in [row["id"] for row in api.get("sessions", **{name: value}).json()["items"]]
    assert api.get("sessions", status="closed").json()["items"] == []
    assert api.get("sessions", owner="nobody").status_code == 404


def test_the_list_cuts_long_requests_and_one_session_does_not(api):
    api.post("sessions/ensure", session_id="S1", user_request="y" * 5000)
    assert len(api.get("sessions").json()["items"][0]["user_request"]) == 2000
    assert api.get("sessions").json()["items"][0]["user_request"].endswith("…")
    assert len(api.get("sessions/S1").json()["user_request"]) == 5000


def test_a_patch_needs_the_version_that_was_read(api):
    made = api.post("sessions/ensure", session_id="S1").json()
    missing = api.patch("sessions/S1", title="New")
    assert missing.status_code == 412
    assert missing.json()["error"] == "if_match_required"
    version = str(made["metadata_version"])
    good = api.patch("sessions/S1", headers={"If-Match": version}, title="New", reason="clearer")
    assert good.json()["title"] == "New"
    stale = api.patch("sessions/S1", headers={"If-Match": version}, title="Newer")
    assert stale.status_code == 412
    assert "version 2" in stale.json()["detail"]
    assert Change.objects.get(field="title").reason == "clearer"


def test_a_patch_sets_project_pin_and_archive(api):
    factories.project("Ledgerline")
    api.post("sessions/ensure", session_id="S1")
    changed = api.patch(
        "sessions/S1", headers={"If-Match": "1"}, project="ledgerline", pinned=True, archived=True
    ).json()
    assert (changed["project"], changed["pinned"]) == ("ledgerline", True)
    assert changed["archived_at"] is not None
    back = api.patch("sessions/S1", headers={"If-Match": '"2"'}, project=None, archived=False).json()
    assert (back["project"], back["archived_at"]) == (None, None)


def test_a_misspelt_field_is_refused(api):
    api.post("sessions/ensure", session_id="S1")
    answer = api.patch("sessions/S1", headers={"If-Match": "1"}, tilte="New")
    assert answer.status_code == 422
    assert answer.json()["field"] == "tilte"


def test_deleting_hides_and_the_id_is_refused_from_then_on(api):
    api.post("decisions", session_id="S1", topic="db", choice="sqlite")
    assert delete(api, "sessions/S1", reason="").status_code == 422
    assert delete(api, "sessions/S1", reason="a test run").status_code == 204
    assert api.get("sessions/S1").status_code == 404
    assert api.get("sessions").json()["items"] == []
    assert Tombstone.objects.get().reason == "a test run"
    refused = api.post("messages", session_id="S1", agent_name="a", role="response", content="x")
    assert refused.status_code == 409
    assert refused.json()["error"] == "deleted_session"
    assert len(api.get("decisions").json()["items"]) == 1


def test_purging_erases_events_and_says_who_and_why(make_api, owner):
    admin = make_api("admin", owner)
    session = factories.session("S1")
    for number in range(1, 4):
        make_event(session, number)
    make_event(factories.session("S2"), 9)
    answer = admin.post("sessions/S1/purge", reason="a customer asked")
    assert answer.json()["events_deleted"] == 3
    assert answer.json()["finished_at"] is not None
    purge = Purge.objects.get()
    assert (purge.user, purge.reason) == (owner, "a customer asked")
    assert Event.objects.count() == 1
    assert Session.objects.filter(id="S1").exists()


def test_a_deleted_session_can_be_purged(make_api, owner):
    admin = make_api("admin", owner)
    make_event(factories.session("S1"), 1)
    delete(admin, "sessions/S1", reason="gone")
    assert admin.post("sessions/S1/purge", reason="bytes too").json()["events_deleted"] == 1


def test_purging_is_for_owners_with_scope_admin(api, make_api, member):
    factories.session("S1")
    assert api.post("sessions/S1/purge", reason="x").status_code == 403
    assert make_api("admin", member).post("sessions/S1/purge", reason="x").status_code == 403


def delete(api, path: str, **query):
    return api.client.delete(f"/api/v1/{path}?{urlencode(query)}", headers=api.headers)
