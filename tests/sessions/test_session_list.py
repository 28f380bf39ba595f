"""The list of sessions: what it shows, in what order, at what cost, and what people do with a session."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from contextdash import clock
from contextdash.actor import SYSTEM
from contextdash.errors import Conflict
from contextdash.models import Change, User
from sessions_app.models import Session, Tombstone
from sessions_app.queries.sessions import SessionFilter, filtered
from sessions_app.queries.states import STATES, state_of, states_q
from sessions_app.services import ending
from sessions_app.services.sessions import named_session, touch
from tests import factories

MINUTE = 60_000_000
HOSTILE = """<b>bold</b><img src="x" onerror="alert('testing')"><script>alert(1)</script>"""
LIST_QUERIES = 10
"""Of the list itself; signing in and the frame around the page come on top."""
FRAME_QUERIES = 17


def titles(response: Any) -> list[str]:
    found = re.findall(r'<a class="cut[^"]*" dir="auto" title="([^"]*)"', response.content.decode())
    return [str(title) for title in found]


def made(title: str, ago_minutes: int = 0, **values: Any) -> Session:
    return factories.session(at_us=clock.now_us() - ago_minutes * MINUTE, title=title, **values)


@pytest.mark.django_db
def test_it_shows_the_newest_activity_first(page: Client) -> None:
    made("older", 5)
    made("newer", 1)
    assert titles(page.get("/sessions/")) == ["newer", "older"]


def test_it_needs_a_sign_in(db: None) -> None:
    response = Client().get("/sessions/")
    assert response.status_code == 302
    assert "/signin/" in response["Location"]


def test_without_any_session_it_says_how_to_connect_one(page: Client) -> None:
    body = html.unescape(page.get("/sessions/").content.decode())
    assert 'contextdash connect claude-code --url http://testserver --token "$CONTEXTDASH_TOKEN"' in body
    assert 'href="/connect/">Connect an agent</a>' in body


def test_a_viewer_is_not_told_to_connect(viewer: User) -> None:
    client = Client()
    client.force_login(viewer)
    body = client.get("/sessions/").content.decode()
    assert "contextdash connect" not in body
    assert "Connect an agent" not in body


def test_a_filter_without_hits_is_named_and_can_be_cleared(page: Client) -> None:
    made("something")
    text = page.get("/sessions/?q=nowhere&state=errored").content.decode()
    assert "No session fits" in text
    assert "text nowhere" in text
    assert "Errored" in text
    assert 'href="?"' in text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("agent=tester", ["by tester"]),
        ("agent=tester&agent=main", ["by tester", "plain", "branched"]),
        ("client=codex", ["by tester"]),
        ("branch=feat", ["branched"]),
        ("q=PLAIN", ["plain"]),
        ("q=abcd1234", ["branched"]),
        ("flag=pinned", ["by tester"]),
        ("flag=archived", ["put away"]),
        ("children=1&q=child", ["child"]),
        ("project=ledgerline", ["plain"]),
        ("project=unknown", []),
        ("mine=1", ["plain"]),
        ("state=unknown", ["by tester", "plain", "branched"]),
    ],
)
def test_each_filter_narrows_the_list(page: Client, member: User, query: str, expected: list[str]) -> None:
    made("by tester", 1, agent_name="tester", client="codex", pinned=True)
    plain = made("plain", 2, project=factories.project("Ledgerline"), owner=member)
    factories.session(
        "abcd1234-branch", at_us=clock.now_us() - 3 * MINUTE, title="branched", branch="feat/refunds"
    )
    made("put away", 4, archived_at=clock.now())
    made("child", 5, parent=plain)
    assert titles(page.get(f"/sessions/?{query}")) == expected


def test_a_session_of_which_only_the_start_was_seen_leaves_the_list_after_ten_minutes(page: Client) -> None:
    made("fresh start", 9, started_only=True)
    made("phantom", 11, started_only=True)
    assert titles(page.get("/sessions/")) == ["fresh start"]


def test_days_are_those_of_the_reader(page: Client, member: User) -> None:
    member.time_zone = "America/Los_Angeles"
    member.save()
    evening = clock.parse_us("2026-11-25T04:08:00Z")
    factories.session(at_us=evening, title="evening work")
    with time_machine.travel("2026-11-25T20:00:00Z", tick=False):
        assert titles(page.get("/sessions/?from=2026-11-24&to=2026-11-24")) == ["evening work"]
        assert titles(page.get("/sessions/?from=2026-11-25")) == []
        text = page.get("/sessions/").content.decode()
    assert "Yesterday" in text


@pytest.mark.parametrize("day", ["soon", "2026-13-01", "0001-01-01", "9999-12-31"])
def test_a_day_that_is_none_is_refused_by_name(page: Client, day: str) -> None:
    response = page.get("/sessions/", {"from": day})
    assert response.status_code == 422
    assert "from must be a day" in response.content.decode()


@pytest.mark.parametrize("text", ["don't", "%", "_", '"unbalanced', "\\", "a" * 5000, "項目"])
def test_any_text_may_be_looked_for(page: Client, text: str) -> None:
    made("a plain title")
    assert page.get("/sessions/", {"q": text, "branch": text, "agent": text}).status_code == 200
    assert titles(page.get("/sessions/", {"q": text})) == []


def test_pages_follow_each_other_without_a_gap_or_a_repeat(page: Client) -> None:
    at_us = clock.now_us()
    for number in range(120):
        factories.session(at_us=at_us - number // 3, title=f"t{number}")
    seen: list[str] = []
    address: str | None = "/sessions/"
    while address:
        response = page.get(address)
        seen += titles(response)
        following = re.search(r'<a class="btn" href="([^"]*)" rel="next"', response.content.decode())
        address = f"/sessions/{following[1].replace('&amp;', '&')}" if following else None
    assert len(seen) == 120
    assert len(set(seen)) == 120


@pytest.mark.parametrize("cursor", ["x", "1.x", "9" * 30 + ".1", "-1.1", "1"])
def test_a_cursor_that_is_not_ours_is_refused(page: Client, cursor: str) -> None:
    assert page.get("/sessions/", {"cursor": cursor}).status_code == 422


def test_a_page_that_shows_the_newest_is_answered_nothing_new(page: Client) -> None:
    session = made("one")
    version = page.get("/sessions/")["X-Version"]
    assert page.get("/sessions/", {"v": version}).status_code == 204
    touch(session)
    answer = page.get("/sessions/", {"v": version}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert "<html" not in answer.content.decode()
    assert 'id="live"' in answer.content.decode()


def test_agents_text_is_shown_as_text(page: Client) -> None:
    made(
        HOSTILE,
        branch=HOSTILE[:200],
        client="<i>",
        agent_name=HOSTILE[:100],
        activity="waiting",
        waiting_for=HOSTILE,
    )
    made("\x1b[31mFAIL\x1b[0m of \u202etxt.exe")
    text = page.get("/sessions/?agent=" + "<script>alert(1)</script>").content.decode()
    text += page.get("/sessions/").content.decode()
    assert "<script>alert" not in text
    assert "<img src" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "FAIL of [U+202E]txt.exe" in text


def test_a_hundred_sessions_cost_as_many_queries_as_three(
    page: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(3):
        made(f"s{number}", number, child_count=2)
    page.get("/sessions/")
    with django_assert_max_num_queries(LIST_QUERIES + FRAME_QUERIES) as few:
        page.get("/sessions/")
    for number in range(97):
        made(f"t{number}", number, project=None, owner=None)
    with django_assert_max_num_queries(len(few.captured_queries)):
        page.get("/sessions/")
    version = page.get("/sessions/")["X-Version"]
    touch(Session.objects.first())  # type: ignore[arg-type]
    with django_assert_max_num_queries(LIST_QUERIES):
        page.get("/sessions/", {"v": version}, headers={"HX-Request": "true"})


def test_a_list_of_sessions_with_enormous_requests_stays_small(page: Client) -> None:
    for _ in range(50):
        made("", user_request="x" * 200_000)
    assert len(page.get("/sessions/").content) < 150_000


def test_an_event_dated_2099_does_not_pin_the_list(page: Client) -> None:
    """``last_us`` is never later than it was received: ``touch`` takes the server's clock."""
    future = made("from the future", 1)
    Session.objects.update(started_us=clock.now_us() + 73 * 365 * 24 * 60 * MINUTE)
    touch(future)
    made("later", 0)
    later = Session.objects.get(title="later")
    touch(later)
    response = page.get("/sessions/")
    assert titles(response) == ["later", "from the future"]
    assert ">clock</span>" in response.content.decode()


