from datetime import timedelta

import pytest

from contextdash import clock
from contextdash.actor import SYSTEM, Actor
from contextdash.errors import Conflict, Invalid
from contextdash.models import Change
from sessions_app.models import Decision, Session
from sessions_app.queries import decisions as queries
from sessions_app.services import decisions as services
from tests import factories

FRAGMENT = {"HX-Request": "true"}
"""Without the frame around every page, whose queries are counted elsewhere."""

pytestmark = pytest.mark.django_db

HOSTILE = '<img src="x" onerror="alert(1)"><script>alert(1)</script> [x](javascript:alert(1)) \x1b[31mRED'


def decide(topic="retry-policy", choice="Retry for 72 hours", **values):
    return services.log_decision(topic=topic, choice=choice, actor=SYSTEM, **values)


def test_a_time_in_the_future_is_now_so_that_it_pins_no_list():
    decision = decide(at=clock.now() + timedelta(days=30_000))
    assert decision.ts <= clock.now()


def test_a_decision_of_a_deleted_session_is_refused():
    factories.session("gone", deleted_at=clock.now())
    with pytest.raises(Conflict):
        decide(session="gone")


def test_a_session_gives_its_project_unless_another_is_named():
    alpha, beta = factories.project("Alpha"), factories.project("Beta")
    session = factories.session(project=alpha)
    assert decide(session=session).project_id == alpha.pk
    assert decide(session=session, project=beta).project_id == beta.pk


def test_the_log_follows_what_was_superseded_step_by_step():
    first = decide()
    second = decide(supersedes=first.pk)
    third = decide(supersedes=second.pk)
    assert {pk: [row.pk for row in rows] for pk, rows in queries.chains([third, second, first]).items()} == {
        third.pk: [second.pk, first.pk],
        second.pk: [first.pk],
    }


def test_keeping_one_of_a_conflict_supersedes_the_others(member):
    mine, other = decide(), decide(choice="Stop after 24 hours")
    services.mark_conflict(decisions=[mine, other], actor=Actor(user=member), reason="Both are in force")
    [found] = queries.contradictions(None)
    assert [row.pk for row in found.decisions] == [other.pk, mine.pk]
    services.settle_conflict(
        decisions=[mine, other], keep=mine, actor=Actor(user=member), reason="Support calls cost more"
    )
    assert Decision.objects.get(pk=mine.pk).status == "stands"
    other.refresh_from_db()
    assert (other.status, other.superseded_by_id) == ("superseded", mine.pk)
    assert Change.objects.filter(reason="Support calls cost more").count() == 3
    assert queries.contradictions(None) == []


def test_a_conflict_is_not_settled_without_a_reason():
    with pytest.raises(Invalid):
        services.settle_conflict(decisions=[decide()], keep=None, actor=SYSTEM, reason=" ")


def test_a_lone_conflict_is_shown_beside_what_stands_on_its_topic():
    standing, lone = decide(), decide()
    decide(topic="other")
    services.change_decision(decision=lone, values={"status": "conflict"}, actor=SYSTEM)
    [found] = queries.contradictions(None)
    assert [row.pk for row in found.decisions] == [lone.pk, standing.pk]


def test_topics_are_counted_and_those_in_conflict_marked():
    decide(topic="mode")
    decide(topic="mode")
    decide(topic="dor", status="conflict")
    assert [(topic.name, topic.count, topic.conflict) for topic in queries.facets(None).topics] == [
        ("mode", 2, False),
        ("dor", 1, True),
    ]


def test_an_empty_log_says_the_next_step(page):
    answer = page.get("/decisions/")
    assert b"No decision yet" in answer.content
    assert b"contextdash decision retry-policy" in answer.content


def test_hostile_text_is_text_on_every_page(page):
    session = factories.session("s1")
    made = decide(
        topic=HOSTILE[:199], choice=HOSTILE, rationale=HOSTILE, agent_name=HOSTILE[:199], session=session
    )
    other = decide(topic=HOSTILE[:199], choice=HOSTILE, rationale=HOSTILE)
    services.mark_conflict(decisions=[made, other], actor=SYSTEM, reason=HOSTILE)
    for path in (
        "/decisions/",
        f"/decisions/{made.pk}/",
        "/decisions/new/",
        "/sessions/s1/",
        "/sessions/s1/decisions/",
    ):
        body = page.get(path).content.decode()
        assert "<script>alert" not in body, path
        assert "<img src" not in body, path
        assert 'href="javascript' not in body, path
        assert "\x1b" not in body, path


def test_the_log_costs_the_same_number_of_queries_for_one_and_for_a_page(page, django_assert_max_num_queries):
    for number in range(40):
        decide(topic=f"topic-{number % 5}", session=f"s{number % 7}")
    last = None
    for _ in range(6):
        last = decide(supersedes=last.pk if last else None)
    page.get("/decisions/")
    with django_assert_max_num_queries(14):
        assert page.get("/decisions/", headers=FRAGMENT).status_code == 200


