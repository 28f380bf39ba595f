"""Erasing: what a purge takes and leaves, slices, a killed purge, retention, and what pages say of it."""

import threading
import zlib
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client

from contextdash import clock, db
from contextdash.actor import SYSTEM, Actor
from contextdash.background import Background, Task
from contextdash.errors import Forbidden, Invalid
from contextdash.writer import writer
from sessions_app.housekeeping import forget_buckets, forget_quarantined
from sessions_app.models import (
    Decision,
    Event,
    HookBucket,
    Purge,
    Quarantined,
    Session,
    SessionEvent,
    ToolCall,
    Turn,
)
from sessions_app.services import purging
from sessions_app.services.decisions import log_decision
from sessions_app.services.purging import drive_on, finish_purges, open_purges, open_retention, purge_session
from tests import factories
from tests.sessions.deliveries import body, deliver, seen, tool

DAY_US = 86_400_000_000
pytestmark = pytest.mark.django_db


def told(session_id: str = "s1", calls: int = 3, at_us: int | None = None) -> Session:
    """A session with a prompt and some calls, as hooks tell it."""
    deliver(
        seen(body("UserPromptSubmit", session_id, prompt="Do it"), at_us),
        *(
            seen({**tool(event, f"{session_id}-{n}"), "session_id": session_id}, at_us)
            for n in range(calls)
            for event in ("PreToolUse", "PostToolUse")
        ),
    )
    return Session.objects.get(id=session_id)


def left(session: Session) -> int:
    return Event.objects.filter(session=session).count()


def test_a_purge_takes_every_event_and_leaves_what_they_meant():
    session = told()
    log_decision(session="s1", topic="cache", choice="none", actor=SYSTEM)
    other = told("s2")
    meant = [model.objects.filter(session=session).count() for model in (Turn, ToolCall, SessionEvent)]
    purge = purge_session(session=session, actor=SYSTEM, reason="an address was in it")
    assert (purge.events_deleted, left(session), left(other)) == (7, 0, 7)
    assert purge.bytes_deleted > 100
    assert purge.finished_at is not None
    assert meant == [
        model.objects.filter(session=session).count() for model in (Turn, ToolCall, SessionEvent)
    ]
    assert Decision.objects.filter(session=session).count() == 1


def test_subagents_are_erased_with_it_each_with_a_row_of_its_own():
    session = told()
    child = told("child")
    Session.objects.filter(key=child.key).update(parent=session)
    purge_session(session=session, actor=SYSTEM, reason="asked")
    assert (left(session), left(child)) == (0, 0)
    assert Purge.objects.filter(finished_at=None).count() == 0
    assert set(Purge.objects.values_list("session_key", flat=True)) == {session.key, child.key}


def test_a_reason_is_needed_and_a_member_is_refused(member, owner):
    session = told()
    with pytest.raises(Invalid):
        purge_session(session=session, actor=SYSTEM, reason="  ")
    with pytest.raises(Forbidden):
        purge_session(session=session, actor=Actor(user=member), reason="I want it")
    assert (left(session), Purge.objects.count()) == (7, 0)
    purge_session(session=session, actor=Actor(user=owner), reason="I may")
    assert Purge.objects.get().user == owner


def test_what_arrives_after_somebody_asked_stays():
    session = told()
    purge = open_purges(session=session, actor=SYSTEM, reason="asked")[0]
    told("s1", calls=0, at_us=clock.now_us() + 5_000_000)
    drive_on(purge)
    assert left(session) == 1
    assert not Purge.objects.filter(finished_at=None).exists()


def test_slices_are_bounded_by_rows_and_by_bytes(monkeypatch):
    monkeypatch.setattr(purging, "SLICE_EVENTS", 4)
    session = told(calls=6)
    sizes: list[int] = []
    before = left(session)
    purge_session(
        session=session, actor=SYSTEM, reason="asked", tell=lambda purge: sizes.append(left(session))
    )
    assert before == 13
    assert all(earlier - later <= 4 for earlier, later in zip([before, *sizes], sizes, strict=False))
    assert purging._slice([(1, 100), (2, purging.SLICE_BYTES), (3, 1)]) == ([1], 100)
    assert purging._slice([(1, 3 * purging.SLICE_BYTES), (2, 1)]) == ([1], 3 * purging.SLICE_BYTES)


