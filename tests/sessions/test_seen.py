"""Seen up to here: each person's own, in the list and in the timeline."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from contextdash import clock
from contextdash.models import User
from sessions_app.models import AgentMessage, SeenMark, Session
from sessions_app.queries import timeline
from sessions_app.queries.seen import last_looks, timeline_seen_us, unseen_keys
from sessions_app.services.messages import write_message
from sessions_app.services.seen import see_rows, see_timeline
from tests import factories

pytestmark = pytest.mark.django_db

HOUR = 3_600_000_000


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def joined_long_ago(member: User, viewer: User) -> None:
    User.objects.update(date_joined=clock.now() - timedelta(days=30))
    for user in (member, viewer):
        user.refresh_from_db()


@pytest.fixture
def spoken(member: User) -> Session:
    """A session with six messages, a minute apart."""
    session = factories.session("s-1", title="Refunds")
    start = clock.now() - timedelta(hours=1)
    for n in range(6):
        write_message(
            session_id=session.id,
            agent_name="tester",
            role="response",
            content=f"message {n}",
            at=start + timedelta(minutes=n),
            actor=factories.SYSTEM,
        )
    session.refresh_from_db()
    return session


def rows_of(body: str) -> list[tuple[str, bool]]:
    """Each row of the list with whether it is unseen."""
    return [
        (key, "unseen" in row)
        for key, row in re.findall(r'<tr data-row="s-(\d+)"(.*?)</tr>', body, re.DOTALL)
    ]


def line_before(body: str) -> str | None:
    """The message under the line of the timeline."""
    found = re.search(r'id="seen".*?</li>.*?(message \d)', body, re.DOTALL)
    return found[1] if found else None


# The list


@pytest.mark.usefixtures("joined_long_ago")
def test_a_session_is_new_until_its_row_was_on_the_screen_and_again_when_it_changes(member):
    session = factories.session("s-1")
    page = browser_of(member)
    assert rows_of(page.get("/sessions/").text) == [(str(session.key), True)]
    told = page.post("/profile/seen/sessions/", {"row": f"{session.key}.{session.last_us}"})
    assert told.status_code == 204
    assert rows_of(page.get("/sessions/").text) == [(str(session.key), False)]
    Session.objects.filter(key=session.key).update(last_us=session.last_us + 1)
    assert rows_of(page.get("/sessions/").text) == [(str(session.key), True)]


@pytest.mark.usefixtures("joined_long_ago")
def test_what_one_person_has_seen_is_still_new_to_another(member, viewer):
    session = factories.session("s-1")
    see_rows(user=viewer, last_us={session.key: session.last_us})
    assert unseen_keys(viewer, [session]) == frozenset()
    assert unseen_keys(member, [session]) == {session.key}
    assert "changed since you last looked" in browser_of(member).get("/sessions/").text
    assert "changed since you last looked" not in browser_of(viewer).get("/sessions/").text


@pytest.mark.usefixtures("joined_long_ago")
def test_reading_the_timeline_counts_for_the_list(member):
    session = factories.session("s-1")
    see_timeline(user=member, session=session, up_to_us=session.last_us)
    assert unseen_keys(member, [session]) == frozenset()


def test_what_happened_before_somebody_joined_is_not_new_to_them(member):
    old = factories.session("old", at_us=clock.to_us(member.date_joined) - HOUR)
    later = factories.session("later")
    assert unseen_keys(member, [old, later]) == {later.key}


def test_only_the_row_that_was_seen_is_marked_whatever_the_filter_hides(member):
    seen, hidden = factories.session("seen"), factories.session("hidden")
    browser_of(member).post("/profile/seen/sessions/", {"row": f"{seen.key}.{seen.last_us}"})
    assert unseen_keys(member, [seen, hidden]) == {hidden.key}


# Marks


def test_marks_only_move_on_and_never_into_the_future(member):
    session = factories.session("s-1")
    now_us = clock.now_us()
    see_timeline(user=member, session=session, up_to_us=now_us - 10)
    see_timeline(user=member, session=session, up_to_us=now_us - HOUR)
    assert timeline_seen_us(member, session) == now_us - 10
    see_timeline(user=member, session=session, up_to_us=now_us + HOUR)
    seen_us = timeline_seen_us(member, session)
    assert seen_us is not None
    assert now_us <= seen_us <= clock.now_us()


def test_a_row_in_the_list_says_nothing_of_the_timeline(member):
    session = factories.session("s-1")
    see_rows(user=member, last_us={session.key: session.last_us})
    assert timeline_seen_us(member, session) is None


def test_unknown_sessions_are_left_out_and_the_rest_is_marked(member):
    session = factories.session("s-1")
    see_rows(user=member, last_us={session.key: 5, 10**15: 5})
    assert SeenMark.objects.get().session == session


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/profile/seen/sessions/", {"row": "x.1"}),
        ("/profile/seen/sessions/", {"row": "1"}),
        ("/profile/seen/sessions/", {"row": f"1.{'9' * 30}"}),
        ("/profile/seen/sessions/s-1/", {"up_to": "-1"}),
        ("/profile/seen/sessions/s-1/", {}),
    ],
)
def test_what_is_no_moment_is_refused(path, told, page):
    factories.session("s-1")
    assert page.post(path, told).status_code == 422
    assert not SeenMark.objects.exists()


def test_a_session_that_is_not_there_is_told(page):
    assert page.post("/profile/seen/sessions/nothing/", {"up_to": "1"}).status_code == 404


def test_viewers_have_marks_of_their_own(viewer):
    session = factories.session("s-1")
    assert browser_of(viewer).post("/profile/seen/sessions/s-1/", {"up_to": "5"}).status_code == 204
    assert timeline_seen_us(viewer, session) == 5
    assert set(last_looks()) == {viewer.pk}


def test_marks_go_with_the_session_and_with_the_person(member, viewer):
    session = factories.session("s-1")
    for user in (member, viewer):
        see_timeline(user=user, session=session, up_to_us=5)
    viewer.delete()
    assert SeenMark.objects.count() == 1
    Session.objects.filter(key=session.key).delete()
    assert not SeenMark.objects.exists()


def test_a_full_list_is_marked_and_read_with_few_queries(member, django_assert_max_num_queries):
    sessions = [factories.session() for _ in range(50)]
    with django_assert_max_num_queries(55):  # one small statement for each row, in one transaction
        see_rows(user=member, last_us={session.key: session.last_us for session in sessions})
    with django_assert_max_num_queries(1):
        unseen_keys(member, sessions)


# The timeline


def moment_of(session: Session, n: int) -> int:
    return clock.to_us(AgentMessage.objects.filter(session=session).order_by("ts")[n].ts)


def test_the_line_is_between_what_was_seen_and_what_was_not(page, member, spoken):
    assert line_before(page.get("/sessions/s-1/").text) is None
    see_timeline(user=member, session=spoken, up_to_us=moment_of(spoken, 2))
    body = page.get("/sessions/s-1/").text
    assert line_before(body) == "message 3"
    assert body.count('id="seen"') == 1
    assert 'href="#seen"' in body


def test_another_persons_line_is_elsewhere(page, member, viewer, spoken):
    see_timeline(user=member, session=spoken, up_to_us=moment_of(spoken, 2))
    see_timeline(user=viewer, session=spoken, up_to_us=moment_of(spoken, 4))
    assert line_before(page.get("/sessions/s-1/").text) == "message 3"
    assert line_before(browser_of(viewer).get("/sessions/s-1/").text) == "message 5"


def test_without_anything_new_there_is_no_line(page, member, spoken):
    see_timeline(user=member, session=spoken, up_to_us=moment_of(spoken, 5))
    assert 'id="seen"' not in page.get("/sessions/s-1/").text


def test_what_comes_while_one_reads_is_below_the_line_that_stays(page, member, spoken):
    see_timeline(user=member, session=spoken, up_to_us=moment_of(spoken, 5))
    body = page.get("/sessions/s-1/").text
    tail = re.search(r'id="live" data-live="([^"]+)"', body)[1].replace("&amp;", "&")
    write_message(
        session_id=spoken.id,
        agent_name="tester",
        role="response",
        content="message 6",
        actor=factories.SYSTEM,
    )
    see_timeline(user=member, session=spoken, up_to_us=clock.now_us())
    news = page.get(tail, headers={"HX-Request": "true"}).text
    assert line_before(news) == "message 6"


def test_a_line_above_the_tail_is_not_drawn_again_in_it(page, member, spoken):
    see_timeline(user=member, session=spoken, up_to_us=moment_of(spoken, 2))
    body = page.get("/sessions/s-1/").text
    tail = re.search(r'id="live" data-live="([^"]+)"', body)[1].replace("&amp;", "&")
    assert 'id="seen"' not in page.get(tail, headers={"HX-Request": "true"}).text


@pytest.mark.parametrize(("seen", "whole", "earlier"), [(0, None, "message 1"), (3, "message 4", None)])
def test_the_line_is_once_wherever_the_pages_of_a_long_timeline_part(
    seen, whole, earlier, page, member, spoken, monkeypatch
):
    monkeypatch.setattr(timeline.stretch_before, "__kwdefaults__", {"cursor": None, "limit": 3})
    see_timeline(user=member, session=spoken, up_to_us=moment_of(spoken, seen))
    body = page.get("/sessions/s-1/").text
    assert line_before(body) == whole
    more = re.search(r'hx-get="([^"]+)"', body)[1].replace("&amp;", "&")
    fragment = page.get(more, headers={"HX-Request": "true"}).text
    assert line_before(fragment) == earlier


def test_the_line_ends_the_earlier_rows_when_all_of_them_were_seen(page, member, spoken, monkeypatch):
    monkeypatch.setattr(timeline.stretch_before, "__kwdefaults__", {"cursor": None, "limit": 3})
    see_timeline(user=member, session=spoken, up_to_us=moment_of(spoken, 2))
    body = page.get("/sessions/s-1/").text
    assert 'id="seen"' not in body
    more = re.search(r'hx-get="([^"]+)"', body)[1].replace("&amp;", "&")
    fragment = page.get(more, headers={"HX-Request": "true"}).text
    assert fragment.rstrip().endswith('id="seen">You had seen up to here</li>')
