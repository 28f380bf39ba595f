"""The timeline: what is merged, in what order, in which windows; lanes and bars."""

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest
from django.test import Client

from contextdash import clock
from contextdash.actor import SYSTEM
from sessions_app.models import Event, Session, SessionEvent, ToolCall
from sessions_app.queries.session import family_of, find_session
from sessions_app.queries.timeline import (
    KINDS,
    TimelineFilter,
    stretch_after,
    stretch_before,
    tail_starts,
)
from sessions_app.registry import Row
from sessions_app.services.decisions import log_decision
from sessions_app.services.messages import write_message
from sessions_app.views.drawing import Lanes, bar_width
from tests import factories
from tests.sessions import deliveries
from tests.teller import Teller, started

SECOND = 1_000_000
ALL = TimelineFilter(kinds=frozenset(KINDS))
CALLS = TimelineFilter(kinds=frozenset({"call"}))
FRAME_QUERIES = 14
PAGE_QUERIES = 18
"""Of a session's page itself: session, family, a query or two for each kind of row, times by tool."""


def keys(rows: Sequence[Row]) -> list[str]:
    return [row.key for row in rows]


def calls_of(session: Session, times: Sequence[int], **values: Any) -> list[ToolCall]:
    return ToolCall.objects.bulk_create(
        ToolCall(
            session=session,
            call_id=f"{session.id}-{number}",
            name="Bash",
            state="done",
            started_us=at_us,
            ended_us=at_us + 1,
            duration_us=1,
            **values,
        )
        for number, at_us in enumerate(times)
    )


@pytest.fixture
def told(db: None) -> Teller:
    tell = started("told", 60)
    tell.note("session_start", "startup")
    tell.prompt("Make it so")
    tell.call("Bash", {"command": "ls"}, "a.txt", seconds=2)
    tell.call("Read", {"file_path": "/gone"}, error="File does not exist.\nNote: really")
    tell.answer("It is **done**.")
    tell.end()
    return tell


def test_all_kinds_of_rows_are_merged_by_time(told: Teller) -> None:
    session = told.session
    write_message(session_id=session.id, agent_name="tester", role="response", content="hello", actor=SYSTEM)
    log_decision(session=session, topic="t", choice="c", rationale="r", agent_name="tester", actor=SYSTEM)
    rows = stretch_before(family_of(find_session("told")), ALL).rows
    assert [row.kind for row in rows[:5]] == ["note", "turn", "call", "call", "turn"]
    assert {row.kind for row in rows[5:]} == {"message", "decision"}
    assert [row.at_us for row in rows] == sorted(row.at_us for row in rows)
    assert len(set(keys(rows))) == len(rows)


def test_a_kind_that_is_not_asked_for_is_left_out(told: Teller) -> None:
    rows = stretch_before(family_of(told.session), CALLS).rows
    assert [row.kind for row in rows] == ["call", "call"]


def test_only_failures(told: Teller) -> None:
    told.note("turn_failed", "rate_limit", priority=1)
    rows = stretch_before(family_of(told.session), TimelineFilter(frozenset(KINDS), only_failed=True)).rows
    assert [(row.kind, row.failed) for row in rows] == [("call", True), ("note", True)]


