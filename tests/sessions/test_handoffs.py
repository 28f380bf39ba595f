from datetime import timedelta

import pytest

from contextdash import clock
from contextdash.actor import SYSTEM
from sessions_app.models import AgentMessage
from sessions_app.queries.handoffs import inbox, open_handoffs
from sessions_app.services.messages import acknowledge, write_message
from tests import factories
from tests.mediatorlite import load

pytestmark = pytest.mark.django_db

HOUR_US = 3_600_000_000


def message(session, role="handoff", agent="orchestrator", target="tester", hours_ago=5.0):
    at = clock.now() - timedelta(hours=hours_ago)
    return write_message(
        session_id=session.id,
        agent_name=agent,
        role=role,
        target=target,
        content="Go on",
        actor=SYSTEM,
        at=at,
    )


def turn(hours_ago, workspace="/srv/ledger", branch="main", **values):
    """A client that makes every turn a session; this one lasts half an hour."""
    start = clock.now_us() - int(hours_ago * HOUR_US)
    values |= {"workspace": workspace, "branch": branch, "at_us": start}
    made = factories.session(**values)
    made.last_us = start + HOUR_US // 2
    made.save(update_fields=["last_us"])
    return made


def waiting(**values):
    given = {"project": None, "target": None, "in_streams": False} | values
    return [row.pk for row in inbox(**given).handoffs]


def keep_times(*sessions):
    """Messages touch their sessions; the times of a turn are what the test says."""
    for session in sessions:
        session.save(update_fields=["last_us", "started_us"])


def test_the_known_hand_offs_of_a_real_database_wait(api):
    ids = load(api, "agent_messages")["agent_messages"]
    assert sorted(ids[row.pk] for row in open_handoffs()) == [13, 14, 42, 48]


def test_an_answer_in_the_next_session_of_the_same_place_is_an_answer_in_the_stream():
    first, second = turn(5), turn(3)
    asked = message(first, hours_ago=4.8)
    message(second, "response", agent="tester", target=None, hours_ago=2.9)
    keep_times(first, second)
    assert waiting() == [asked.pk]
    assert waiting(in_streams=True) == []


@pytest.mark.parametrize(
    "other",
    [{"branch": "other"}, {"workspace": "/srv/elsewhere"}, {"workspace": ""}, {"host": "another-machine"}],
)
def test_an_answer_elsewhere_is_none(other):
    first, second = turn(5), turn(3, **other)
    asked = message(first, hours_ago=4.8)
    message(second, "response", agent="tester", target=None, hours_ago=2.9)
    keep_times(first, second)
    assert waiting(in_streams=True) == [asked.pk]


def test_a_long_pause_begins_another_stream():
    first, second = turn(30), turn(3)
    asked = message(first, hours_ago=29.8)
    message(second, "response", agent="tester", target=None, hours_ago=2.9)
    keep_times(first, second)
    assert waiting(in_streams=True) == [asked.pk]


def test_an_earlier_word_in_the_stream_is_no_answer():
    first, second = turn(5), turn(3)
    message(first, "response", agent="tester", target=None, hours_ago=4.9)
    asked = message(second, hours_ago=2.9)
    keep_times(first, second)
    assert waiting(in_streams=True) == [asked.pk]


def test_the_inbox_counts_by_target_and_shows_one():
    session = turn(5)
    message(session)
    mine = message(session, target="mia")
    found = inbox(project=None, target="mia", in_streams=True)
    assert [row.pk for row in found.handoffs] == [mine.pk]
    assert dict(found.targets) == {"tester": 1, "mia": 1}


def test_a_hand_off_is_acknowledged_from_the_inbox_and_then_told_who_did(page, member):
    made = message(turn(5))
    body = page.get("/handoffs/").content.decode()
    assert f'id="h-{made.pk}"' in body
    page.post(f"/messages/{made.pk}/acknowledge/", {"next": "/handoffs/?to=tester"})
    assert "No hand-off waits" in page.get("/handoffs/").content.decode()
    assert "Acknowledged by mia" in page.get("/handoffs/", {"view": "acknowledged"}).content.decode()


@pytest.mark.parametrize("view", ["", "stream", "acknowledged", "nonsense"])
def test_every_view_is_answered_in_few_queries(page, view, django_assert_max_num_queries):
    for number in range(40):
        made = message(turn(5, project=None, title=f"Turn {number}"))
        if number % 2:
            acknowledge(message=made, actor=SYSTEM)
    with django_assert_max_num_queries(9):
        answer = page.get("/handoffs/", {"view": view}, headers={"HX-Request": "true"})
    assert answer.status_code == 200


def test_hostile_text_is_text(page):
    bad = '<img src="x" onerror="alert(1)"><script>alert(1)</script> \x1b[31mRED'
    session = turn(5, title=bad, branch=bad[:200])
    made = message(session, agent=bad[:150], target=bad[:150])
    AgentMessage.objects.filter(pk=made.pk).update(content=bad)
    body = page.get("/handoffs/").content.decode()
    assert "<script>alert" not in body
    assert "<img src" not in body
    assert "\x1b" not in body


def test_news_is_news_and_quiet_is_204(page):
    made = message(turn(5))
    version = page.get("/handoffs/").headers["X-Version"]
    assert page.get("/handoffs/", {"v": version}).status_code == 204
    acknowledge(message=made, actor=SYSTEM)
    assert page.get("/handoffs/", {"v": version}).status_code == 200


def test_a_full_inbox_shows_its_newest_and_says_how_many_wait_behind(page):
    session = turn(5)
    for _ in range(60):
        message(session)
    answer = page.get("/handoffs/")
    assert answer.content.decode().count("data-row=") == 50
    assert b"10 older ones wait too" in answer.content
    assert answer.context["waiting"] == 60


def test_a_person_writes_a_message_and_takes_an_acknowledgement_back(page):
    factories.session("s-long-id-1", title="Refunds")
    form = page.get("/messages/new/?session=s-long-id-1&target=tester").text
    assert 'value="s-long-id-1" label="Refunds"' in form
    told = {"session": "s-long", "role": "handoff", "target": "tester", "content": "Run the **suite**."}
    answer = page.post("/messages/write/", told)
    row = AgentMessage.objects.get()
    assert answer["Location"] == f"/messages/{row.pk}/"
    assert (row.session_id, row.agent_name, row.target) == ("s-long-id-1", "mia", "tester")
    page.post(f"/messages/{row.pk}/acknowledge/")
    assert "It waits after all" in page.get(f"/messages/{row.pk}/").text
    page.post(f"/messages/{row.pk}/acknowledge/", {"undo": "1"})
    row.refresh_from_db()
    assert row.acknowledged_at is None
    unknown = page.post("/messages/write/", told | {"session": "nowhere"})
    assert unknown.status_code == 422
    assert "Run the **suite**." in unknown.text  # what was typed is not lost
    assert AgentMessage.objects.count() == 1
