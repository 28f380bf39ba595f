"""The transcript: what was asked, thought, said, called and spent; retries, versions, blocks, attachments."""

import re
from typing import Any

import pytest
from django.test import Client

from contextdash.ids import digest16
from sessions_app.figures import figures
from sessions_app.models import (
    Attachment,
    AttachmentContent,
    Iteration,
    Run,
    RunDetail,
    Session,
    SessionState,
    ToolCall,
    Turn,
)
from sessions_app.queries import transcript
from sessions_app.queries.transcript import turns_before, turns_from, versions_of
from sessions_app.queries.transcript_steps import RUN_STEPS, TEXT_CHARS
from tests import factories
from tests.teller import HOSTILE, LINK, RTL, Teller, started

HOME = "/sessions/one/transcript/"
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 40


@pytest.fixture
def tell(db: None) -> Teller:
    return started("one", 30)


def thought(
    tell: Teller, *calls: ToolCall, prose: str = "", at_us: int | None = None, **values: Any
) -> Iteration:
    """A model call of the turn that is told of."""
    number = Iteration.objects.count()
    at_us = tell.at_us if at_us is None else at_us
    values = {
        "model": "opus",
        "input_tokens": 11_000,
        "cache_read_tokens": 500,
        "output_tokens": 35,
        **values,
    }
    return Iteration.objects.create(
        session=tell.session,
        run=tell.run,
        identity=digest16(b"test", str(number).encode()),
        source="transcript",
        client="claude-code",
        agent="main",
        at_us=at_us,
        ended_us=at_us + values.pop("took_us", 0),
        prose=prose,
        call_ids=[call.call_id for call in calls],
        **values,
    )


def read(page: Client, **query: Any) -> str:
    response = page.get(HOME, query)
    assert response.status_code == 200
    return str(response.content.decode())


def part(page: Client, **query: Any) -> str:
    response = page.get(HOME, query, headers={"HX-Request": "true"})
    assert response.status_code == 200
    text: str = response.content.decode()
    assert "<html" not in text
    return text


def numbers(text: str) -> list[int]:
    return [int(one) for one in re.findall(r'<article class="turn[^"]*" id="t-(\d+)"', text)]


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ({"given": 11_500, "output": 35, "cached": 4_100, "cost_micro": 7_000, "took_us": 12_000_000},
         "opus · 11.5k→35 (cached 4.1k) · $0.0070 · 12.0s"),
        ({"given": None, "output": None, "cached": None, "cost_micro": None}, "opus · — · —"),
        ({"given": 0, "output": 0, "cost_micro": 0}, "opus"),
        ({"given": 5, "output": None, "cost_micro": 12}, "opus · 5→— · <$0.0001"),
        ({"given": 1, "output": 1, "cached": 0, "cost_micro": 1_250_000}, "opus · 1→1 · $1.25"),
    ],
)  # fmt: skip
def test_a_line_of_figures_leaves_out_what_is_zero_and_says_what_is_unknown(told: Any, line: str) -> None:
    assert figures(model="opus", **told) == line


def test_hooks_alone_make_a_transcript(page: Client, tell: Teller) -> None:
    tell.prompt("Make refunds safe to retry")
    call = tell.call("Bash", {"command": "pytest -q"}, "37 passed", seconds=2.5)
    tell.answer("They are, **37 passed**.")
    tell.end()
    text = read(page)
    assert (
        text.index("Make refunds safe") < text.index("pytest -q") < text.index("<strong>37 passed</strong>")
    )
    assert f"/sessions/one/calls/{call.key}/" in text
    assert "2.5s" in text


def test_a_model_call_has_its_tool_calls_and_its_figures_and_says_its_answer_once(
    page: Client, tell: Teller
) -> None:
    tell.prompt("Go ahead")
    first, second = (tell.call("Read", {"file_path": name}, "text") for name in ("a.py", "b.py"))
    thought(
        tell,
        first,
        second,
        prose="Two files first.",
        thinking="Which ones?",
        cost_micro=7_000,
        took_us=12_000_000,
    )
    thought(tell, prose="Done, all of it.", cost_micro=None, model="mystery")
    tell.answer("Done, all of it.")
    tell.end()
    text = read(page)
    step = re.search(r'<section class="step-model".*?</section>', text, re.S)
    assert step
    assert [one in step[0] for one in ("Two files first.", "Which ones?", "a.py", "b.py")] == [True] * 4
    assert "opus · 11.5k→35 (cached 500) · $0.0070 · 12.0s" in step[0]
    assert "mystery · 11.5k→35 (cached 500) · —" in text
    assert text.count("Done, all of it.") == 1
    assert re.search(r'class="spent">23k→70 \(cached 1k\) · \$0.0070<', text)


