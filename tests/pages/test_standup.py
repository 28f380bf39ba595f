from datetime import timedelta

import pytest
from django.utils import timezone

from backlog_app.models import BacklogItem, StoryStep
from backlog_app.services.moving import move_story
from backlog_app.services.relations import link_story
from backlog_app.services.stories import add_story
from contextdash import clock
from contextdash.actor import SYSTEM
from contextdash.pages.standup import time_range
from contextdash.pages.standup_read import standup
from contextdash.pages.standup_text import as_markdown
from reviews_app.services.reviews import log_review, set_resolution
from sessions_app.models import Session
from sessions_app.services.decisions import change_decision, log_decision
from sessions_app.services.mistakes import log_mistake
from sessions_app.vocabulary import Activity
from tests import factories

pytestmark = pytest.mark.django_db

HASH = "ab" * 32
HOSTILE = '<img src="x" onerror="alert(1)"><script>alert(1)</script> \x1b[31mRED [x](javascript:1)'


def story(status="in_progress", agent="tester", text="Replay a day of webhooks", **values):
    return add_story(story=text, status=status, assigned_agent=agent, actor=SYSTEM, **values)


def told(hours=24, **values):
    now = clock.now()
    return standup(begin=now - timedelta(hours=hours), end=now, **values)


def sections(found, name="tester"):
    [person] = [one for one in found.people if one.name == name]
    return {key: [line.number for line in lines] for key, lines in person.sections.items() if lines}


def age(row, hours):
    at = clock.now() - timedelta(hours=hours)
    BacklogItem.objects.filter(pk=row.pk).update(changed_at=at, ts=at)
    StoryStep.objects.filter(story=row).update(at=at)


def test_every_story_is_told_once_by_what_holds_it_up_most():
    plain, blocked, reviewed, decided, old = (story() for _ in range(5))
    move_story(story_id=blocked.pk, to_status="blocked", actor=SYSTEM)
    log_review(target="a.py", severity="High", finding="No lock", diff_hash=HASH, actor=SYSTEM)
    link_story(story_id=reviewed.pk, kind="diff", ref=HASH, actor=SYSTEM)
    choice = log_decision(topic="retry", choice="once", actor=SYSTEM, status="conflict")
    link_story(story_id=decided.pk, kind="decision", ref=str(choice.pk), actor=SYSTEM)
    age(old, hours=30)
    assert sections(told()) == {
        "in_progress": [f"S-{plain.pk}"],
        "blocked": [f"S-{blocked.pk}"],
        "blocked_by_review": [f"S-{reviewed.pk}"],
        "waiting_on_decision": [f"S-{decided.pk}"],
        "stale": [f"S-{old.pk}"],
    }


def test_a_linked_finding_holds_a_story_up_until_it_is_resolved():
    row = story()
    finding = log_review(target="a.py", severity="Critical", finding="Leaks", actor=SYSTEM)
    link_story(story_id=row.pk, kind="finding", ref=str(finding.pk), actor=SYSTEM)
    assert sections(told()) == {"blocked_by_review": [f"S-{row.pk}"]}
    set_resolution(review=finding, to="resolved", actor=SYSTEM, reason="mended")
    assert sections(told()) == {"in_progress": [f"S-{row.pk}"]}


def test_a_story_of_the_public_api_waits_until_something_stands_on_it():
    row = story(labels=["Public API"])
    assert sections(told()) == {"waiting_on_decision": [f"S-{row.pk}"]}
    choice = log_decision(topic="public-api", choice="keep the old name", actor=SYSTEM)
    link_story(story_id=row.pk, kind="decision", ref=str(choice.pk), actor=SYSTEM)
    assert sections(told()) == {"in_progress": [f"S-{row.pk}"]}
    change_decision(decision=choice, values={"status": "conflict"}, actor=SYSTEM)
    assert sections(told()) == {"waiting_on_decision": [f"S-{row.pk}"]}


def test_a_story_is_not_stale_while_a_session_that_works_on_it_moves():
    session = factories.session("s-1")
    row = story()
    link_story(story_id=row.pk, kind="session", ref="s-1", actor=SYSTEM)
    age(row, hours=30)
    assert "stale" not in sections(told())
    Session.objects.filter(pk=session.pk).update(last_us=clock.now_us() - 26 * 3_600_000_000)
    assert sections(told()) == {"stale": [f"S-{row.pk}"]}


def test_what_was_done_and_what_went_wrong_is_told_of_the_range_only():
    row = story()
    move_story(story_id=row.pk, to_status="done", actor=SYSTEM)
    wrong = log_mistake(agent_name="tester", summary="Compared times", actor=SYSTEM)
    log_mistake(agent_name="tester", summary="Long ago", actor=SYSTEM, at=clock.now() - timedelta(hours=30))
    assert sections(told()) == {"done": [f"S-{row.pk}"], "mistakes": [f"M-{wrong.pk}"]}
    assert len(sections(told(hours=48))["mistakes"]) == 2


