import pytest
from django.test import Client

from backlog_app.services.moving import claim_next, move_story
from backlog_app.services.stories import delete_story
from contextdash.actor import SYSTEM
from sessions_app.models import Session
from tests.backlog.factory import story

pytestmark = pytest.mark.django_db


def test_a_session_shows_the_stories_it_wrote_and_those_it_works_on(page: Client) -> None:
    story("Taken by another session")
    written = story("Written here", session_id="s1", status="review")
    claim_next(agent="tester", session_id="s1", actor=SYSTEM)
    move_story(story_id=written.pk, to_status="blocked", reason="keys expired", actor=SYSTEM)
    panel = page.get("/sessions/s1/backlog/").content.decode()
    assert "Written here" in panel
    assert "Taken by another session" in panel
    timeline = page.get("/sessions/s1/").content.decode()
    assert "story written down" in timeline
    assert "keys expired" in timeline


def test_the_count_of_a_session_follows_deletion(page: Client) -> None:
    card = story(session_id="s1")
    assert Session.objects.get(id="s1").story_count == 1
    delete_story(story_id=card.pk, actor=SYSTEM)
    assert Session.objects.get(id="s1").story_count == 0
    assert "No story in this session" in page.get("/sessions/s1/backlog/").content.decode()
