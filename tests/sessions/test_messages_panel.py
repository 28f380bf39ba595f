from datetime import timedelta

import pytest

from contextdash import clock
from contextdash.actor import SYSTEM
from sessions_app.models import AgentMessage
from sessions_app.queries.handoffs import open_handoffs, thread
from sessions_app.services.messages import acknowledge, write_message
from tests import factories

FRAGMENT = {"HX-Request": "true"}

pytestmark = pytest.mark.django_db

HOSTILE = '<img src="x" onerror="alert(1)"><script>alert(1)</script> [x](javascript:alert(1)) \x1b[31mRED'


def message(
    role="handoff",
    agent="orchestrator",
    target="tester",
    content="Run the suite",
    minutes_ago=5,
    session="s1",
):
    at = clock.now() - timedelta(minutes=minutes_ago)
    return write_message(
        session_id=session, agent_name=agent, role=role, target=target, content=content, actor=SYSTEM, at=at
    )


def test_a_hand_off_is_unread_until_its_target_writes_later_in_the_session():
    waiting = message()
    assert [row.pk for row in open_handoffs()] == [waiting.pk]
    message("response", agent="tester", target="orchestrator", session="s2")
    message("response", agent="tester", target="orchestrator", minutes_ago=9)
    assert [row.pk for row in open_handoffs()] == [waiting.pk]
    message("response", agent="tester", target="orchestrator", minutes_ago=1)
    assert open_handoffs() == []


def test_at_the_same_moment_the_later_number_is_later():
    first = message()
    answer = message("response", agent="tester", target=None)
    AgentMessage.objects.filter(pk=answer.pk).update(ts=first.ts)
    assert open_handoffs() == []


def test_an_acknowledged_hand_off_waits_no_more(member):
    acknowledge(message=message(), actor=SYSTEM)
    assert open_handoffs() == []


def test_hand_offs_can_be_asked_for_by_target_and_project():
    alpha = factories.project("Alpha")
    factories.session("s1", project=alpha)
    waiting = message()
    message(target="devops", session="s2")
    assert [row.pk for row in open_handoffs(target="tester")] == [waiting.pk]
    assert [row.pk for row in open_handoffs(project="alpha")] == [waiting.pk]


def test_only_hand_offs_with_a_target_wait():
    message(target=None)
    message(target="")
    message("finding")
    assert open_handoffs() == []
    assert thread(factories.Session.objects.get(), limit=10).unread == 0


def test_the_panel_shows_and_acknowledges_a_hand_off(page, member):
    waiting = message()
    body = page.get("/sessions/s1/messages/").content.decode()
    assert "1 hand-off nobody has read" in body
    answer = page.post(f"/messages/{waiting.pk}/acknowledge/", {"next": "/sessions/s1/messages/"})
    assert answer.headers["Location"] == "/sessions/s1/messages/"
    waiting.refresh_from_db()
    assert waiting.acknowledged_by == member
    body = page.get("/sessions/s1/messages/").content.decode()
    assert "Acknowledged by mia" in body
    assert "nobody has read" not in body


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_acknowledging_never_leads_elsewhere(page, back):
    answer = page.post(f"/messages/{message().pk}/acknowledge/", {"next": back})
    assert answer.headers["Location"] == "/sessions/s1/messages/"


def test_a_viewer_acknowledges_nothing(client, viewer):
    client.force_login(viewer)
    waiting = message()
    assert client.post(f"/messages/{waiting.pk}/acknowledge/").status_code == 403
    assert b"Acknowledge</button>" not in client.get("/sessions/s1/messages/").content


def test_hostile_text_is_text_and_escapes_are_undone(page):
    made = message("response", agent=HOSTILE[:150], target=HOSTILE[:150], content=HOSTILE)
    for path in ("/sessions/s1/messages/", f"/messages/{made.pk}/", "/sessions/s1/"):
        body = page.get(path).content.decode()
        assert "<script>alert" not in body, path
        assert "<img src" not in body, path
        assert 'href="javascript' not in body, path
        assert "\x1b" not in body, path


def test_a_long_message_has_a_page_of_its_own(page):
    made = message("finding", content="word " * 60_000 + "THE END")
    body = page.get("/sessions/s1/messages/").content.decode()
    assert "Show the whole message" in body
    assert len(body) < 60_000
    assert "THE END" not in page.get(f"/messages/{made.pk}/").content.decode()
    assert "THE END" in page.get(f"/messages/{made.pk}/", {"all": "1"}).content.decode()


def test_the_panel_is_bounded_in_rows_and_queries(page, django_assert_max_num_queries):
    for number in range(120):
        message(content=f"message {number}")
    page.get("/sessions/s1/messages/")
    with django_assert_max_num_queries(10):
        answer = page.get("/sessions/s1/messages/", headers=FRAGMENT)
    assert len(answer.context["thread"].entries) == 100
    assert answer.context["thread"].more


def test_an_empty_panel_says_the_next_step(page):
    factories.session("s1")
    assert b"contextdash message" in page.get("/sessions/s1/messages/").content