def test_sessions_belong_to_the_role_and_main_sessions_to_their_owner(member):
    factories.session("a", agent_name="tester")
    factories.session("b", agent_name="main", owner=member)
    factories.session("c", agent_name="main", owner=member, status="errored")
    counted = {one.name: (one.sessions, one.errored) for one in told().people}
    assert counted == {"tester": (1, 0), "mia": (2, 1)}


def test_a_session_that_waits_for_a_person_blocks_who_runs_it(member):
    factories.session(
        "a",
        agent_name="main",
        owner=member,
        activity=Activity.WAITING,
        activity_since_us=clock.now_us(),
        waiting_for="May I push?",
    )
    [person] = told().people
    assert (person.name, person.sections["blocked"][0].title) == ("mia", "May I push?")


def test_a_past_range_tells_where_stories_stood_then():
    row = story()
    age(row, hours=40)
    move_story(story_id=row.pk, to_status="done", actor=SYSTEM)
    end = clock.now() - timedelta(hours=20)
    found = standup(begin=end - timedelta(hours=24), end=end)
    assert not found.is_now
    assert sections(found) == {"in_progress": [f"S-{row.pk}"]}


def test_only_the_project_is_told():
    factories.project("Mine")
    other = factories.project("Other")
    row = story(project="mine")
    story(project="other")
    log_mistake(agent_name="tester", summary="Elsewhere", project=other, actor=SYSTEM)
    assert sections(told(project="mine")) == {"in_progress": [f"S-{row.pk}"]}


def test_who_is_held_up_comes_first_and_work_of_nobody_last():
    story(agent=None)
    story(agent="alpha")
    story(agent="zeta", status="blocked")
    assert [one.name for one in told().people] == ["zeta", "alpha", ""]


def test_times_without_a_zone_are_the_readers():
    with timezone.override("Europe/Berlin"):
        begin, end = time_range("", "2026-07-01T09:00", "2026-07-02")
    assert (clock.iso(begin), clock.iso(end)) == (
        "2026-07-01T07:00:00.000000Z",
        "2026-07-01T22:00:00.000000Z",
    )


@pytest.mark.parametrize(
    "query",
    [
        {"window": "soon"},
        {"from": "yesterday"},
        {"from": "0001-01-01"},
        {"from": "9999-12-31T23:59"},
        {"from": "2026-07-02", "to": "2026-07-01"},
        {"from": "2026-01-01", "to": "2026-07-01"},
        {"to": "\0"},
    ],
)
def test_a_range_that_is_none_is_refused_with_what_it_should_be(page, api, query):
    assert page.get("/standup/", query).status_code in (400, 422)
    answer = api.get("standup", **query)
    assert answer.status_code in (400, 422)
    assert answer.json()["detail"]


def test_page_and_file_tell_the_same(page):
    row = story()
    body = page.get("/standup/").content.decode()
    text = page.get("/standup.md").content.decode()
    assert f"S-{row.pk}" in body
    assert f"- [S-{row.pk}](http://testserver/board/stories/{row.pk}/) Replay a day of webhooks" in text
    assert "## tester" in text
    assert "## tester" in body


def test_an_empty_stand_up_says_the_next_step(page):
    body = page.get("/standup/").content.decode()
    assert "Nothing happened in this time" in body
    assert "contextdash backlog claim" in body


def test_hostile_text_is_text_on_the_page_and_in_markdown(page):
    story(text=HOSTILE, agent=HOSTILE[:100])
    log_mistake(agent_name=HOSTILE[:100], summary=HOSTILE, actor=SYSTEM)
    body = page.get("/standup/").content.decode()
    assert "<script>alert" not in body
    assert "<img src" not in body
    assert "\x1b" not in body
    text = as_markdown(told())
    assert "\x1b" not in text
    assert "\\<script\\>" in text
    assert "\\[x\\](javascript" in text  # no link


def test_news_is_news_and_quiet_is_204(page):
    version = page.get("/standup/").headers["X-Version"]
    assert page.get("/standup/", {"v": version}).status_code == 204
    story()
    assert page.get("/standup/", {"v": version}).status_code == 200


def test_the_page_costs_few_queries_however_much_there_is(page, django_assert_max_num_queries):
    for number in range(30):
        row = story(agent=f"agent-{number % 7}")
        link_story(story_id=row.pk, kind="diff", ref=HASH, actor=SYSTEM)
        link_story(story_id=row.pk, kind="session", ref=f"s-{number}", actor=SYSTEM)
        factories.session(f"s-{number}", agent_name=f"agent-{number % 7}")
        log_mistake(agent_name=f"agent-{number % 7}", summary="Wrong", actor=SYSTEM)
    with django_assert_max_num_queries(26):
        answer = page.get("/standup/", headers={"HX-Request": "true"})
    assert answer.status_code == 200