def test_a_purge_that_was_killed_in_its_middle_is_driven_to_its_end_by_the_background(monkeypatch):
    monkeypatch.setattr(purging, "SLICE_EVENTS", 2)
    session, other = told(), told("s2")
    purge = open_purges(session=session, actor=SYSTEM, reason="asked")[0]
    purging._Walk(purge).step()  # and then its process was killed
    assert 0 < left(session) < 7
    steps = 0
    while finish_purges():
        steps += 1
    assert (left(session), left(other)) == (0, 7)
    assert steps > 2
    purge.refresh_from_db()
    assert (purge.finished_at is not None, purge.events_deleted) == (True, 7)
    with pytest.raises(DatabaseError, match="purge"), transaction.atomic():
        Event.objects.filter(session=other).delete()
    told("s1", calls=1)
    with pytest.raises(DatabaseError, match="purge"), transaction.atomic():
        Event.objects.filter(session=session).delete()


def test_two_that_drive_one_purge_do_no_harm():
    session = told()
    first = open_purges(session=session, actor=SYSTEM, reason="asked")[0]
    ours, theirs = purging._Walk(first), purging._Walk(first)
    while ours.step() | theirs.step():
        pass
    first.refresh_from_db()
    assert (left(session), first.events_deleted) == (0, 7)


@pytest.mark.django_db(transaction=True)
def test_the_background_thread_finishes_a_purge_in_a_serving_process():
    session = told(calls=20)
    open_purges(session=session, actor=SYSTEM, reason="asked")
    writer.start()
    background = Background([Task("purges", "Erasing", 0, finish_purges)], beat_seconds=0.02)
    background.start()
    try:
        done = threading.Event()
        for _ in range(500):
            if left(session) == 0 and not Purge.objects.filter(finished_at=None).exists():
                done.set()
                break
            done.wait(0.02)
        assert done.is_set()
    finally:
        background.stop()
        writer.stop()


# Retention


def test_retention_is_off_unless_asked_for(settings):
    settings.RETENTION_DAYS = None
    told(at_us=clock.now_us() - 4000 * DAY_US)
    open_retention()
    assert not Purge.objects.exists()


def test_retention_erases_what_is_older_and_nothing_else(settings):
    settings.RETENTION_DAYS = 30
    now_us = clock.now_us()
    old, young = told("old", at_us=now_us - 31 * DAY_US), told("young", at_us=now_us - 29 * DAY_US)
    open_retention()
    open_retention()
    purge = Purge.objects.get()
    assert purge.reason == "RETENTION_DAYS=30"
    while finish_purges():
        pass
    purge.refresh_from_db()
    assert (left(old), left(young), purge.events_deleted) == (0, 7, 7)
    assert purge.finished_at is not None
    assert ToolCall.objects.filter(session=old).count() == 3
    open_retention()
    assert Purge.objects.count() == 1, "nothing is too old now: no row"


def test_retention_passes_events_of_a_clock_that_was_ahead(settings, monkeypatch):
    settings.RETENTION_DAYS = 30
    monkeypatch.setattr(purging, "WALK_EVENTS", 3)
    now_us = clock.now_us()
    told("first", calls=0, at_us=now_us - 40 * DAY_US)
    ahead = told("ahead", calls=3, at_us=now_us + 400 * DAY_US)
    old = told("old", at_us=now_us - 31 * DAY_US)
    young = told("young", at_us=now_us)
    open_retention()
    while finish_purges():
        pass
    assert (left(ahead), left(old), left(young)) == (7, 0, 7)


@pytest.mark.parametrize("text", ["0", "-1", "a month", "36501"])
def test_a_number_of_days_that_is_none_stops_the_start(monkeypatch, text):
    from django.core.exceptions import ImproperlyConfigured

    from contextdash.env import env_days

    monkeypatch.setenv("RETENTION_DAYS", text)
    with pytest.raises(ImproperlyConfigured, match="RETENTION_DAYS"):
        env_days("RETENTION_DAYS")


