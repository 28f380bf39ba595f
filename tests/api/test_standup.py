"""``GET standup``: people, and the older system's two shapes."""

from datetime import timedelta

import pytest

from backlog_app.models import BacklogItem
from backlog_app.services.moving import move_story
from backlog_app.services.relations import link_story
from backlog_app.services.stories import add_story
from contextdash import clock
from contextdash.actor import SYSTEM
from reviews_app.services.reviews import log_review
from sessions_app.services.decisions import log_decision
from sessions_app.services.messages import write_message
from tests import factories
from tests.mediatorlite import load

pytestmark = pytest.mark.django_db

HASH = "cd" * 32


@pytest.fixture
def session():
    return factories.session("s-1")


def story(session, status="in_progress", agent="tester", **values):
    return add_story(
        story=f"Story of {agent}",
        status=status,
        assigned_agent=agent,
        session_id=session.id,
        actor=SYSTEM,
        **values,
    )


def ids(answer, section):
    return [row["id"] for row in answer[section]]


def test_the_workflow_begins_with_the_known_stories_of_a_real_database(api):
    known = load(api, "sessions", "sprint_backlog")["sprint_backlog"]
    answer = api.get("standup", shape="workflow").json()
    told = [known[row["id"]] for row in answer["backlog"]]
    assert told == [7, 11, 25, 5, 6, 8, 9, 10, 17, 19, 20, 2, 12, 13, 15]
    assert len(answer["sessions"]) == 6
    assert answer["markdown"].splitlines()[0] == "| id | status | agent | priority | story |"
    assert set(answer["backlog"][0]) == {"id", "status", "assigned_agent", "priority", "story"}


def test_the_digest_sorts_the_session_s_stories_into_the_older_sections(api, session):
    going, held, ready, done = (
        story(session),
        story(session),
        story(session, "todo"),
        story(session),
    )
    move_story(story_id=done.pk, to_status="done", actor=SYSTEM)
    log_review(target="a.py", severity="Critical", finding="Leaks", diff_hash=HASH, actor=SYSTEM)
    link_story(story_id=held.pk, kind="diff", ref=HASH, actor=SYSTEM)
    old = story(session)
    BacklogItem.objects.filter(pk=old.pk).update(changed_at=clock.now() - timedelta(hours=30))
    story(factories.session("s-2"))
    answer = api.get("standup", shape="digest", session="s-1").json()
    assert ids(answer, "in_progress") == [going.pk]
    assert ids(answer, "blocked_by_review") == [held.pk]
    assert ids(answer, "ready") == [ready.pk]
    assert ids(answer, "done_today") == [done.pk]
    assert ids(answer, "stale") == [old.pk]
    assert "## Done today" in answer["markdown"]
    assert answer["markdown"].startswith("# Stand-up s-1, ")


def test_the_agent_s_last_word_in_the_session_says_whether_its_story_is_stale(api, session):
    row = story(session)
    at = clock.now() - timedelta(hours=25)
    write_message(
        session_id="s-1", agent_name="tester", role="response", content="on it", actor=SYSTEM, at=at
    )
    answer = api.get("standup", shape="digest", session="s-1").json()
    assert answer["backlog"][0]["last_activity"] == clock.iso(at)
    assert ids(answer, "stale") == [row.pk]


def test_a_public_api_decision_waits_until_the_orchestrator_chooses(api, session):
    made = log_decision(
        topic="public-api", choice="rename", agent_name="backend-developer", session=session, actor=SYSTEM
    )
    asked = {"shape": "digest", "session": "s-1"}
    assert api.get("standup", **asked).json()["waiting_on_decision"] == [made.pk]
    log_decision(topic="public-api", choice="keep", agent_name="orchestrator", session=session, actor=SYSTEM)
    assert api.get("standup", **asked).json()["waiting_on_decision"] == []


def test_a_session_without_stories_has_an_empty_digest(api, session):
    answer = api.get("standup", shape="digest").json()
    assert answer["session"]["id"] == "s-1"
    assert answer["backlog"] == []
    assert answer["markdown"].count("- none") == 5


def test_people_are_told_with_a_text_to_paste(api, session):
    row = story(session)
    answer = api.get("standup", window="2h").json()
    [person] = [one for one in answer["people"] if one["name"] == "tester"]
    [line] = person["in_progress"]
    assert (line["number"], line["url"]) == (f"S-{row.pk}", f"/board/stories/{row.pk}/")
    assert "## tester" in answer["markdown"]


def test_a_token_reads_in_its_owner_s_zone(api, member):
    member.time_zone = "Asia/Tokyo"
    member.save()
    answer = api.get("standup", **{"from": "2026-07-01T09:00", "to": "2026-07-02T09:00"}).json()
    assert answer["from"] == "2026-07-01T00:00:00.000000Z"
    assert "(JST)" in answer["markdown"]


@pytest.mark.parametrize("query", [{"shape": "nonsense"}, {"shape": "digest", "session": "nobody-knows-it"}])
def test_what_there_is_not_is_refused(api, query):
    assert api.get("standup", **query).status_code in (404, 422)
