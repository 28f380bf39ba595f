"""A deleted session everywhere: pages, lists, API, hooks; brought back for a day; then final."""

from datetime import timedelta

import pytest
from django.test import Client

from contextdash import clock
from contextdash.actor import SYSTEM, Actor
from contextdash.errors import Conflict
from sessions_app.ingest.observation import Outcome
from sessions_app.models import Decision, Event, Quarantined, Session, Tombstone
from sessions_app.services.decisions import log_decision
from sessions_app.services.ending import UNDO_FOR, delete_session, end_undo, undelete_session
from tests.sessions.deliveries import body, deliver, seen

pytestmark = pytest.mark.django_db


def told(session_id: str = "s1", prompt: str = "Tidy up") -> Session:
    deliver(seen(body("UserPromptSubmit", session_id, prompt=prompt)))
    return Session.objects.get(id=session_id)


def delete(session: Session, reason: str = "a test run") -> None:
    delete_session(session=session, actor=SYSTEM, reason=reason)


def ago(session: Session, passed: timedelta) -> None:
    """As if it had been deleted so long ago."""
    at = clock.now() - passed
    Session.objects.filter(key=session.key).update(deleted_at=at)
    Tombstone.objects.filter(session_id=session.id).update(deleted_at=at)


def test_it_is_gone_from_pages_lists_and_the_api(page, make_api):
    session = told()
    log_decision(session="s1", topic="cache", choice="none at all", actor=SYSTEM)
    delete(session)
    api = make_api("read")
    for path in ("/sessions/s1/", "/sessions/s1/ledger/", "/sessions/s1/export.md", "/sessions/s1/turns/1/"):
        assert page.get(path).status_code == 404, path
    assert "brought back under Kept and erased" in page.get("/sessions/s1/").content.decode()
    assert "Tidy up" not in page.get("/sessions/").content.decode()
    assert 'href="/settings/kept/">Tidy up' in page.get("/sessions/?flag=deleted").content.decode()
    for path in ("sessions/s1", "sessions/s1/events", "sessions/s1/tool-calls", "sessions/s1/export"):
        assert api.get(path).status_code == 404, path
    assert api.get("sessions").json()["items"] == []
    assert Decision.objects.count() == 1
    assert "none at all" in page.get("/decisions/").content.decode()


def test_what_hooks_send_for_it_is_refused_and_kept_to_look_at():
    session = told()
    delete(session)
    outcomes = deliver(seen(body("UserPromptSubmit", "s1", prompt="more")))
    assert list(outcomes) == [Outcome.DELETED_SESSION]
    assert Event.objects.filter(session=session).count() == 1
    held = Quarantined.objects.get()
    assert (held.session_id, held.client) == ("s1", "claude-code")


def test_writers_are_told_that_it_was_deleted(api):
    delete(told())
    answer = api.post("messages", session_id="s1", agent_name="main", role="finding", content="hi")
    assert answer.status_code == 409
    assert api.post("sessions/ensure", session_id="s1").status_code == 409


def test_within_a_day_a_member_brings_it_back_with_its_subagents(page, api):
    session, child = told(), told("child", prompt="Of the child")
    Session.objects.filter(key=child.key).update(parent=session)
    page.post("/sessions/s1/delete/", {"reason": "by mistake"})
    assert page.get("/sessions/child/").status_code == 404
    kept = page.get("/settings/kept/").content.decode()
    assert "by mistake" in kept
    assert kept.count("Bring back") == 1, "a subagent comes back with its parent"
    assert page.post("/sessions/s1/undelete/").status_code == 302
    assert page.get("/sessions/s1/").status_code == 200
    assert page.get("/sessions/child/").status_code == 200
    assert list(deliver(seen(body("UserPromptSubmit", "s1", prompt="on")))) == [Outcome.ACCEPTED]
    assert "No session is deleted" in page.get("/settings/kept/").content.decode()


def test_after_a_day_it_is_final(page):
    session = told()
    delete(session)
    ago(session, UNDO_FOR + timedelta(minutes=1))
    assert page.post("/sessions/s1/undelete/").status_code in (404, 409)
    assert end_undo() is False
    mark = Tombstone.objects.get()
    assert mark.final_at is not None
    kept = page.get("/settings/kept/").content.decode()
    assert "Bring back" not in kept
    assert "Its id is refused for good." in kept
    assert Event.objects.filter(session=session).exists(), "bytes leave by purge only"


def test_final_stays_final_when_the_clock_steps_back():
    session = told()
    delete(session)
    ago(session, UNDO_FOR + timedelta(minutes=1))
    end_undo()
    ago(session, timedelta(minutes=1))
    with pytest.raises(Conflict, match="stays so"):
        undelete_session(session=Session.objects.get(id="s1"), actor=SYSTEM)


def test_what_may_still_be_undone_is_not_made_final(monkeypatch):
    monkeypatch.setattr("sessions_app.services.ending.SLICE_ROWS", 2)
    for n in range(5):
        session = told(f"old{n}")
        delete(session)
        ago(session, UNDO_FOR + timedelta(hours=n + 1))
    delete(told("young"))
    assert [end_undo() for _ in range(3)] == [True, True, False]
    assert list(Tombstone.objects.filter(final_at=None).values_list("session_id", flat=True)) == ["young"]


def test_an_owner_erases_a_deleted_one_and_it_stays_deleted(owner):
    client = Client()
    client.force_login(owner)
    session = told()
    delete_session(session=session, actor=Actor(user=owner), reason="secret inside")
    assert "Erase…" in client.get("/settings/kept/").content.decode()
    answer = client.post("/sessions/s1/purge/", {"reason": "for good"}, follow=True)
    assert answer.redirect_chain[-1][0] == "/settings/kept/"
    text = answer.content.decode()
    assert "What it held is erased." in text
    assert "Erase…" not in text
    assert not Event.objects.exists()
    assert client.post("/sessions/nobody/purge/", {"reason": "x"}).status_code == 404