def test_pages_go_both_ways_and_a_turn_has_an_address(page: Client, tell: Teller) -> None:
    for number in range(1, 31):
        tell.prompt(f"Prompt number {number}")
        tell.answer("yes")
    tell.end()
    newest = numbers(read(page))
    assert newest == list(range(31 - transcript.PAGE_TURNS, 31))
    text = part(page, before=newest[0])
    assert numbers(text) == list(range(newest[0] - transcript.PAGE_TURNS, newest[0]))
    assert numbers(read(page, turn=5))[0] == 5
    # Whatever way one goes, every turn is met once.
    versions = versions_of(tell.session)
    back, cursor = [], 31
    while cursor:
        shown = turns_before(tell.session, versions, cursor)
        back[:0] = [one.number for one in shown.turns]
        cursor = shown.earlier or 0
    forth, at = [], 1
    while at:
        shown = turns_from(tell.session, versions, at)
        forth += [one.number for one in shown.turns]
        at = shown.later or 0
    assert back == forth == list(range(1, 31))
    assert page.get(HOME, {"turn": 99}).status_code == 404


def test_the_last_steps_of_a_long_turn_are_shown_and_earlier_ones_come_on_demand(
    page: Client, tell: Teller
) -> None:
    tell.prompt("Read everything")
    calls = [tell.call("Read", {"file_path": f"file-{n}"}, "x") for n in range(75)]
    tell.end()
    text = read(page)
    shown = re.findall(r'<li id="c-(\d+)"', text)
    assert shown == [str(call.key) for call in calls[-RUN_STEPS:]]
    seen = shown
    while more := re.search(r'hx-get="([^"]*part=steps[^"]*)"', text):
        response = page.get(more[1].replace("&amp;", "&"), headers={"HX-Request": "true"})
        text = response.content.decode()
        seen = [*re.findall(r'<li id="c-(\d+)"', text), *seen]
    assert seen == [str(call.key) for call in calls]
    assert (
        page.get(HOME, {"part": "steps", "turn": 1, "until": "x"}, headers={"HX-Request": "true"}).status_code
        == 422
    )


def test_attempts_at_a_turn_are_switched(page: Client, tell: Teller) -> None:
    tell.prompt("Try it")
    tell.call("Bash", {"command": "first try"}, error="no")
    tell.answer("It failed")
    assert tell.turn
    again = {"session": tell.session, "turn": tell.turn, "started_us": tell.at_us, "ended_us": tell.at_us + 1}
    Run.objects.create(**again, number=2, invocation_id="r2", status="failed", error="overloaded")
    Run.objects.create(**again, number=3, invocation_id="r3", status="completed", answer="It worked")
    tell.end()
    text = read(page)
    assert "3 / 3" in text
    assert "It worked" in text
    assert "first try" not in text
    second = part(page, turn=1, run=2, part="turn")
    assert "2 / 3" in second
    assert "overloaded" in second
    first = read(page, turn=1, run=1)
    assert "1 / 3" in first
    assert "first try" in first


def test_versions_and_forks_lead_to_each_other(page: Client, tell: Teller) -> None:
    tell.prompt("In the first version")
    tell.answer("yes")
    base = tell.session.states.get()
    head = SessionState.objects.create(session=tell.session, version=1, parent=base, created_us=tell.at_us)
    other = SessionState.objects.create(session=tell.session, version=2, parent=base, created_us=tell.at_us)
    for number, state in ((2, head), (3, other)):
        Turn.objects.create(
            session=tell.session, state=state, number=number, turn_id=f"x{number}",
            prompt=f"In version {state.version}", started_us=tell.at_us + number,
        )  # fmt: skip
    fork = factories.session("fork", forked_from=tell.session, title="The fork")
    tell.end()
    assert numbers(read(page)) == [1, 3]
    assert numbers(read(page, version=1)) == [1, 2]
    assert numbers(read(page, version=0)) == [1]
    assert page.get(HOME, {"version": 7}).status_code == 404
    assert "The fork" in read(page)
    assert 'href="/sessions/one/transcript/"' in page.get(f"/sessions/{fork.id}/transcript/").content.decode()


def test_what_belongs_to_no_turn_is_shown_where_it_happened(page: Client, tell: Teller) -> None:
    early = tell.call("Bash", {"command": "before anything"}, "ok")
    tell.prompt("First")
    tell.answer("yes")
    tell.run = None
    thought(tell, prose="Between the turns.")
    tell.at_us += 10
    tell.prompt("Second")
    tell.end()
    text = read(page)
    assert numbers(text) == [0, 1, 2]
    places = [text.index(one) for one in (f"c-{early.key}", "First", "Between the turns.", "Second")]
    assert places == sorted(places)


