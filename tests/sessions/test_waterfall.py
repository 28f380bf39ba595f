"""The waterfall: lanes, zoom by address, bars that lead to rows, heaps of what is too much; the tree."""

import re
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from contextdash import clock
from contextdash.ids import digest16
from sessions_app.models import Iteration, Run, Session, ToolCall
from sessions_app.queries.session import family_of
from sessions_app.queries.subagents import agents_of
from sessions_app.queries.waterfall import Stretch, picture, whole_of
from sessions_app.views.waterfall_drawing import draw, since_start, ticks
from tests import factories
from tests.teller import HOSTILE, RTL, Teller, started

HOME = "/sessions/one/waterfall/"
SECOND = 1_000_000


@pytest.fixture
def tell(db: None) -> Teller:
    return started("one", 30)


def read(page: Client, **query: Any) -> str:
    response = page.get(HOME, query)
    assert response.status_code == 200
    return str(response.content.decode())


def many(session: Session, number: int, *, step_us: int = SECOND, state: str = "done") -> list[ToolCall]:
    start = session.started_us
    return ToolCall.objects.bulk_create(
        ToolCall(
            session=session, call_id=f"{session.id}-{n}", name="Bash", summary=f"run {n}", state=state,
            started_us=start + n * step_us, ended_us=start + n * step_us + step_us // 2,
            duration_us=step_us // 2,
        )
        for n in range(number)
    )  # fmt: skip


def test_bars_lead_to_their_rows_and_calls_have_rows_of_their_own(page: Client, tell: Teller) -> None:
    tell.prompt("Go")
    call = tell.call("Bash", {"command": "pytest"}, "ok", seconds=20)
    bad = tell.call("Read", {"file_path": "a"}, error="not there")
    Iteration.objects.create(
        session=tell.session, run=tell.run, identity=digest16(b"1"), source="transcript", client="c",
        agent="main", model="opus", at_us=call.started_us, ended_us=call.started_us + SECOND,
    )  # fmt: skip
    tell.answer("done")
    kid = factories.session(
        "kid",
        parent=tell.session,
        agent_name="tester",
        at_us=call.started_us,
        last_us=call.started_us + 9 * SECOND,
    )
    many(kid, 3)
    tell.end(status="closed", activity="ended")
    text = read(page)
    for one in (call, bad):
        assert f'href="../?at={one.started_us}#c-{one.key}"' in text
    assert f'href="../model-calls/{Iteration.objects.get().key}/"' in text
    assert "#turn-1" in text
    assert re.findall(r'data-row="wc-(\d+)"', text)[:2] == [str(call.key), str(bad.key)]
    assert len(re.findall(r'<tr class="wf-lane"', text)) == 2
    assert "style=" not in text


def test_an_address_says_what_is_shown(page: Client, tell: Teller) -> None:
    tell.prompt("One")
    early = tell.call("Bash", {"command": "a"}, "x", seconds=5)
    tell.answer("yes")
    tell.at_us += 600 * SECOND
    tell.prompt("Two")
    late = tell.call("Bash", {"command": "b"}, "x", seconds=5)
    tell.answer("yes")
    tell.end(status="closed", activity="ended")

    def keys(**query: Any) -> set[str]:
        return set(re.findall(r'data-row="wc-(\d+)"', read(page, **query)))

    assert keys() == {str(early.key), str(late.key)}
    assert keys(turn=2) == {str(late.key)}
    assert keys(**{"from": early.started_us, "to": early.ended_us}) == {str(early.key)}
    # A call that began before reaches in.
    middle = early.started_us + 2 * SECOND
    assert keys(**{"from": middle, "to": middle + SECOND}) == {str(early.key)}
    assert page.get(HOME, {"from": 5, "to": 4}).status_code == 422
    assert page.get(HOME, {"turn": 9}).status_code == 404
    for wanted in ({"from": "x"}, {"from": 10**17}, {"to": 1}, {"from": 0, "to": 10**17}):
        assert page.get(HOME, wanted).status_code == 200
    fragment = page.get(HOME, {"turn": 1}, headers={"HX-Request": "true"}).content.decode()
    assert fragment.lstrip().startswith('<section id="waterfall"')
    strip = page.get(HOME, {"part": "overview"}, headers={"HX-Request": "true"}).content.decode()
    assert strip.lstrip().startswith("<figure")


