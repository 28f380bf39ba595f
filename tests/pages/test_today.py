import html
import re
from datetime import timedelta

import pytest
from django.test import Client

from contextdash import clock
from contextdash.actor import SYSTEM
from contextdash.pages import failing
from contextdash.pages.asks import asks
from contextdash.pages.needs import Needs
from reviews_app.services.reviews import log_review, set_resolution
from sessions_app.models import Session
from sessions_app.services.decisions import log_decision
from sessions_app.services.hook_events import log_hook_event
from sessions_app.services.messages import acknowledge, write_message
from sessions_app.services.projects import create_project
from tests import factories
from tests.seed import seed_demo
from tests.teller import HOSTILE

pytestmark = pytest.mark.django_db


def text_of(response) -> str:
    return response.content.decode()


def test_an_empty_server_says_how_to_connect(page: Client):
    body = text_of(page.get("/"))
    assert "No agent has reported here yet" in body
    assert (
        'contextdash connect claude-code --url http://testserver --token "$CONTEXTDASH_TOKEN"'
        in html.unescape(body)
    )
    assert "Nobody is waiting for you." in body
    assert "<title>Today · contextdash</title>" in body


def test_the_navigation_carries_the_number_of_rows_and_the_title_that_of_waiting_sessions(page: Client):
    seed_demo()
    body = text_of(page.get("/"))
    rows = body.count('<li class="ask"')
    assert rows == Needs(None).count == 12
    waiting = Session.objects.filter(activity="waiting", deleted_at=None, archived_at=None).count()
    assert f"<title>({waiting}) Today" in body
    assert f"<span data-number>{rows}</span>" in body


def test_each_kind_is_one_click_from_its_place():
    seed_demo()
    urls = {ask.key[0]: ask.url for ask in asks(Needs(None), None)}
    assert set(urls) == {"s", "m", "r", "h", "c", "b"}
    assert all(url.startswith("/") for url in urls.values())


def test_who_stands_still_for_a_person_comes_first():
    seed_demo()
    assert [ask.key[0] for ask in asks(Needs(None), None)] == [
        "s",
        "m",
        "m",
        "r",
        "r",
        "r",
        "s",
        "s",
        "h",
        "c",
        "b",
        "b",
    ]


def test_a_waiting_session_tells_its_question_and_how_long():
    six_minutes_ago = clock.now_us() - 6 * 60_000_000
    factories.session(
        "w", activity="waiting", waiting_for="May I?", activity_since_us=six_minutes_ago, agent_name="tester"
    )
    (ask,) = asks(Needs(None), None)
    assert (ask.title, ask.url, ask.agent) == ("May I?", "/sessions/w/", "tester")
    assert clock.to_us(ask.at) == six_minutes_ago


def test_sessions_that_fell_silent_long_ago_are_history():
    long_ago = clock.now_us() - 3 * 24 * 3600 * 1_000_000
    factories.session("a", activity="working", at_us=long_ago)
    factories.session("b", activity="ended", status="errored", at_us=long_ago)
    assert asks(Needs(None), None) == []


def test_an_acknowledged_handoff_leaves():
    message = write_message(
        session_id="s", agent_name="tester", role="handoff", content="Yours.", target="devops", actor=SYSTEM
    )
    assert Needs(None).count == 1
    acknowledge(message=message, actor=SYSTEM)
    assert Needs(None).count == 0


def test_a_resolved_finding_leaves():
    review = log_review(target="a.py:1", severity="High", finding="Bad.", actor=SYSTEM)
    log_review(target="a.py:2", severity="Low", finding="Meh.", actor=SYSTEM)
    assert [ask.title for ask in asks(Needs(None), None)] == ["Bad."]
    set_resolution(review=review, to="resolved", actor=SYSTEM, reason="Done.")
    assert Needs(None).count == 0


def test_a_hook_fails_when_it_fails_often_of_late():
    def report(name: str, outcome: str, hours: float = 1) -> None:
        log_hook_event(
            hook_name=name,
            event_type="Stop",
            outcome=outcome,
            actor=SYSTEM,
            at=clock.now() - timedelta(hours=hours),
        )

    for _ in range(3):
        report("broken", "fail")
        report("rarely", "fail")
        report("yesterday", "fail", hours=25)
        report("contextdash-gate", "fail")  # its answer: this diff is not to be committed
    for _ in range(20):
        report("rarely", "ok")
    assert [hook.name for hook in failing.reports().failing] == ["broken"]


def test_a_project_narrows_everything_but_hooks(page: Client):
    mine = create_project(name="Mine", actor=SYSTEM)
    factories.session("a", activity="waiting", project=mine)
    factories.session("b", activity="waiting")
    assert Needs("mine").count == 1
    body = text_of(page.get("/?project=mine"))
    assert body.count('<li class="ask"') == 1
    assert 'href="/sessions/?project=mine"' in body


def test_hostile_texts_are_shown_as_text(page: Client):
    seed_demo()
    factories.session("h", activity="waiting", waiting_for=HOSTILE, title=HOSTILE, current_call=HOSTILE[:300])
    body = text_of(page.get("/"))
    assert "<script>alert" not in body
    assert "<img" not in body
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
    assert "\u202e" not in body


def test_nothing_new_is_an_empty_answer_and_news_is_the_fragment(page: Client):
    first = page.get("/")
    version = first["X-Version"]
    assert page.get("/", {"v": version}, headers={"HX-Request": "true"}).status_code == 204
    log_decision(topic="store", choice="SQLite", actor=SYSTEM)
    second = page.get("/", {"v": version}, headers={"HX-Request": "true"})
    assert second.status_code == 200
    body = text_of(second)
    assert body.strip().startswith('<div id="live"')
    assert "SQLite" in body
    assert "<nav" not in body


def test_days_are_those_of_the_reader(page: Client, member):
    log_decision(topic="late", choice="Last night", actor=SYSTEM, at=clock.now() - timedelta(hours=30))
    log_decision(topic="now", choice="Just now", actor=SYSTEM)
    member.time_zone = "Asia/Tokyo"
    member.save()
    body = text_of(page.get("/"))
    assert "Just now" in body
    assert "Last night" not in body
    assert "Days and times in JST" in body


def test_the_page_costs_the_same_with_many_rows(page: Client, django_assert_max_num_queries):
    seed_demo()
    with django_assert_max_num_queries(50):
        page.get("/")
    for n in range(60):
        factories.session(f"many-{n}", activity="waiting", waiting_for="?")
    with django_assert_max_num_queries(50):
        body = text_of(page.get("/"))
    assert re.search(r"are listed", body)


def test_an_unchanged_page_costs_little(page: Client, django_assert_max_num_queries):
    seed_demo()
    version = page.get("/")["X-Version"]
    with django_assert_max_num_queries(17):
        assert page.get("/", {"v": version}, headers={"HX-Request": "true"}).status_code == 204