def test_everything_agents_wrote_is_text(page: Client, tell: Teller) -> None:
    Session.objects.filter(key=tell.session.key).update(agent_name=HOSTILE[:100])
    tell.prompt(HOSTILE + RTL)
    call = tell.call(HOSTILE[:90], {"command": HOSTILE}, error=HOSTILE)
    row = thought(tell, call, prose=HOSTILE + LINK, thinking=HOSTILE, model=HOSTILE[:90], stop_reason="<b>")
    assert tell.run
    RunDetail.objects.create(run=tell.run, content=[
        {"type": "prose", "markdown": HOSTILE + LINK}, {"type": "speech", "text": HOSTILE},
        {"type": "code", "text": HOSTILE, "language": "<i>"}, {"type": HOSTILE, "x": HOSTILE},
        {"type": "tool", "tool": HOSTILE, "status": "<b>", "input": {"a": HOSTILE}},
        {"type": "error", "code": HOSTILE, "message": HOSTILE},
        {"type": "notice", "code": "<i>", "message": HOSTILE},
        {"type": "attachment", "name": HOSTILE}, HOSTILE, 5, None,
    ])  # fmt: skip
    tell.answer(HOSTILE)
    tell.end()
    for address in (HOME, f"/sessions/one/model-calls/{row.key}/", "/sessions/one/turns/1/"):
        text = page.get(address).content.decode()
        for marked in ("<script>alert", "<img src", "<b>bold", 'href="javascript', "<i>"):
            assert marked not in text, (address, marked)


def test_private_reasoning_is_not_in_the_page(page: Client, tell: Teller) -> None:
    tell.prompt("Think")
    assert tell.run
    RunDetail.objects.create(run=tell.run, content=[
        {"type": "reasoning", "text": "the secret thought"},
        {"type": "reasoning", "text": "said aloud", "visibility": "visible"},
        {"type": "prose", "markdown": "x" * (TEXT_CHARS + 5)},
    ])  # fmt: skip
    tell.answer("x")
    for address in (HOME, "/sessions/one/turns/1/"):
        text = page.get(address).content.decode()
        assert "the secret thought" not in text
        assert "said aloud" in text
        assert "Private reasoning" in text


@pytest.mark.parametrize(
    ("media_type", "shown"), [("image/png", True), ("image/svg+xml", False), ("text/html", False)]
)
def test_only_images_are_shown_and_nothing_can_run(
    page: Client, tell: Teller, media_type: str, shown: bool
) -> None:
    tell.prompt("Look at this")
    content = AttachmentContent.objects.create(digest=b"1" * 32, size=len(PNG), data=PNG)
    made = Attachment.objects.create(
        attachment_id="a", session=tell.session, turn=tell.turn, media_type=media_type, filename='x"\n.svg',
        size=len(PNG), content=content, created_us=1,
    )  # fmt: skip
    address = f"/sessions/one/attachments/{made.pk}/"
    assert (f'<img src="{address}"' in read(page)) == shown
    answer = page.get(address)
    assert answer.content == PNG
    assert answer["Content-Type"] == (media_type if shown else "application/octet-stream")
    assert answer["Content-Disposition"].startswith("inline" if shown else "attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    factories.session("two")
    assert page.get(f"/sessions/two/attachments/{made.pk}/").status_code == 404
    Attachment.objects.update(content=None, erased=True)
    assert page.get(address).status_code == 404
    assert "erased" in read(page)


def test_a_long_session_costs_what_a_short_one_costs(
    page: Client, tell: Teller, django_assert_max_num_queries: Any
) -> None:
    for number in range(40):
        tell.prompt(f"{number} " + "long prompt " * 400)
        calls = [tell.call("Read", {"file_path": "a" * 150}, "x") for _ in range(8)]
        for call in calls:
            thought(
                tell,
                call,
                prose="Some *prose* about it. " * 300,
                thinking="so " * 2000,
                at_us=call.started_us,
            )
        tell.answer("An answer. " * 500)
    tell.end()
    read(page)
    with django_assert_max_num_queries(36):
        text = read(page)
    assert len(text.encode()) < 250_000
    with django_assert_max_num_queries(10):
        toc = part(page, part="prompts")
    assert toc.count('class="toc-text"') == 40
    assert "long prompt" in toc


def test_an_open_page_asks_for_its_last_turn_again(page: Client, tell: Teller) -> None:
    for number in range(3):
        tell.prompt(f"Prompt {number}")
    tell.end()
    text = read(page)
    live = re.search(r'<div id="live" data-live="([^"]*)" data-version="([^"]*)"', text)
    assert live
    address = live[1].replace("&amp;", "&")
    assert page.get(f"{address}&v={live[2]}", headers={"HX-Request": "true"}).status_code == 204
    tell.prompt("And one more")
    tell.end()
    news = page.get(f"{address}&v={live[2]}", headers={"HX-Request": "true"}).content.decode()
    assert numbers(news) == [3, 4]
    assert 'id="live"' in news


def test_a_session_first_seen_in_its_middle_goes_on_without_a_turn(page: Client, tell: Teller) -> None:
    tell.call("Bash", {"command": "make"}, "ok")
    tell.end()
    text = read(page)
    assert numbers(text) == [0]
    live = re.search(r'<div id="live" data-live="([^"]*)"', text)
    assert live
    address = live[1].replace("&amp;", "&")
    assert numbers(page.get(address, headers={"HX-Request": "true"}).content.decode()) == [0]
    tell.prompt("Now a prompt")
    tell.end()
    assert numbers(page.get(address, headers={"HX-Request": "true"}).content.decode()) == [0, 1]
    assert numbers(read(page, turn=1)) == [0, 1]
    assert numbers(part(page, part="tail", after=1)) == [1]
