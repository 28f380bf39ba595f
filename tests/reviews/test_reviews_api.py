import base64

import pytest

from contextdash import clock
from contextdash.diffhash import diff_hash
from reviews_app.models import Review
from sessions_app.models import HookEvent, Tombstone
from tests import factories
from tests.reviews.kit import HASH, log

pytestmark = pytest.mark.django_db

BODY = {
    "session_id": "26b81461c3ef4d6ead48f40ba4c5f49f",
    "target": "src/RetryBudget.cs:84",
    "severity": "High",
    "finding": "The dictionary is shared between requests without a lock.",
    "suggested_fix": "Use a concurrent collection.",
    "reviewer_agent": "code-reviewer",
    "diff_hash": HASH,
    "ts": "2026-07-06T09:31:12.7788990Z",
}


def test_a_row_of_the_older_system_is_taken_with_its_columns(api):
    answer = api.post("reviews", **BODY)
    assert answer.status_code == 201
    row = answer.json()
    for name in ("session_id", "target", "severity", "finding", "suggested_fix", "diff_hash"):
        assert row[name] == BODY[name]
    assert row["ts"] == "2026-07-06T09:31:12.778899Z"
    assert (row["resolution"], row["version"]) == ("open", 1)
    assert api.get(f"reviews/{row['id']}").json()["finding"] == BODY["finding"]


def test_a_repeated_key_logs_once(api):
    first = api.post("reviews", BODY, headers={"Idempotency-Key": "k1"})
    again = api.post("reviews", BODY, headers={"Idempotency-Key": "k1"})
    assert first.json()["id"] == again.json()["id"]
    assert Review.objects.count() == 1
    assert (
        api.post("reviews", BODY | {"severity": "Low"}, headers={"Idempotency-Key": "k1"}).status_code == 409
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"finding": ""}, "finding"),
        ({"severity": None}, "severity"),
        ({"ts": "yesterday"}, "ts"),
        ({"project": "nowhere"}, "project"),
        ({"target": "x" * 4097}, "target"),
        ({"severity": "x" * 201}, "severity"),
    ],
)
def test_what_is_not_acceptable_is_named(api, change, field):
    answer = api.post("reviews", BODY | change)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert not Review.objects.exists()


def test_a_very_long_target_is_stored_on_either_database(api):
    target = "/".join(f"{n:x}" for n in range(1200))[:4000] + "ü" * 90
    assert api.post("reviews", BODY | {"target": target}).status_code == 201
    assert api.get("reviews", target=target[:500]).json()["items"][0]["target"] == target


def test_lists_filter_and_page_newest_first(api):
    project = factories.project()
    session = factories.session("s1", project=project)
    rows = [log(finding=f"{n}", session=session, severity="Low" if n % 2 else "crit") for n in range(5)]
    log(target="other/b.py", reviewer_agent="tester", diff_hash=HASH)
    first = api.get("reviews", session="s1", limit=3).json()
    assert [item["id"] for item in first["items"]] == [row.pk for row in rows[:1:-1]]
    rest = api.get("reviews", session="s1", limit=3, cursor=first["next"]).json()
    assert [item["id"] for item in rest["items"]] == [rows[1].pk, rows[0].pk]
    assert rest["next"] is None
    assert len(api.get("reviews", project=project.slug).json()["items"]) == 5
    assert len(api.get("reviews", severity="critical").json()["items"]) == 3
    assert len(api.get("reviews", target="other").json()["items"]) == 1
    assert len(api.get("reviews", agent="tester").json()["items"]) == 1
    assert len(api.get("reviews", diff_hash="sha256-" + HASH).json()["items"]) == 1
    assert len(api.get("reviews", state="open").json()["items"]) == 6
    assert api.get("reviews", state="gone").status_code == 422
    assert api.get("reviews", severity="gone").status_code == 422
    assert api.get("reviews", cursor="9" * 40).status_code == 422


