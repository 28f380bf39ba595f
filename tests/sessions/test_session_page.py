"""One session's pages: hostile text, tool calls on demand, bodies that are cut, what was purged."""

import json
from typing import Any

import pytest
from django.test import Client

from contextdash import clock
from contextdash.actor import SYSTEM
from contextdash.limits import MIB
from sessions_app.models import Event, Purge, Session, ToolCall
from sessions_app.queries.calls import PART_BYTES, call_detail
from sessions_app.queries.session import family_of
from sessions_app.services.messages import write_message
from tests import factories
from tests.sessions import deliveries
from tests.teller import ANSI, HOSTILE, LINK, RTL, Teller, started

NOT_THERE = 9_223_372_036_854_775_807_000


@pytest.fixture
def tell(db: None) -> Teller:
    return started("one", 30)


def opened(page: Client, call: ToolCall) -> str:
    """What an opened row fetches."""
    response = page.get(f"/sessions/one/calls/{call.key}/", headers={"HX-Request": "true"})
    assert response.status_code == 200
    text: str = response.content.decode()
    assert "<html" not in text
    return text


def answered(tell: Teller, name: str, given: dict[str, Any], response: Any) -> ToolCall:
    """A call whose result event holds exactly this response."""
    call = tell.call(name, given)
    body = {"tool_name": name, "tool_input": given, "tool_response": response}
    call.result_event = tell.event("PostToolUse", "tool_end", body)
    call.state = "done"
    call.save()
    return call


# == Untrusted text ==


