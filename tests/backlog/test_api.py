import pytest

from backlog_app.models import BacklogItem
from contextdash.models import Change
from sessions_app.models import Session
from tests import factories
from tests.backlog.factory import column, story
from tests.conftest import Api

pytestmark = pytest.mark.django_db


def test_a_story_is_written_with_the_old_column_names_and_its_session_is_made(api: Api) -> None:
    answer = api.post(
        "backlog",
        session_id="26b81461c3ef4d6ead48f40ba4c5f49f",
        story="The diagnostic names both handlers",
        acceptance_criteria="- GIVEN two handlers\n- THEN both are named",
        assigned_agent="backend-developer",
        priority=2,
    )
    assert answer.status_code == 201
    body = answer.json()
    assert body["session_id"] == "26b81461c3ef4d6ead48f40ba4c5f49f"
    assert (body["status"], body["priority"], body["index"], body["criteria_total"]) == ("todo", 2, 1, 2)
    assert body["ts"].endswith("Z")
    assert Session.objects.get(id=body["session_id"]).story_count == 1


@pytest.mark.parametrize(
    ("sent", "ordered", "kept"),
    [
        (9, 5, "9"),
        (-3, 1, "-3"),
        ("urgent", 3, "urgent"),
        ("P1", 1, None),
        (10**30, 5, str(10**30)),
        (2.5, 3, "2.5"),
    ],
)
def test_a_priority_out_of_range_is_kept_and_clamped_for_ordering(
    api: Api, sent: object, ordered: int, kept: str | None
) -> None:
    body = api.post("backlog", story="s", priority=sent).json()
    assert (body["priority"], body["priority_sent"]) == (ordered, kept)


def test_an_unknown_status_is_kept_as_sent_and_shown_as_other(api: Api) -> None:
    body = api.post("backlog", story="s", status="Waiting for Godot").json()
    assert (body["status"], body["column"]) == ("Waiting for Godot", "other")
    assert api.post("backlog", story="s", status="In Progress").json()["status"] == "in_progress"
    assert [row["id"] for row in api.get("backlog", status="other").json()["items"]] == [body["id"]]


@pytest.mark.parametrize(
    "body",
    [
        {"story": ""},
        {"story": "s", "estimate": -1},
        {"story": "s", "sprint_id": 99},
        {"story": "s", "project": "nope"},
        {"story": "s", "epic_id": 10**30},
        {"story": "s", "labels": ["x" * 61]},
        {"story": "s", "unknown": 1},
        {"story": "s", "session_id": " "},
        {"story": "s", "ts": "soon"},
        {"story": "s", "status": "x" * 201},
    ],
)
def test_bad_input_is_refused_with_422(api: Api, body: dict[str, object]) -> None:
    answer = api.post("backlog", body)
    assert answer.status_code == 422, answer.content
    assert not BacklogItem.objects.exists()


def test_what_no_database_can_store_is_replaced(api: Api) -> None:
    body = api.post("backlog", {"story": "a\0b \ud83d", "acceptance_criteria": "- \0"}).json()
    assert body["story"] == "a\ufffdb \ufffd"


def test_a_deleted_session_is_a_conflict(api: Api) -> None:
    gone = factories.session("gone")
    gone.deleted_at = gone.started_at
    gone.save(update_fields=["deleted_at"])
    assert api.post("backlog", story="s", session_id="gone").status_code == 409


def test_a_retry_with_the_same_key_writes_one_story(api: Api) -> None:
    first = api.post("backlog", {"story": "s"}, headers={"Idempotency-Key": "k"})
    again = api.post("backlog", {"story": "s"}, headers={"Idempotency-Key": "k"})
    assert first.json()["id"] == again.json()["id"]
    assert BacklogItem.objects.count() == 1


def test_a_patch_compares_the_version_and_keeps_who_and_why(api: Api) -> None:
    card = story()
    changed = api.patch(f"backlog/{card.pk}", headers={"If-Match": '"1"'}, status="review", reason="ready")
    assert (changed.json()["status"], changed.json()["version"]) == ("review", 2)
    stale = api.patch(f"backlog/{card.pk}", headers={"If-Match": '"1"'}, story="other")
    assert stale.status_code == 412
    assert "version 2" in stale.json()["detail"]
    line = Change.objects.get(row_id=str(card.pk), field="status")
    assert (line.old, line.new, line.reason) == ("todo", "review", "ready")
    assert line.token is not None


def test_a_move_is_refused_when_stale_and_tells_the_state_now(api: Api) -> None:
    first, card = story(), story()
    moved = api.post(f"backlog/{card.pk}/move", before=first.pk, version=1)
    assert (moved.json()["index"], column()) == (1, [card.pk, first.pk])
    stale = api.post(f"backlog/{card.pk}/move", status="done", version=1)
    assert stale.status_code == 412
    assert stale.json()["error"] == "stale"
    assert "version 2, in To do" in stale.json()["detail"]
    assert api.post(f"backlog/{10**30}/move", status="done").status_code == 404


def test_a_list_of_the_board_is_in_order_without_gaps(api: Api) -> None:
    cards = [story() for _ in range(5)]
    api.client.delete(f"/api/v1/backlog/{cards[1].pk}", headers=api.headers)
    page = api.get("backlog", sort="board", status="todo", limit=3).json()
    rest = api.get("backlog", sort="board", status="todo", limit=3, cursor=page["next"]).json()
    rows = page["items"] + rest["items"]
    assert [row["index"] for row in rows] == [1, 2, 3, 4]
    assert [row["id"] for row in rows] == column()
    assert rest["next"] is None
    assert api.get("backlog", sort="board", cursor="nonsense").status_code == 422