def test_a_patch_resolves_with_a_reason_and_the_version_that_was_seen(api):
    review = log()
    path = f"reviews/{review.pk}"
    assert api.patch(path, resolution="resolved").json()["field"] == "reason"
    assert (
        api.patch(path, resolution="resolved", reason="Done", headers={"If-Match": '"7"'}).status_code == 412
    )
    done = api.patch(path, resolution="resolved", reason="Done", headers={"If-Match": '"1"'})
    assert (done.json()["resolution"], done.json()["version"]) == ("resolved", 2)
    assert api.patch(path, resolution="dismissed", reason="x").status_code == 409
    history = api.get(path).json()["history"]
    assert [(line["field"], line["new"], line["reason"], line["by"]) for line in history] == [
        ("resolution", "resolved", "Done", "token for write")
    ]


def test_many_are_closed_by_one_call(api):
    first, second = log(), log()
    answer = api.post("reviews/bulk", ids=[first.pk, second.pk, 999], resolution="dismissed", reason="Noise")
    assert [item["resolution"] for item in answer.json()["items"]] == ["dismissed", "dismissed"]
    assert answer.json()["refused"] == [
        {"id": 999, "error": "not_found", "detail": "There is no finding R-999."}
    ]


def test_fresh_answers_as_the_older_helper_did(api):
    assert api.get("reviews/fresh", diff_hash=HASH).json() == {"fresh": False, "review": None}
    log(diff_hash=HASH, severity="Critical")
    assert api.get("reviews/fresh", diff_hash=HASH, window="1m").json()["fresh"] is True
    assert api.get("reviews/fresh", diff_hash=HASH, window="31d").status_code == 422


def test_the_gate_takes_a_hash_a_diff_or_its_bytes(api):
    raw = b"diff --git a/x.py b/x.py\n+++ b/x.py\n+caf\xe9\n"
    assert api.post("reviews/gate", diff_hash=HASH).json()["answer"] == "unknown"
    log(diff_hash=diff_hash(raw), severity="Low")
    encoded = base64.b64encode(raw).decode()
    answer = api.post("reviews/gate", diff_base64=encoded, session_id="s1").json()
    assert (answer["answer"], answer["passes"], len(answer["reviews"])) == ("fresh", True, 1)
    assert api.post("reviews/gate", diff="").json()["answer"] == "skipped"
    assert HookEvent.objects.count() == 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"diff_hash": HASH, "diff": ""},
        {"diff_base64": "***"},
        {"diff_hash": "x"},
        {"diff_hash": HASH, "window": "x"},
    ],
)
def test_a_question_that_makes_no_sense_is_refused_and_not_recorded(api, body):
    assert api.post("reviews/gate", body).status_code == 422
    assert not HookEvent.objects.exists()


@pytest.mark.parametrize("scope", ["ingest", "read"])
def test_what_a_token_may_not_do_is_refused(make_api, scope):
    review = log()
    weak = make_api(scope)
    assert weak.post("reviews", **BODY).status_code == 403
    assert weak.patch(f"reviews/{review.pk}", resolution="resolved", reason="x").status_code == 403
    assert weak.post("reviews/bulk", ids=[review.pk], resolution="resolved", reason="x").status_code == 403
    assert weak.post("reviews/gate", diff_hash=HASH).status_code == 403
    assert weak.get("reviews").status_code == (200 if scope == "read" else 403)
    assert weak.get("reviews/fresh", diff_hash=HASH).status_code == (200 if scope == "read" else 403)


@pytest.mark.parametrize("pk", [0, 999, 2**63, 10**30])
def test_a_finding_that_is_not_there_is_not_found(api, pk):
    assert api.get(f"reviews/{pk}").status_code == 404
    assert api.patch(f"reviews/{pk}", severity="Low").status_code == 404


def test_a_deleted_session_takes_no_finding(api):
    Tombstone.objects.create(session_id="gone", deleted_at=clock.now())
    assert api.post("reviews", BODY | {"session_id": "gone"}).status_code == 409