# == What a session is doing ==


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({"activity": "working"}, "working"),
        ({"activity": "working", "ago": 11}, "stale"),
        ({"activity": "working", "ago": 11, "current_call": "Bash pytest"}, "working"),
        ({"activity": "working", "ago": 31, "current_call": "Bash pytest"}, "stale"),
        ({"activity": "waiting", "ago": 600}, "waiting"),
        ({"activity": "idle"}, "idle"),
        ({"activity": "idle", "status": "compacted"}, "compacted"),
        ({"activity": "ended", "status": "errored"}, "errored"),
        ({"activity": "ended", "status": "closed"}, "closed"),
        ({"activity": "ended"}, "closed"),
        ({"activity": "working", "status": "compacted"}, "working"),
    ],
)
def test_the_word_that_is_shown_is_the_word_that_is_filtered_by(
    db: None, values: dict[str, Any], state: str
) -> None:
    session = made("it", values.pop("ago", 0), **values)
    now_us = clock.now_us()
    assert state_of(session, now_us) == state
    found = [word for word in STATES if Session.objects.filter(states_q((word,), now_us)).exists()]
    assert found == [state]


def test_a_status_that_nobody_knows_is_shown_as_sent(page: Client) -> None:
    made("odd", status="paused")
    assert "paused" in page.get("/sessions/").content.decode()