def test_an_unchanged_log_is_204_after_few_queries_and_a_change_is_not(page, django_assert_max_num_queries):
    decision = decide()
    version = page.get("/decisions/").headers["X-Version"]
    with django_assert_max_num_queries(6):
        assert page.get("/decisions/", {"v": version}).status_code == 204
    services.change_decision(decision=decision, values={"status": "conflict"}, actor=SYSTEM)
    assert page.get("/decisions/", {"v": version}).status_code == 200


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"topic": "mode"}, ["orchestrate"]),
        ({"agent": "tester"}, ["orchestrate"]),
        ({"state": ["conflict", "superseded"]}, ["orchestrate"]),
        ({"q": "100%"}, ["100% sure"]),
        ({"q": "_"}, []),
        ({"q": "don't"}, []),
        ({"session": "s1"}, ["100% sure"]),
        ({"project": "alpha"}, []),
        ({"since": "30d"}, ["orchestrate", "100% sure"]),
        ({"since": "nonsense"}, ["orchestrate", "100% sure"]),
    ],
)
def test_filters_are_in_the_address(page, query, found):
    decide(topic="certainty", choice="100% sure", session="s1")
    decide(topic="mode", choice="orchestrate", agent_name="tester", status="conflict")
    rows = page.get("/decisions/", query).context["rows"]
    assert [decision.choice_start for decision, _ in rows] == found


def test_pages_go_back_in_time_without_a_gap(page):
    for number in range(35):
        decide(choice=f"choice {number}")
    first = page.get("/decisions/")
    second = page.get("/decisions/" + first.context["next_url"])
    seen = [row.choice_start for answer in (first, second) for row, _ in answer.context["rows"]]
    assert seen == [f"choice {number}" for number in reversed(range(35))]
    assert second.context["next_url"] is None


def test_a_broken_cursor_is_refused_kindly(page):
    assert page.get("/decisions/", {"cursor": "1.1'; DROP"}).status_code == 422


def test_a_person_records_a_decision_by_form(page, member):
    session = factories.session("s1")
    earlier = decide()
    sent = {
        "topic": "retry-policy",
        "choice": "Stop after 24 hours",
        "supersedes": earlier.pk,
        "session": "s1",
    }
    answer = page.post("/decisions/record/", sent)
    made = Decision.objects.latest("id")
    assert answer.headers["Location"] == f"/decisions/{made.pk}/"
    assert (made.agent_name, made.session_id, made.project) == (member.username, session.id, None)
    assert Session.objects.get().decision_count == 1
    earlier.refresh_from_db()
    assert earlier.superseded_by_id == made.pk


@pytest.mark.parametrize(
    "sent", [{"topic": "", "choice": "a"}, {"topic": "a", "choice": "keep me", "supersedes": "999"}]
)
def test_a_refused_form_keeps_its_values_and_says_what_is_wrong(page, sent):
    answer = page.post("/decisions/record/", sent)
    assert answer.status_code == 422
    assert sent["choice"] in answer.content.decode()
    assert answer.context["form"].errors
    assert not Decision.objects.exists()


def test_a_decision_is_marked_with_a_reason_and_its_page_tells_the_history(page):
    decision = decide()
    page.post(
        f"/decisions/{decision.pk}/mark/", {"status": "superseded", "reason": "Nobody does it any more"}
    )
    body = page.get(f"/decisions/{decision.pk}/").content.decode()
    assert "Nobody does it any more" in body
    assert "mia" in body
    assert Decision.objects.get().status == "superseded"


@pytest.mark.parametrize(
    "sent",
    [
        {"status": "conflict"},
        {"status": "conflict", "reason": "  "},
        {"by": "abc", "reason": "x"},
        {"by": "99999", "reason": "x"},
    ],
)
def test_a_mark_that_makes_no_sense_changes_nothing(page, sent):
    decision = decide()
    assert page.post(f"/decisions/{decision.pk}/mark/", sent).status_code in (404, 422)
    assert Decision.objects.get().version == 1


def test_two_are_said_to_contradict_and_then_to_stand_together(page):
    one, two = decide(), decide()
    page.post(f"/decisions/{one.pk}/mark/", {"other": two.pk, "reason": "Read both"})
    assert set(Decision.objects.values_list("status", flat=True)) == {"conflict"}
    page.post("/decisions/all-stand/", {"ids": f"{one.pk},{two.pk}", "reason": "Different banks"})
    assert set(Decision.objects.values_list("status", flat=True)) == {"stands"}


def test_a_conflict_is_settled_from_the_log(page):
    one, two = decide(), decide()
    services.mark_conflict(decisions=[one, two], actor=SYSTEM)
    answer = page.post(
        f"/decisions/{one.pk}/settle/", {"others": f"{one.pk},{two.pk}", "reason": "Older is right"}
    )
    assert answer.headers["Location"] == f"/decisions/#d-{one.pk}"
    assert dict(Decision.objects.values_list("pk", "status")) == {one.pk: "stands", two.pk: "superseded"}


def test_a_viewer_sees_no_buttons_and_is_refused(client, viewer):
    client.force_login(viewer)
    decision = decide()
    body = client.get(f"/decisions/{decision.pk}/").content.decode()
    assert "data-dialog" not in body.split("<main")[1]
    assert (
        client.post(f"/decisions/{decision.pk}/mark/", {"status": "conflict", "reason": "x"}).status_code
        == 403
    )


@pytest.mark.parametrize(
    "path", ["/decisions/0/", "/decisions/12345/", "/decisions/99999999999999999999999/"]
)
def test_an_unknown_decision_is_not_found(page, path):
    assert page.get(path).status_code == 404