def test_a_claim_takes_ones_own_first_then_by_priority_then_by_place(api: Api) -> None:
    story(priority=2)
    high = story(priority=1)
    own = story(priority=5, assigned_agent="tester")
    story(priority=1, assigned_agent="devops")
    got = [api.post("backlog/claim", agent="tester", session_id="s1").json() for _ in range(2)]
    assert [row["id"] for row in got] == [own.pk, high.pk]
    assert {(row["status"], row["assigned_agent"]) for row in got} == {("in_progress", "tester")}
    links = api.get(f"backlog/{own.pk}").json()["links"]
    assert [(link["kind"], link["ref"]) for link in links] == [("session", "s1")]


def test_a_claim_passes_over_what_is_not_ready_and_says_why(api: Api) -> None:
    story(acceptance_criteria="")
    waiting, blocker = story(), story(status="review")
    api.post(f"backlog/{waiting.pk}/dependencies", blocked_by=blocker.pk)
    none = api.post("backlog/claim", agent="tester")
    assert none.status_code == 404
    assert none.json()["error"] == "nothing_ready"
    assert "1 without acceptance criteria and 1 waiting" in none.json()["detail"]
    api.patch(f"backlog/{blocker.pk}", status="done")
    assert api.post("backlog/claim", agent="tester").json()["id"] == waiting.pk


def test_a_repeated_claim_with_the_same_key_gets_the_same_story(api: Api) -> None:
    story()
    story()
    first = api.post("backlog/claim", {"agent": "tester"}, headers={"Idempotency-Key": "k"}).json()
    assert (
        api.post("backlog/claim", {"agent": "tester"}, headers={"Idempotency-Key": "k"}).json()["id"]
        == first["id"]
    )


def test_criteria_comments_and_links_are_on_the_story(api: Api) -> None:
    card = story(acceptance_criteria="- one\n- two")
    first = api.get(f"backlog/{card.pk}").json()["criteria"][0]
    ticked = api.post(f"backlog/{card.pk}/criteria/{first['id']}", met=True, agent="tester").json()
    assert (ticked["met"], ticked["met_by"]) == (True, "tester")
    assert api.post(f"backlog/{card.pk}/comments", {"body": "seen", "agent": "tester"}).status_code == 201
    assert (
        api.post(f"backlog/{card.pk}/links", kind="diff", ref="sha256-" + "A" * 64).json()["ref"] == "a" * 64
    )
    assert api.post(f"backlog/{card.pk}/links", kind="diff", ref="nope").status_code == 422
    assert api.post(f"backlog/{card.pk}/links", kind="decision", ref="D-7").json()["ref"] == "7"
    assert api.post(f"backlog/{card.pk}/links", kind="wish", ref="7").status_code == 422
    body = api.get(f"backlog/{card.pk}").json()
    assert (body["criteria_met"], body["version"]) == (1, 1)
    assert [entry["what"] for entry in body["history"]] == [
        "Link decision 7",
        f"Link diff {'a' * 64}",
        "Criterion 1 met",
        "Written down in To do",
    ]
    for link in body["links"]:
        gone = api.client.delete(f"/api/v1/backlog/{card.pk}/links/{link['id']}", headers=api.headers)
        assert gone.status_code == 204


def test_a_circle_of_dependencies_or_epics_is_refused(api: Api) -> None:
    a, b, c = story(), story(), story()
    assert api.post(f"backlog/{a.pk}/dependencies", blocked_by=b.pk).status_code == 201
    assert api.post(f"backlog/{b.pk}/dependencies", blocked_by=c.pk).status_code == 201
    circle = api.post(f"backlog/{c.pk}/dependencies", blocked_by=a.pk)
    assert circle.status_code == 409
    assert f"story {a.pk} → {b.pk} waits for story {c.pk}" in circle.json()["detail"]
    assert api.post(f"backlog/{a.pk}/dependencies", blocked_by=a.pk).status_code == 409
    assert api.patch(f"backlog/{a.pk}", epic_id=b.pk).status_code == 200
    assert api.patch(f"backlog/{b.pk}", epic_id=a.pk).status_code == 409


def test_sprints_are_planned_started_and_closed(api: Api) -> None:
    first = api.post("sprints", name="Sprint 1", goal="Safe refunds").json()
    then = api.post("sprints", name="Sprint 2").json()
    done, open_ = story(sprint_id=first["id"]), story(sprint_id=first["id"])
    assert api.post(f"sprints/{first['id']}/start", {}).json()["state"] == "active"
    assert api.post(f"sprints/{then['id']}/start", {}).status_code == 409
    api.patch(f"backlog/{done.pk}", status="done")
    closed = api.post(f"sprints/{first['id']}/close", move_to=then["id"], reason="time is up").json()
    assert (closed["state"], closed["carried"]) == ("closed", 1)
    assert api.get(f"backlog/{open_.pk}").json()["sprint_id"] == then["id"]
    assert api.get(f"backlog/{done.pk}").json()["sprint_id"] == first["id"]
    burned = api.get(f"sprints/{first['id']}").json()["burndown"]
    assert (burned["unit"], burned["start"]) == ("stories", 2)
    assert burned["days"][-1] | {"day": ""} == {"day": "", "scope": 2, "done": 1, "left": 1}
    assert api.patch(f"backlog/{open_.pk}", sprint_id=first["id"]).status_code == 409


def test_readers_change_nothing(make_api: object) -> None:
    card = story()
    reader = make_api("read")  # type: ignore[operator]
    assert reader.get(f"backlog/{card.pk}").status_code == 200
    assert reader.post(f"backlog/{card.pk}/move", status="done").status_code == 403
    assert reader.post("backlog/claim", agent="x").status_code == 403
    assert make_api("ingest").get("backlog").status_code == 403  # type: ignore[operator]