def test_agents_text_is_shown_as_text_on_every_page_of_a_session(page: Client, tell: Teller) -> None:
    session = tell.session
    Session.objects.filter(key=session.key).update(
        title=HOSTILE, branch=HOSTILE[:200], workspace=HOSTILE, model=HOSTILE, client="<i>", host=HOSTILE,
        agent_name=HOSTILE[:100], waiting_for=HOSTILE, activity="waiting", permission_mode="<b>",
    )  # fmt: skip
    tell.note("<script>alert(1)</script>", HOSTILE + ANSI)
    tell.prompt(HOSTILE + LINK)
    call = tell.call(HOSTILE, {"command": HOSTILE}, HOSTILE, error=HOSTILE)
    shell = tell.call("Bash", {"command": HOSTILE}, HOSTILE + ANSI)
    tell.answer(HOSTILE + LINK)
    write_message(
        session_id=session.id,
        agent_name=HOSTILE[:90],
        role="<b>",
        target=HOSTILE[:90],
        content=HOSTILE + LINK,
        actor=SYSTEM,
    )
    session = tell.end(activity="waiting")
    pages = [
        "/sessions/one/", "/sessions/one/ledger/", "/sessions/one/turns/1/", "/sessions/one/subagents/",
        "/sessions/one/messages/", f"/sessions/one/calls/{call.key}/", f"/sessions/one/calls/{shell.key}/",
        f"/sessions/one/ledger/{session.ordinal}/",
    ]  # fmt: skip
    for address in pages:
        response = page.get(address)
        assert response.status_code == 200, address
        text = response.content.decode()
        for bad in ("<script>alert", "<img src", "<b>bold", "\x1b", 'href="javascript'):
            assert bad not in text, (address, bad)
        assert "unsafe-inline" not in response["Content-Security-Policy"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.get("/sessions/one/").content.decode()


def test_terminal_output_keeps_its_colours_and_loses_its_escapes(page: Client, tell: Teller) -> None:
    text = opened(page, tell.call("Bash", {"command": "pytest"}, ANSI))
    assert 'class="t-f1">FAIL</span>' in text
    assert "Downloaded" in text
    assert "Downloading 499%" not in text
    assert "click" in text
    assert "javascript:" not in text
    assert "\x1b" not in text


def test_characters_that_reorder_text_are_written_out(page: Client, tell: Teller) -> None:
    tell.prompt(RTL)
    tell.end(title=RTL)
    text = page.get("/sessions/one/").content.decode()
    assert "\u202e" not in text
    assert "[U+202E]" in text
    assert '<p class="ask-text" dir="auto">' in text


def test_half_an_emoji_and_a_nul_break_no_page(page: Client, db: None) -> None:
    raw = rb'{"session_id":"one","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"t1",'
    raw += rb'"tool_input":{"command":"x"},"tool_response":{"stdout":"cut \ud83d and a\u0000b"}}'
    deliveries.deliver(deliveries.seen(raw))
    call = ToolCall.objects.get()
    text = opened(page, call)
    assert "cut \ufffd and a\ufffdb" in text
    assert page.get("/sessions/one/").status_code == 200
    assert page.get("/sessions/one/ledger/1/").status_code == 200
    assert page.get(f"/sessions/one/calls/{call.key}/stdout/").status_code == 200


# == Tool calls ==


def test_the_timeline_carries_no_output_and_an_opened_row_fetches_it(page: Client, tell: Teller) -> None:
    tell.prompt("go")
    call = tell.call("Bash", {"command": "make all"}, "it was built")
    tell.end()
    text = page.get("/sessions/one/").content.decode()
    assert "it was built" not in text
    assert f'hx-get="/sessions/one/calls/{call.key}/"' in text
    body = opened(page, call)
    assert "it was built" in body
    assert "make" in body


def test_an_edit_is_shown_as_the_clients_own_hunks(page: Client, tell: Teller) -> None:
    patch = [
        {"oldStart": 7, "oldLines": 2, "newStart": 7, "newLines": 2, "lines": [" keep", "-old <b>", "+new"]}
    ]
    given = {"file_path": "/src/a.py", "old_string": "old <b>", "new_string": "new"}
    text = opened(page, answered(tell, "Edit", given, {"filePath": "/src/a.py", "structuredPatch": patch}))
    assert '<tr class="del">' in text
    assert '<tr class="add">' in text
    assert "old &lt;b&gt;" in text
    assert ">7<" in text


def test_an_edit_without_hunks_is_compared_here(page: Client, tell: Teller) -> None:
    given = {"file_path": "/src/a.py", "edits": [{"old_string": "a\nb\n", "new_string": "a\nc\n"}]}
    text = opened(page, answered(tell, "MultiEdit", given, {"success": True}))
    assert '<tr class="del">' in text
    assert '<tr class="add">' in text


def test_a_new_file_is_shown_in_colours(page: Client, tell: Teller) -> None:
    given = {"file_path": "/src/a.py", "content": "def add(a, b):\n    return a + b\n"}
    text = opened(page, answered(tell, "Write", given, {"type": "create", "structuredPatch": []}))
    assert '<span class="k">def</span>' in text
    assert "hl" in text


def test_a_file_that_was_read_is_shown_in_colours(page: Client, tell: Teller) -> None:
    file = {"filePath": "/src/a.py", "content": "import os\n", "numLines": 1}
    text = opened(page, answered(tell, "Read", {"file_path": "/src/a.py"}, {"type": "text", "file": file}))
    assert '<span class="kn">import</span>' in text


def test_a_delegates_task_and_answer_are_read_as_markdown(page: Client, tell: Teller) -> None:
    response = {"content": [{"type": "text", "text": "Two **findings**."}], "agentId": "a1"}
    text = opened(page, answered(tell, "Agent", {"prompt": "Look *well*", "description": "d"}, response))
    assert "<strong>findings</strong>" in text
    assert "<em>well</em>" in text


@pytest.mark.parametrize(
    "response",
    [
        None,
        True,
        3,
        [],
        {},
        "",
        "plain text",
        [1, {"a": None}],
        {"stdout": 5},
        {"content": [5]},
        {"file": 1},
        {"structuredPatch": [1]},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["Bash", "Read", "Edit", "Agent", "mcp__thing__do", ""])
def test_a_result_of_any_shape_is_shown(page: Client, tell: Teller, name: str, response: Any) -> None:
    for given in ({}, {"command": ["ls", 1]}, {"command": 5}, {"edits": [1]}, {"prompt": None}):
        opened(page, answered(tell, name, given, response))


def test_input_that_is_no_object_is_shown(page: Client, tell: Teller) -> None:
    call = tell.call("exec", {})
    call.call_event = tell.event("PreToolUse", "tool_start", {"tool_name": "exec", "input": "ls -l"})
    call.save()
    assert "ls -l" in opened(page, call)


def test_a_failure_shows_its_error_and_no_result(page: Client, tell: Teller) -> None:
    call = tell.call("Bash", {"command": "false"}, error="Exit code 1\nwhy it failed")
    text = opened(page, call)
    assert "Exit code 1" in text
    assert "why it failed" in text


def test_a_call_that_still_runs_says_so(page: Client, tell: Teller) -> None:
    tell.prompt("go")
    tell.call("Bash", {"command": "sleep 99"})
    tell.end(activity="working")
    text = page.get("/sessions/one/").content.decode()
    assert "Running" in text
    assert "data-since" in text


def test_a_call_without_a_result_in_an_ended_session_has_none(page: Client, tell: Teller) -> None:
    tell.call("Bash", {"command": "sleep 99"})
    tell.end(activity="ended", ended_at=clock.now())
    text = page.get("/sessions/one/").content.decode()
    assert "no result" in text
    assert "Running" not in text


def test_what_was_purged_is_said_and_the_summary_stays(page: Client, tell: Teller) -> None:
    tell.prompt("go")
    call = tell.call("Bash", {"command": "make all"}, "secret output")
    session = tell.end()
    purge = Purge.objects.create(session_key=session.key, reason="asked", started_at=clock.now())
    Event.objects.filter(session=session).delete()
    purge.finished_at = clock.now()
    purge.save()
    text = opened(page, call)
    assert "erased" in text
    assert "secret output" not in text
    assert "make all" in page.get("/sessions/one/").content.decode()
    assert page.get(f"/sessions/one/calls/{call.key}/stdout/").status_code == 404
    assert "The ledger is empty" in page.get("/sessions/one/ledger/").content.decode()


def test_a_payload_that_cannot_be_read_breaks_no_page(page: Client, tell: Teller) -> None:
    call = tell.call("Bash", {"command": "x"})
    call.result_event = Event.objects.create(
        session=tell.session, ordinal=99, source="hook", client="x", name="x", kind="x", identity=b"i" * 16,
        content=b"c" * 16, occurred_us=1, received_us=1, payload=b"not zlib", payload_size=8,
    )  # fmt: skip
    call.save()
    opened(page, call)
    assert "cannot" in page.get("/sessions/one/ledger/99/").content.decode()


def test_a_result_of_five_megabytes_is_cut_and_fetched_only_when_asked(page: Client, tell: Teller) -> None:
    tell.prompt("go")
    huge = "0123456789abcdé\n" * (5 * MIB // 17)
    call = tell.call("Bash", {"command": "cat"}, huge)
    for _ in range(50):
        tell.call("Bash", {"command": "cat"}, "x" * 50_000)
    tell.end()
    assert len(page.get("/sessions/one/").content) < 250_000
    assert len(page.get("/sessions/").content) < 100_000
    text = opened(page, call)
    assert len(text) < 2 * PART_BYTES
    assert "first 64 KB of" in text
    assert f'href="/sessions/one/calls/{call.key}/stdout/"' in text
    whole = page.get(f"/sessions/one/calls/{call.key}/stdout/")
    assert whole["Content-Type"] == "text/plain; charset=utf-8"
    assert whole["X-Content-Type-Options"] == "nosniff"
    assert whole.content.decode() == huge


def test_a_cut_falls_between_characters(tell: Teller) -> None:
    call = tell.call("Bash", {"command": "cat"}, "é" * PART_BYTES)
    part = call_detail(family_of(tell.session), call.key).parts[1]
    assert part.cut
    assert set(part.text) == {"é"}
    assert len(part.text.encode()) == PART_BYTES


def test_a_call_of_another_session_is_not_found_here(page: Client, tell: Teller) -> None:
    other = started("two", 5)
    call = other.call("Bash", {"command": "x"}, "y")
    assert page.get(f"/sessions/one/calls/{call.key}/").status_code == 404
    assert page.get(f"/sessions/one/calls/{NOT_THERE}/").status_code == 404
    assert page.get(f"/sessions/one/turns/{NOT_THERE}/").status_code == 404
    assert page.get(f"/sessions/one/ledger/{NOT_THERE}/").status_code == 404


def test_a_call_of_a_subagent_opens_on_its_parents_page(page: Client, tell: Teller) -> None:
    child = Teller(factories.session("kid", parent=tell.session), tell.at_us)
    assert "found it" in opened(page, child.call("Bash", {"command": "x"}, "found it"))


def test_times_by_tool_are_fetched_apart_and_name_what_ran_side_by_side(page: Client, tell: Teller) -> None:
    tell.call("Bash", {"command": "make"}, "ok", seconds=90)
    tell.call(HOSTILE[:200], {"a": "b"}, error="no")
    tell.end()
    assert 'hx-get="/sessions/one/?part=tools"' in page.get("/sessions/one/").content.decode()
    text = page.get("/sessions/one/?part=tools", headers={"HX-Request": "true"}).content.decode()
    assert "1m 30s" in text
    assert "1 failed" in text
    assert "<script>" not in text
    assert "<html" not in text
    ToolCall.objects.filter(name="Bash").update(ended_us=tell.at_us, started_us=tell.at_us - 1_000_000)
    assert "≤ 1m 30s" in page.get("/sessions/one/?part=tools").content.decode()


# == Long texts ==


def test_a_prompt_of_a_megabyte_is_cut_in_the_timeline_and_whole_on_its_own_page(
    page: Client, tell: Teller
) -> None:
    tell.prompt("word " * 200_000 + "the end")
    tell.answer("answer " * 50_000)
    tell.end()
    text = page.get("/sessions/one/").content.decode()
    assert len(text) < 60_000
    assert 'href="/sessions/one/turns/1/">Show all</a>' in text
    assert "the end" in page.get("/sessions/one/turns/1/").content.decode()


def test_a_ledger_entry_is_shown_as_indented_json_and_cut(page: Client, tell: Teller) -> None:
    tell.call("Bash", {"command": "x"}, "y" * 500_000)
    text = page.get("/sessions/one/ledger/2/").content.decode()
    assert "&quot;tool_input&quot;" in text or '"tool_input"' in text
    assert len(text) < 200_000
    whole = page.get("/sessions/one/ledger/2/?whole=1")
    assert json.loads(whole.content)["tool_response"]["stdout"] == "y" * 500_000


def test_nobody_sees_a_session_without_signing_in(tell: Teller) -> None:
    call = tell.call("Bash", {"command": "x"}, "y")
    for address in (
        "",
        "ledger/",
        "ledger/1/",
        f"calls/{call.key}/",
        f"calls/{call.key}/stdout/",
        "subagents/",
    ):
        assert Client().get(f"/sessions/one/{address}").status_code == 302