def test_ten_thousand_calls_are_few_bars(
    page: Client, tell: Teller, django_assert_max_num_queries: Any
) -> None:
    calls = many(tell.session, 10_000)
    ToolCall.objects.filter(key=calls[50].key).update(state="failed")
    kid = factories.session("kid", parent=tell.session, agent_name="tester", at_us=tell.session.started_us)
    Session.objects.filter(key=kid.key).update(last_us=tell.session.started_us + 50 * SECOND)
    many(kid, 20)
    tell.at_us += 10_000 * SECOND
    tell.end(status="closed", activity="ended")
    read(page)
    with django_assert_max_num_queries(32):
        text = read(page)
    assert len(text.encode()) < 250_000
    assert text.count("<rect") < 1_500
    assert "10,020 calls" in text
    assert "wfb--bad" in text
    family = family_of(Session.objects.get(id="one"))
    whole = whole_of(family)
    drawn = picture(family, whole, whole)
    assert drawn.heaped
    assert drawn.calls == 10_020
    assert sum(bar.count for lane in drawn.lanes for bar in lane.calls if not bar.key) == 10_020
    # Every heap opens closer, down to its calls.
    heap = next(bar for bar in drawn.lanes[0].calls if not bar.key)
    closer = picture(family, whole, Stretch(heap.start_us, heap.end_us))
    assert not closer.heaped
    inside = {bar.key for lane in closer.lanes for bar in lane.calls}
    assert {call.key for call in calls if heap.start_us <= call.started_us < heap.end_us} <= inside


def test_many_agents_share_the_page(page: Client, tell: Teller) -> None:
    for number in range(40):
        factories.session(f"kid-{number}", parent=tell.session, agent_name=HOSTILE[:60], at_us=tell.at_us)
    Session.objects.filter(key=tell.session.key).update(agent_name=RTL[:60])
    tell.end(activity="working")
    text = read(page)
    assert len(re.findall(r'<tr class="wf-lane"', text)) == 24
    assert "17 more agents" in text
    assert "<script>alert" not in text
    assert len(text.encode()) < 250_000


@pytest.mark.parametrize(
    ("ms", "step_ms", "label"),
    [
        (20, 20, "20ms"),
        (1_200, 200, "1.2s"),
        (1_754_200, 200, "29m 14.2s"),
        (1_754_000, 200, "29m 14s"),
        (1_800_000, 1_800_000, "30m"),
        (5_400_000, 1_800_000, "1h 30m"),
        (90_061_050, 50, "1d 01h 01m 01.05s"),
        (172_800_000, 86_400_000, "2d"),
    ],
)
def test_a_mark_is_as_exact_as_the_steps_between_marks(ms: int, step_ms: int, label: str) -> None:
    assert since_start(ms, step_ms) == label


@given(st.integers(1_000, 10**13), st.integers(0, 10**13), st.integers(0, 3))
def test_an_axis_has_few_round_marks_inside_what_is_shown(length: int, offset: int, more: int) -> None:
    whole = Stretch(10**15, 10**15 + offset + length + more)
    shown = Stretch(10**15 + offset, 10**15 + offset + length)
    made = ticks(shown, whole)
    assert 0 <= len(made) <= 9
    assert len({tick.text for tick in made}) == len(made)
    places = [float(tick.at.rstrip("%")) for tick in made]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)


@pytest.mark.django_db
def test_side_by_side_calls_lie_on_tracks_and_all_are_drawn(tell: Teller) -> None:
    calls = many(tell.session, 12, step_us=100)
    for call in calls:
        ToolCall.objects.filter(key=call.key).update(duration_us=SECOND, ended_us=call.started_us + SECOND)
    tell.at_us += 3 * SECOND
    tell.end()
    family = family_of(Session.objects.get(id="one"))
    whole = whole_of(family)
    drawn = draw(family, picture(family, whole, whole), lambda start, end: "")
    assert drawn.lanes[0].side_by_side
    assert drawn.lanes[0].svg.count("<rect") == 12
    assert len(set(re.findall(r' y="(\d+)"', drawn.lanes[0].svg))) == 5


# == The tree of subagents ==


@pytest.mark.django_db
def test_a_tree_adds_up_costs_at_any_depth(
    page: Client, tell: Teller, django_assert_max_num_queries: Any
) -> None:
    spent = {"iteration_count": 1, "input_tokens": 1_000, "output_tokens": 10}
    kid = factories.session(
        "kid", parent=tell.session, agent_name="tester", cost_micro=20_000, child_count=1, **spent
    )
    factories.session("grandkid", parent=kid, agent_name="reader", cost_micro=3_000, **spent)
    factories.session("unpriced", parent=tell.session, agent_name="helper", unpriced_count=1, **spent)
    tell.prompt("Go")
    call = tell.call("Agent", {"prompt": "test it"}, "ok")
    ToolCall.objects.filter(key=call.key).update(child=kid)
    tell.prompt("Again")
    tell.end(cost_micro=100_000, **spent)
    run = Run.objects.create(
        session=kid,
        turn=tell.session.turns.all()[0],
        number=2,
        invocation_id="k",
        status="failed",
        started_us=1,
    )
    with django_assert_max_num_queries(6):
        root = agents_of(family_of(Session.objects.get(id="one")), clock.now_us())
    assert root.whole.cost_micro == 123_000
    assert root.own.cost_micro == 100_000
    assert [child.whole.cost_micro for child in root.children] == [23_000, None]
    assert root.children[0].outcome == run.status
    assert root.below == 3
    text = page.get("/sessions/one/subagents/").content.decode()
    assert "$0.1230" in text
    assert f"#c-{call.key}" in text
    assert 'href="/sessions/grandkid/"' in text
