import pytest

from contextdash.models import Change
from sessions_app.models import Plan, Session
from tests import factories

pytestmark = pytest.mark.django_db

PLAN = {"session_id": "s1", "path": ".claude/plans/a.plan.md", "body_md": "# Retry budget\n\n- [x] one\n"}


def test_a_snapshot_makes_the_session_and_answers_with_the_seeds_columns(api):
    answer = api.post("plans", PLAN)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert made["title"] == "Retry budget"
    assert made["status"] == "proposed"
    assert made["created_by"] == "orchestrator"
    assert made["ts"].endswith("Z")
    assert Session.objects.get(id="s1").plan_count == 1


def test_the_same_snapshot_again_is_the_same_plan(api):
    assert api.post("plans", PLAN).json()["id"] == api.post("plans", PLAN).json()["id"]


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"body_md": ""}, 422, "body_md"),
        ({"body_md": "x" * (8 * 1024 * 1024 + 1)}, 422, "body_md"),
        ({"path": " "}, 422, "path"),
        ({"session_id": ""}, 422, "session_id"),
        ({"project": "nowhere"}, 422, "project"),
        ({"ts": "next Tuesday"}, 422, "ts"),
        ({"title": 5}, 422, "title"),
    ],
)
def test_a_bad_value_is_refused_by_name_and_stores_nothing(api, change, status, field):
    answer = api.post("plans", PLAN | change)
    assert answer.status_code == status
    assert answer.json()["field"] == field
    assert not Plan.objects.exists()
    assert not Session.objects.exists()


def test_a_plan_for_a_deleted_session_is_refused(api):
    from contextdash import clock

    factories.session("s1", deleted_at=clock.now())
    answer = api.post("plans", PLAN)
    assert (answer.status_code, answer.json()["error"]) == (409, "deleted_session")


def test_a_list_is_filtered_and_pages_from_the_newest(api):
    for n in range(5):
        api.post("plans", PLAN | {"body_md": f"# Version {n}"})
    api.post("plans", PLAN | {"path": "other.md", "status": "done", "created_by": "tester"})
    assert [row["path"] for row in api.get("plans", status="done").json()["items"]] == ["other.md"]
    assert len(api.get("plans", agent="tester").json()["items"]) == 1
    first = api.get("plans?path=.claude/plans/a.plan.md&limit=3").json()
    rest = api.get(f"plans?path=.claude/plans/a.plan.md&limit=3&cursor={first['next']}").json()
    assert [row["number"] for row in first["items"] + rest["items"]] == [5, 4, 3, 2, 1]
    assert rest["next"] is None
    assert [row["newest"] for row in first["items"]] == [True, False, False]


def test_a_list_cuts_a_long_text_and_one_plan_does_not(api):
    made = api.post("plans", PLAN | {"body_md": "x" * 20_000}).json()
    listed = api.get("plans").json()["items"][0]["body_md"]
    assert (len(listed), listed[-1]) == (10_000, "…")
    assert len(api.get(f"plans/{made['id']}").json()["body_md"]) == 20_000


def test_a_change_has_its_reason_in_the_history(api):
    made = api.post("plans", PLAN).json()
    answer = api.patch(f"plans/{made['id']}", status="approved", reason="Reviewed on Monday")
    assert (answer.json()["status"], answer.json()["version"]) == ("approved", 2)
    change = Change.objects.get(noun="plans")
    assert (change.old, change.new, change.reason) == ("proposed", "approved", "Reviewed on Monday")
    assert change.token is not None


def test_a_change_of_an_old_version_is_refused(api):
    made = api.post("plans", PLAN).json()
    api.patch(f"plans/{made['id']}", status="approved")
    answer = api.patch(f"plans/{made['id']}", {"If-Match": '"1"'}, status="done")
    assert (answer.status_code, answer.json()["error"]) == (412, "stale")


def test_an_idempotency_key_makes_one_plan(api):
    key = {"Idempotency-Key": "k1"}
    one = api.post("plans", PLAN, headers=key).json()
    api.post("plans", PLAN | {"body_md": "# Between"})
    assert api.post("plans", PLAN, headers=key).json()["id"] == one["id"]
    assert api.post("plans", PLAN | {"path": "b.md"}, headers=key).status_code == 409


def test_a_reading_token_writes_nothing_and_a_delivering_one_reads_nothing(make_api):
    assert make_api("read").post("plans", PLAN).status_code == 403
    assert make_api("ingest").get("plans").status_code == 403


@pytest.mark.parametrize("plan_id", ["0", "999", "99999999999999999999999"])
def test_an_unknown_plan_is_not_found(api, plan_id):
    assert api.get(f"plans/{plan_id}").status_code == 404
    assert api.patch(f"plans/{plan_id}", status="done").status_code == 404
