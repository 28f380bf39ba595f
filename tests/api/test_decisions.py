import pytest

from contextdash.models import Change
from sessions_app.models import Decision, Session

pytestmark = pytest.mark.django_db

DECISION = {
    "topic": "retry-policy",
    "choice": "Retry for 72 hours",
    "rationale": "Banks recover in two days.",
}


def test_a_decision_without_a_session_is_accepted(api):
    made = api.post("decisions", DECISION).json()
    assert made["session_id"] is None
    assert made["status"] == "stands"
    assert made["agent_name"] == "orchestrator"


def test_a_decision_of_an_unknown_session_makes_it_as_that_id(api):
    api.post("decisions", DECISION | {"session_id": "brand-new", "ts": "2026-07-06T08:52:31.1204567Z"})
    assert Session.objects.get(id="brand-new").decision_count == 1
    assert api.get("decisions", session="brand-new").json()["items"][0]["ts"] == "2026-07-06T08:52:31.120456Z"


def test_what_stands_on_the_same_topic_is_offered_as_a_possible_conflict(api):
    first = api.post("decisions", DECISION).json()
    api.post("decisions", DECISION | {"topic": "other"})
    second = api.post("decisions", DECISION | {"choice": "Stop after 24 hours"}).json()
    assert (first["possible_conflicts"], second["possible_conflicts"]) == ([], [first["id"]])


def test_a_decision_can_take_the_place_of_an_earlier_one(api):
    first = api.post("decisions", DECISION).json()
    second = api.post("decisions", DECISION | {"supersedes": first["id"]}).json()
    earlier = api.get(f"decisions/{first['id']}").json()
    assert (earlier["status"], earlier["superseded_by"]) == ("superseded", second["id"])
    assert set(Change.objects.filter(noun="decisions").values_list("field", "new")) == {
        ("status", "superseded"),
        ("superseded_by", str(second["id"])),
    }
    again = api.post("decisions", DECISION | {"supersedes": first["id"]})
    assert again.status_code == 409
    assert Decision.objects.count() == 2


@pytest.mark.parametrize("supersedes", [0, -1, 12345, 2**80])
def test_superseding_what_is_not_there_is_refused_by_name(api, supersedes):
    answer = api.post("decisions", DECISION | {"supersedes": supersedes})
    assert answer.status_code == 422
    assert not Decision.objects.exists()


def test_a_decision_never_supersedes_itself_or_its_successor(api):
    first = api.post("decisions", DECISION).json()
    second = api.post("decisions", DECISION | {"supersedes": first["id"]}).json()
    for later in (second["id"], first["id"]):
        answer = api.patch(f"decisions/{second['id']}", superseded_by=later)
        assert (answer.status_code, answer.json()["field"]) == (422, "superseded_by")


def test_standing_again_forgets_the_successor(api):
    first = api.post("decisions", DECISION).json()
    api.post("decisions", DECISION | {"supersedes": first["id"]})
    again = api.patch(f"decisions/{first['id']}", status="stands", reason="It was right").json()
    assert (again["status"], again["superseded_by"]) == ("stands", None)


def test_an_unknown_status_is_kept_and_a_topic_cannot_be_emptied(api):
    made = api.post("decisions", DECISION | {"status": "Tentative"}).json()
    assert made["status"] == "Tentative"
    assert api.patch(f"decisions/{made['id']}", topic="").json()["field"] == "topic"


def test_the_log_is_filtered_by_topic_agent_and_status(api):
    api.post("decisions", DECISION)
    api.post("decisions", DECISION | {"topic": "mode", "agent_name": "devops", "status": "conflict"})
    for query in ({"topic": "mode"}, {"agent": "devops"}, {"status": "conflict"}):
        assert [row["topic"] for row in api.get("decisions", **query).json()["items"]] == ["mode"]


def test_a_viewer_changes_nothing(make_api, viewer):
    assert make_api("write", viewer).post("decisions", DECISION).status_code == 403


@pytest.mark.parametrize("decision_id", ["0", "77", "99999999999999999999999"])
def test_an_unknown_decision_is_not_found(api, decision_id):
    assert api.get(f"decisions/{decision_id}").status_code == 404


def test_hostile_text_is_kept_readable(api):
    made = api.post(
        "decisions", topic="a\0b", choice="<script>alert(1)</script> \ud83d", rationale="\x1b[31mred"
    )
    assert made.status_code == 201, made.content
    assert made.json()["topic"] == "a\ufffdb"
    assert made.json()["choice"] == "<script>alert(1)</script> \ufffd"