# == Pin, archive, delete ==


def test_a_member_pins_archives_and_takes_it_back(page: Client) -> None:
    session = made("it")
    assert page.post(f"/sessions/{session.id}/pin/", {"pinned": "1"}).status_code == 302
    page.post(f"/sessions/{session.id}/archive/", {"archived": "1"})
    session.refresh_from_db()
    assert session.pinned
    assert session.archived_at
    page.post(f"/sessions/{session.id}/pin/", {"pinned": "0"})
    page.post(f"/sessions/{session.id}/archive/", {"archived": "0"})
    session.refresh_from_db()
    assert not session.pinned
    assert session.archived_at is None
    assert Change.objects.filter(noun="sessions", row_id=session.id).count() == 4


def test_a_viewer_changes_nothing(viewer: User) -> None:
    session = made("it")
    client = Client()
    client.force_login(viewer)
    for what in ("pin", "archive", "delete", "undelete"):
        response = client.post(f"/sessions/{session.id}/{what}/", {"pinned": "1", "reason": "no"})
        assert response.status_code == 403
    session.refresh_from_db()
    assert (session.pinned, session.archived_at, session.deleted_at) == (False, None, None)
    assert "Delete…" not in client.get(f"/sessions/{session.id}/").content.decode()


def test_changes_come_by_post_only(page: Client) -> None:
    session = made("it")
    assert page.get(f"/sessions/{session.id}/delete/").status_code == 405


def test_deleting_hides_it_and_its_subagents_and_refuses_their_ids(page: Client) -> None:
    session = made("it")
    child = made("child", parent=session)
    response = page.post(f"/sessions/{session.id}/delete/", {"reason": "a test run"}, follow=True)
    assert "Undo" in response.content.decode()
    assert not filtered(SessionFilter(children=True)).exists()
    assert page.get(f"/sessions/{session.id}/").status_code == 404
    assert page.get(f"/sessions/{child.id}/").status_code == 404
    for gone in (session, child):
        with pytest.raises(Conflict):
            named_session(session_id=gone.id, actor=SYSTEM)
    change = Change.objects.get(noun="sessions", row_id=session.id, field="deleted_at")
    assert change.reason == "a test run"


def test_deleting_needs_a_reason(page: Client) -> None:
    session = made("it")
    assert page.post(f"/sessions/{session.id}/delete/", {"reason": " "}).status_code == 422
    session.refresh_from_db()
    assert session.deleted_at is None


def test_a_deleted_session_comes_back_within_a_day_with_what_went_with_it(page: Client) -> None:
    session = made("it")
    child = made("child", parent=session)
    gone_before = made("gone before", parent=session)
    ending.delete_session(session=gone_before, actor=SYSTEM, reason="earlier")
    ending.delete_session(session=session, actor=SYSTEM, reason="oops")
    assert titles(page.get("/sessions/?flag=deleted&children=1")) == ["gone before", "child", "it"]
    page.post(f"/sessions/{session.id}/undelete/")
    assert page.get(f"/sessions/{session.id}/").status_code == 200
    assert page.get(f"/sessions/{child.id}/").status_code == 200
    assert list(Tombstone.objects.values_list("session_id", flat=True)) == [gone_before.id]
    assert named_session(session_id=session.id, actor=SYSTEM).key == session.key


def test_after_a_day_it_stays_deleted(page: Client) -> None:
    session = made("it")
    ending.delete_session(session=session, actor=SYSTEM, reason="done")
    session.deleted_at = clock.now() - timedelta(days=1, minutes=1)
    session.save(update_fields=["deleted_at"])
    assert page.post(f"/sessions/{session.id}/undelete/").status_code == 404
    with pytest.raises(Conflict):
        ending.undelete_session(session=session, actor=SYSTEM)