def test_old_counts_and_refused_bodies_are_forgotten():
    long_ago = clock.now() - timedelta(days=91)
    for at_us in (clock.to_us(long_ago), clock.now_us()):
        HookBucket.objects.create(start_us=at_us, client="codex", event="Stop")
    for at in (long_ago, clock.now()):
        Quarantined.objects.create(source="hook", reason="malformed", at=at)
    assert not forget_buckets()
    assert not forget_quarantined()
    assert (HookBucket.objects.count(), Quarantined.objects.count()) == (1, 1)


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_the_file_does_not_go_on_holding_what_was_erased():
    session = told(calls=1)
    payload = bytes(Event.objects.filter(session=session, name="PostToolUse").get().payload)
    path = db.database_file()
    assert path is not None
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert payload[10:60] in path.read_bytes()
    assert zlib.decompress(payload)
    purge_session(session=session, actor=SYSTEM, reason="asked")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("PRAGMA secure_delete")
        assert cursor.fetchone()[0] == 0
    assert payload[10:60] not in path.read_bytes()


# Pages


@pytest.fixture
def owners_page(owner) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def test_an_owner_erases_in_the_page_and_reads_there_who_why_and_how_much(owners_page):
    session = told()
    answer = owners_page.post("/sessions/s1/purge/", {"reason": "a <b>customer</b>"}, follow=True)
    assert "Erased for good: 7 events." in answer.content.decode()
    kept = owners_page.get("/settings/kept/").content.decode()
    assert "olga" in kept
    assert "a &lt;b&gt;customer&lt;/b&gt;" in kept
    call = ToolCall.objects.filter(session=session).first()
    assert call is not None
    opened = owners_page.get(f"/sessions/s1/calls/{call.key}/").content.decode()
    assert "by olga (a &lt;b&gt;customer&lt;/b&gt;); the summary stays." in opened
    assert (
        "by olga (a &lt;b&gt;customer&lt;/b&gt;). What they meant"
        in owners_page.get("/sessions/s1/ledger/").content.decode()
    )


def test_pages_say_what_retention_erased(owners_page, settings):
    settings.RETENTION_DAYS = 30
    session = told(at_us=clock.now_us() - 31 * DAY_US)
    open_retention()
    while finish_purges():
        pass
    call = ToolCall.objects.filter(session=session).first()
    assert call is not None
    assert "by retention" in owners_page.get(f"/sessions/s1/calls/{call.key}/").content.decode()
    assert "by retention" in owners_page.get("/sessions/s1/ledger/").content.decode()
    kept = owners_page.get("/settings/kept/").content.decode()
    assert "All sessions, older than" in kept
    assert "30 days; what they meant stays" in kept


def test_a_long_purge_goes_on_after_the_answer_and_the_page_shows_how_far(owners_page, monkeypatch):
    monkeypatch.setattr("contextdash.pages.settings.PURGE_SECONDS", -1.0)
    monkeypatch.setattr(purging, "SLICE_EVENTS", 4)
    told()
    answer = owners_page.post("/sessions/s1/purge/", {"reason": "asked"}, follow=True)
    text = answer.content.decode()
    assert answer.redirect_chain[-1][0] == "/settings/kept/"
    assert "Being erased now" in text
    assert "events so far" in text
    version = answer.headers["X-Version"]
    finish_purges()
    assert owners_page.get(f"/settings/kept/?v={version}").status_code == 200
    while finish_purges():
        pass
    assert "Being erased now" not in owners_page.get("/settings/kept/").content.decode()


def test_a_member_is_offered_no_erasing_and_refused(page):
    told()
    assert "Erase what it holds" not in page.get("/sessions/s1/").content.decode()
    assert page.post("/sessions/s1/purge/", {"reason": "me"}).status_code == 403
    assert Event.objects.count() == 7


def test_the_page_costs_the_same_with_many_rows(owners_page, django_assert_max_num_queries):
    for n in range(30):
        purge_session(session=factories.session(f"p{n}"), actor=SYSTEM, reason="asked")
    with django_assert_max_num_queries(22):
        assert owners_page.get("/settings/kept/").status_code == 200