@pytest.mark.parametrize("spread", [1, 7, 40, 1000], ids=lambda n: f"{n} rows a moment")
def test_windows_follow_each_other_without_a_gap_or_a_repeat(db: None, spread: int) -> None:
    """Even where one moment holds more rows than a window."""
    session = factories.session()
    child = factories.session(parent=session)
    start = clock.now_us()
    calls_of(session, [start + number // spread for number in range(60)])
    calls_of(child, [start + number // spread for number in range(40)])
    SessionEvent.objects.bulk_create(
        SessionEvent(session=session, type="notification", occurred_us=start + number // spread)
        for number in range(20)
    )
    family, cursor, seen, windows = family_of(session), None, [], 0
    whole = keys(stretch_before(family, ALL, limit=500).rows)
    while True:
        stretch = stretch_before(family, ALL, cursor=cursor, limit=9)
        seen = keys(stretch.rows) + seen
        windows += 1
        if stretch.earlier is None:
            break
        cursor = stretch.earlier
    assert len(whole) == 120
    assert seen == whole
    assert windows == 14


def test_a_subagents_calls_stand_in_its_own_lane(db: None) -> None:
    session, child = _with_child()
    rows = stretch_before(family_of(session), ALL).rows
    assert [(row.kind, row.session_key) for row in rows] == [
        ("call", None),
        ("call", child.key),
        ("turn", child.key),
        ("call", None),
    ]
    lanes = Lanes(family_of(session))
    drawn = lanes.draw(stretch_before(family_of(session), ALL), clock.now_us())
    assert [lane.name for lane in lanes.all] == ["you", "main", "tester"]
    spawn, inside, answer, after = (str(row.lanes) for row in drawn)
    assert "M27 17h11q7 0 7 7v3e3" in spawn
    assert 'class="a1 w" d="M27 0v3e3"' in inside
    assert "M45 0v3e3" in inside
    assert "M45 0v10q0 7-7 7h-11" in answer
    assert "M45" not in after


def test_there_are_at_most_eight_lanes(db: None) -> None:
    session = factories.session()
    for number in range(12):
        factories.session(parent=session, agent_name=f"agent-{number}")
    family = family_of(session)
    lanes = Lanes(family, ["another", "main"])
    assert len(lanes.all) == 8
    assert {lane.slot for lane in lanes.all} <= set(range(9))


def test_subagents_of_subagents_belong_to_the_family(db: None) -> None:
    session = factories.session()
    child = factories.session(parent=session, child_count=1)
    grandchild = factories.session(parent=child)
    calls_of(grandchild, [clock.now_us()])
    assert [row.session_key for row in stretch_before(family_of(session), CALLS).rows] == [grandchild.key]


def test_the_duration_bar_is_logarithmic() -> None:
    assert bar_width(1) == "2%"
    assert bar_width(214_000) == "15%"
    assert bar_width(312 * SECOND) == "93%"
    assert bar_width(10**12) == "100%"


def test_a_running_call_is_where_the_tail_begins(told: Teller) -> None:
    told.at_us += SECOND
    running = told.call("Bash", {"command": "sleep"})
    told.at_us += SECOND
    told.note("notification", "hello")
    rows = stretch_before(family_of(told.session), ALL).rows
    assert tail_starts(rows) == running.started_us
    tail = stretch_after(family_of(told.session), ALL, from_us=running.started_us)
    assert [row.kind for row in tail.rows] == ["call", "note"]


# == The page ==


def test_a_page_tells_the_whole_story_of_real_deliveries(page: Client) -> None:
    start = clock.now_us() - 600 * SECOND
    bodies = [path.read_bytes() for path in deliveries.REAL]
    deliveries.deliver(*(deliveries.seen(raw, start + number * SECOND) for number, raw in enumerate(bodies)))
    session = find_session("5936b8ba")
    text = page.get(f"/sessions/{session.id}/").content.decode()
    assert "Write a calculator module that adds integers" in text
    assert "Done: calc.py adds integers." in text
    assert "failed, File does not exist." in text
    assert "failed, Exit code 3" in text
    assert "general-purpose" in text
    assert "Finding: High: int() raises ValueError" in text
    assert len(re.findall(r'data-row="c-\d+"', text)) == 9
    assert ">running<" not in text.lower()
    tools = page.get(f"/sessions/{session.id}/?part=tools", headers={"HX-Request": "true"}).content.decode()
    assert "with its subagents" in tools


def test_a_short_prefix_a_clients_own_id_and_latest_lead_to_the_one_address(page: Client) -> None:
    session = factories.session("abcdef-1", external_id="söme id")
    for ref in ("abcdef", "latest"):
        response = page.get(f"/sessions/{ref}/?failed=1")
        assert response.status_code == 302
        assert response["Location"] == f"/sessions/{session.id}/?failed=1"


@pytest.mark.parametrize("ref", ["nowhere", "abc", "twin", "a%20b", "x" * 200, "latest"])
def test_a_session_that_is_not_there_is_404(page: Client, ref: str) -> None:
    factories.session("twin-1", parent=factories.session("abc-parent", deleted_at=clock.now()))
    factories.session("twin-2", parent=Session.objects.get(id="abc-parent"))
    assert page.get(f"/sessions/{ref}/").status_code == 404
    assert page.get(f"/sessions/{ref}/ledger/").status_code == 404


@pytest.mark.parametrize("query", ["before=x", "before=1", "before=1.x", f"before={'9' * 30}.1"])
def test_a_cursor_that_is_not_ours_is_refused(page: Client, told: Teller, query: str) -> None:
    assert page.get(f"/sessions/told/?{query}").status_code == 422


@pytest.mark.parametrize(
    "query", ["kind=nonsense", "at=x", "at=99999999999999999999", "after=-1", "failed=0"]
)
def test_other_nonsense_in_the_address_is_ignored(page: Client, told: Teller, query: str) -> None:
    assert page.get(f"/sessions/told/?{query}").status_code == 200


def test_earlier_rows_come_as_a_fragment_and_as_a_page(page: Client, db: None) -> None:
    session = factories.session("long")
    calls_of(session, [clock.now_us() - number for number in range(150)])
    text = page.get("/sessions/long/").content.decode()
    address = re.search(r'hx-get="(/sessions/long/\?before=[^"]*)"', text)
    assert address
    fragment = page.get(address[1], headers={"HX-Request": "true"}).content.decode()
    assert len(re.findall('data-row="', fragment)) == 30
    assert "Earlier rows" not in fragment
    assert "<html" not in fragment
    whole = page.get(address[1]).content.decode()
    assert "Newest rows" in whole
    assert 'id="live"' not in whole


def test_a_link_to_an_old_row_shows_it_with_what_came_after(page: Client, db: None) -> None:
    session = factories.session("long")
    start = clock.now_us() - 10_000
    made = calls_of(session, [start + number for number in range(400)])
    text = page.get(f"/sessions/long/?at={made[100].started_us}").content.decode()
    assert f'id="c-{made[100].key}"' in text
    assert f'id="c-{made[120].key}"' in text
    assert f'id="c-{made[399].key}"' not in text
    newest = page.get(f"/sessions/long/?at={made[390].started_us}").content.decode()
    assert 'id="live"' in newest


def test_an_open_page_gets_new_rows_only(page: Client, told: Teller) -> None:
    first = page.get("/sessions/told/")
    address = re.search(r'data-live="(/sessions/told/\?after=\d+)"', first.content.decode())
    assert address
    version = first["X-Version"]
    ask = f"{address[1]}&v={version}"
    assert page.get(ask, headers={"HX-Request": "true"}).status_code == 204
    told.call("Bash", {"command": "make"}, "ok")
    told.end()
    answer = page.get(ask, headers={"HX-Request": "true"})
    text = answer.content.decode()
    assert len(re.findall('data-row="', text)) == 2  # the newest that was shown, and the new one
    assert len(answer.content) < 5000


def test_a_turn_that_runs_is_told_anew_until_it_ends(page: Client, told: Teller) -> None:
    told.prompt("And again")
    text = page.get("/sessions/told/").content.decode()
    heads = re.findall(r'id="turn-(\d)-told"( data-live="([^"]*)")?', text)
    assert heads[0] == ("1", "", "")
    address = unescape(heads[1][2])
    told.call("Bash", {"command": "make"}, "ok")
    told.answer("Done again.")
    told.end()
    answer = page.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "1 call" in answer
    assert "running" not in answer
    assert "data-live" not in answer
    gone = address.replace("number=2", "number=9")
    assert page.get(gone, headers={"HX-Request": "true"}).status_code == 404


def test_the_head_of_an_open_page_follows_too(page: Client, told: Teller) -> None:
    told.end(activity="waiting", waiting_for="May I push?")
    text = page.get("/sessions/told/?part=facts", headers={"HX-Request": "true"}).content.decode()
    assert "Needs you" in text
    assert "May I push?" in text
    assert "<ol" not in text


def test_a_question_that_waits_is_marked_until_it_is_answered(page: Client, told: Teller) -> None:
    told.note("permission", "Bash: rm -rf /")
    told.end(activity="waiting", activity_since_us=told.at_us - SECOND)
    assert "ev--wait" in page.get("/sessions/told/").content.decode()
    told.end(activity="working")
    assert "ev--wait" not in page.get("/sessions/told/").content.decode()


def test_a_hand_off_waits_until_its_target_writes(page: Client, told: Teller) -> None:
    session = told.session
    write_message(
        session_id=session.id,
        agent_name="tester",
        role="handoff",
        target="main",
        content="yours",
        actor=SYSTEM,
    )
    assert "Acknowledge" in page.get("/sessions/told/").content.decode()
    write_message(session_id=session.id, agent_name="main", role="response", content="mine", actor=SYSTEM)
    assert "Acknowledge" not in page.get("/sessions/told/").content.decode()


def test_a_session_of_ten_thousand_events_costs_what_a_small_one_costs(
    page: Client, told: Teller, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(PAGE_QUERIES + FRAME_QUERIES):
        small = page.get("/sessions/told/")
    session = _ten_thousand_events()
    with django_assert_max_num_queries(PAGE_QUERIES + FRAME_QUERIES + 1):
        big = page.get(f"/sessions/{session.id}/")
    assert len(re.findall('data-row="', big.content.decode())) == 120
    assert len(big.content) < 250_000
    assert len(small.content) < 60_000
    with django_assert_max_num_queries(4):
        assert page.get(f"/sessions/{session.id}/", {"v": big["X-Version"]}).status_code == 204


# == Clocks that disagree ==


def test_a_call_that_ends_before_it_starts_has_no_length(page: Client, db: None) -> None:
    """Times stay as they were told; the length is unknown and marked, and sums are not poisoned."""
    session = factories.session("clocks")
    now_us = clock.now_us()
    ToolCall.objects.create(
        session=session,
        call_id="a",
        name="Bash",
        state="done",
        started_us=now_us,
        ended_us=now_us - 300 * SECOND,
    )
    calls_of(session, [now_us - SECOND])
    text = page.get("/sessions/clocks/").content.decode()
    assert text.count('<span class="label">clock</span>') == 1
    assert "-300" not in text
    assert "-5m" not in text


def test_a_session_that_ends_before_it_starts_says_clock(page: Client, db: None) -> None:
    now_us = clock.now_us()
    factories.session("clocks", at_us=now_us, ended_at=clock.from_us(now_us - 300 * SECOND), activity="ended")
    text = page.get("/sessions/clocks/").content.decode()
    assert "Its clocks disagree" in text


def test_a_row_of_2099_is_shown_and_the_page_still_answers(page: Client, told: Teller) -> None:
    calls_of(told.session, [clock.parse_us("2099-01-01T00:00:00Z") or 0])
    text = page.get("/sessions/told/").content.decode()
    assert "1 January 2099" in text
    assert re.search(r'data-live="/sessions/told/\?after=\d+"', text)


def _with_child() -> tuple[Session, Session]:
    tell = started("parent", 10)
    child = factories.session(
        "child",
        parent=tell.session,
        agent_name="tester",
        at_us=tell.at_us + SECOND,
        activity="ended",
        ended_at=clock.now(),
    )
    spawn = tell.call("Agent", {"prompt": "look"}, "found", seconds=30)
    ToolCall.objects.filter(key=spawn.key).update(child=child)
    below = Teller(child, spawn.started_us + 2 * SECOND)
    below.prompt("look")
    below.call("Read", {"file_path": "/a"}, "text")
    below.answer("Found **two**.")
    Session.objects.filter(key=child.key).update(last_us=below.at_us)
    tell.at_us += SECOND
    tell.call("Bash", {"command": "ls"}, "ok")
    tell.end()
    return tell.session, child


def _ten_thousand_events() -> Session:
    tell = started("big", 600)
    session = tell.session
    for number in range(20):
        tell.prompt(f"Turn {number}: " + "please do a good deal of work. " * 40)
        tell.answer("Done, at length. " * 100)
    children = [factories.session(f"big-{name}", parent=session, agent_name=name) for name in "abcd"]
    start = tell.at_us
    for owner, number in ((session, 3800), *((child, 300) for child in children)):
        calls = calls_of(
            owner, [start + n * SECOND for n in range(number)], summary="pytest -q tests/" + "x" * 150
        )
        Event.objects.bulk_create(
            Event(
                session=owner,
                ordinal=100_000 + 2 * place + half,
                source="hook",
                client="claude-code",
                name=name,
                kind=name,
                identity=f"{call.key}-{half}".encode()[:16],
                content=b"c" * 16,
                occurred_us=call.started_us,
                received_us=call.started_us,
                payload=b"",
                payload_size=0,
            )
            for place, call in enumerate(calls)
            for half, name in enumerate(("PreToolUse", "PostToolUse"))
        )
    session = tell.end(child_count=4)
    assert Event.objects.count() > 10_000
    return session


def test_calls_that_only_look_are_folded_into_one_row(page: Client, db: None) -> None:
    tell = started("folds", 30)
    tell.prompt("Look around")
    names = ("Read", "Grep", "Read", "mcp__fs__read_file", "Read")
    looks = [tell.call(name, {"path": "x"}, "y") for name in names]
    change = tell.call("Edit", {"file_path": "x"}, "y")
    few = [tell.call("Read", {"path": "x"}, "y") for _ in range(3)]
    bad = tell.call("Read", {"path": "x"}, error="not there")
    last = tell.call("Bash", {"command": "make"}, "ok")
    tell.answer("done")
    tell.end()
    text = page.get("/sessions/folds/").content.decode()
    fold = re.search(r'<li class="ev ev--fold".*?</ol></details></li>', text, re.S)
    assert fold
    assert "5 reads" in fold[0]
    assert "Read ×3" in fold[0]
    assert re.findall(r'data-row="c-(\d+)"', fold[0]) == [str(call.key) for call in looks]
    assert f'data-at="{looks[-1].started_us}"' in fold[0]
    for call in (change, *few, bad, last):
        assert f'id="c-{call.key}"' in text.replace(fold[0], "")
    assert "ev--fold" not in page.get("/sessions/folds/?failed=1").content.decode()
