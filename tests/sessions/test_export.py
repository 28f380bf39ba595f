"""A session as a file: complete, streamed in slices, harmless to whatever opens it."""

import json
import re

import pytest

from contextdash.actor import SYSTEM
from contextdash.ids import digest16
from contextdash.rendering.markdown import markdown
from reviews_app.services.reviews import log_review
from sessions_app.export import reading
from sessions_app.export.answer import chunks, file_name
from sessions_app.export.as_markdown import block, inline
from sessions_app.models import Iteration, Session, ToolCall
from sessions_app.services.decisions import log_decision
from sessions_app.services.ending import delete_session
from sessions_app.services.messages import write_message
from tests import factories
from tests.sessions.deliveries import body, deliver, seen, tool

HTML = """<b>bold</b><img src="x" onerror="alert('testing')"><script>alert(1)</script>"""
LINK = "[x](javascript:alert(1))"
TERMINAL = "\x1b[31mFAIL\x1b[0m \x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07" + "\r 5%" * 500 + "\x1b[2J"

pytestmark = pytest.mark.django_db


def told(*more, prompt: str = "Do it", session_id: str = "s1") -> Session:
    deliver(seen(body("UserPromptSubmit", session_id, prompt=prompt)), *more)
    return Session.objects.get(id=session_id)


def output(stdout: object, call_id: str = "t1") -> object:
    return seen(tool("PostToolUse", call_id, tool_response={"stdout": stdout}))


def as_json(page, ref: str = "s1"):
    answer = page.get(f"/sessions/{ref}/export.json")
    assert answer.status_code == 200
    return json.loads(b"".join(answer.streaming_content))


def as_markdown(page, ref: str = "s1") -> str:
    answer = page.get(f"/sessions/{ref}/export.md")
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()


def test_the_json_holds_everything_with_every_payload_whole(page):
    session = told(output("all is well"))
    log_decision(session="s1", topic="cache", choice="no cache", actor=SYSTEM)
    write_message(session_id="s1", agent_name="main", role="finding", content="It leaks.", actor=SYSTEM)
    log_review(session="s1", target="a.py", severity="high", finding="A leak.", actor=SYSTEM)
    made = as_json(page)
    assert made["export"] == 1
    only = made["sessions"][0]
    assert only["session"]["id"] == "s1"
    assert [turn["prompt"] for turn in only["turns"]] == ["Do it"]
    assert [call["call_id"] for call in only["tool_calls"]] == ["t1"]
    assert only["decisions"][0]["choice"] == "no cache"
    assert only["messages"][0]["content"] == "It leaks."
    assert only["reviews"][0]["finding"] == "A leak."
    assert only["events"][1]["payload"]["tool_response"] == {"stdout": "all is well"}
    assert [event["payload_cut"] for event in only["events"]] == [False, False]
    assert len(only["events"]) == session.event_count == 2


def test_the_markdown_reads_in_order(page):
    told(output("all is well"), seen(body("Stop", last_assistant_message="Done.")))
    log_decision(session="s1", topic="cache", choice="no cache", actor=SYSTEM)
    text = as_markdown(page)
    places = [text.index(words) for words in ("# Do it", "Prompt:", "run t1", "all is well", "no cache")]
    assert places == sorted(places)
    assert "## Turn 1" in text
    assert "### Bash: done" in text


def test_subagents_are_in_it_and_deleted_ones_are_not(page):
    session = told()
    for name in ("child", "gone"):
        child = told(session_id=name, prompt=f"of {name}")
        Session.objects.filter(key=child.key).update(parent=session)
    delete_session(session=Session.objects.get(id="gone"), actor=SYSTEM, reason="no")
    assert [one["session"]["id"] for one in as_json(page)["sessions"]] == ["s1", "child"]
    assert "# Subagent: of child" in as_markdown(page)


def test_half_an_emoji_and_a_nul_fail_nowhere(page):
    raw = json.dumps(tool("PostToolUse", "t1")).replace('"ok"', r'"cut \ud83d and \u0000"').encode()
    told(seen(raw))
    assert as_json(page)["sessions"][0]["events"][1]["payload"]["tool_response"]["stdout"].startswith(
        "cut \ufffd"
    )
    assert "cut \ufffd" in as_markdown(page)


def test_no_terminal_escape_leaves(page):
    told(output(TERMINAL), prompt=TERMINAL)
    answer = b"".join(page.get("/sessions/s1/export.json").streaming_content)
    assert b"\x1b" not in answer
    text = as_markdown(page)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
    assert "FAIL" in text
    assert text.partition("Output:")[2].partition("\n## ")[0].count(" 5%") == 1


@pytest.mark.parametrize("hostile", [HTML, LINK, "```\n" + HTML, "~~~\n" + LINK, "`" * 40 + "\n" + HTML])
def test_text_of_agents_is_text_when_the_markdown_is_shown(page, hostile):
    told(
        seen(tool("PostToolUse", "t1", name=hostile[:100], tool_response={"stdout": hostile})),
        seen(body("Stop", last_assistant_message=hostile)),
        prompt=hostile,
    )
    Session.objects.update(title=hostile[:400], branch=hostile[:200])
    log_decision(session="s1", topic=hostile[:150], choice=hostile, actor=SYSTEM)
    # Without the sanitizer's help: no tag or link of the agent's may be made at all.
    from markdown_it import MarkdownIt

    shown = MarkdownIt("commonmark", {"html": True}).render(as_markdown(page))
    assert not re.search(r"<(?:b|img|script)\b", shown)
    assert "href=" not in shown
    assert markdown(as_markdown(page))


def test_a_fence_is_longer_than_any_in_the_text():
    assert block("a ``` b").startswith("```` \n") or block("a ``` b").startswith("````\n")
    assert block("plain").startswith("```\n")
    assert inline("a\n# b *c* <i>") == r"a \# b \*c\* \<i\>"


def test_five_megabytes_stay_out_of_memory_and_the_markdown_says_what_it_cut(page):
    big = "x" * 900_000
    told(*(output(f"{n} {big}", f"t{n}") for n in range(6)))
    session = Session.objects.get(id="s1")
    sizes = [len(chunk) for chunk in chunks(session, "json")]
    assert sum(sizes) > 5_000_000
    assert max(sizes) < 2_200_000
    text = as_markdown(page)
    assert len(text) < 6 * 70_000
    assert "the first 64 KB of 879 KB; the JSON export has all of it" in text


def test_rows_are_read_in_slices_each_a_query_of_its_own(monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(reading, "SLICE_ROWS", 2)
    told(*(output("ok", f"t{n}") for n in range(7)))
    rows = ToolCall.objects.order_by("started_us", "key")
    with django_assert_num_queries(5):
        found = [call.call_id for call in reading.in_slices(rows, size=2)]
    assert found == [f"t{n}" for n in range(7)]
    walked = reading.in_slices(rows, size=2)
    next(walked)
    ToolCall.objects.filter(call_id="t3").delete()
    assert [call.call_id for call in walked] == ["t1", "t2", "t4", "t5", "t6"]


def test_events_are_read_a_megabyte_at_a_time(monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(reading, "EVENT_PAGE_BYTES", 1000)
    session = told(*(output("x" * 400, f"t{n}") for n in range(4)))
    with django_assert_num_queries(9):
        assert [event.ordinal for event in reading.events(session)] == [1, 2, 3, 4, 5]


def test_the_file_has_a_name_that_is_no_path(page):
    session = told()
    answer = page.get("/sessions/s1/export.md")
    assert answer["Content-Disposition"] == 'attachment; filename="session-s1.md"'
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    b"".join(answer.streaming_content)
    for session_id, name in (
        ("..:@a", "session-a.md"),
        ("C:Users", "session-C-Users.md"),
        ("a" * 128, f"session-{'a' * 80}.md"),
        ("@@@", "session-export.md"),
    ):
        session.id = session_id
        assert file_name(session, "md") == name


def test_other_endings_and_deleted_sessions_are_refused(page):
    session = told()
    assert page.get("/sessions/s1/export.exe").status_code == 422
    assert page.get("/sessions/nobody/export.md").status_code == 404
    delete_session(session=session, actor=SYSTEM, reason="no")
    assert page.get("/sessions/s1/export.md").status_code == 404


def test_the_api_gives_the_same(page, make_api):
    told(output("all is well"))
    answer = make_api("read").get("sessions/s1/export", format="json")
    assert answer.status_code == 200
    made = json.loads(b"".join(answer.streaming_content))
    assert made["sessions"] == as_json(page)["sessions"]
    text = make_api("read").get("sessions/s1/export", format="md")
    assert b"".join(text.streaming_content).decode() == as_markdown(page)
    assert make_api("read").get("sessions/s1/export", format="pdf").json()["field"] == "format"
    assert make_api("ingest").get("sessions/s1/export").status_code == 403


def test_a_project_and_its_texts_are_escaped_in_the_facts(page):
    session = told()
    Session.objects.filter(key=session.key).update(project=factories.project("A *B* <i>"))
    assert r"- Project: A \*B\* \<i\>" in as_markdown(page)


def test_model_calls_leave_with_their_texts_tokens_and_cost(page):
    session = told(output("all is well"), seen(body("Stop", last_assistant_message="Done, all of it.")))
    run = session.runs.get()
    for number, (prose, cost) in enumerate((("First this.", 7_000), ("Done, all of it.", None))):
        Iteration.objects.create(
            session=session, run=run, identity=digest16(b"%d" % number), source="transcript",
            client="claude-code", agent="main", model="opus",
            at_us=run.started_us + number, ended_us=run.started_us + number,
            prose=prose, thinking="Hm." if number else "", input_tokens=11_000, cache_read_tokens=500,
            output_tokens=35, cost_micro=cost,
        )  # fmt: skip
    made = as_json(page)["sessions"][0]
    assert [(one["prose"], one["output_tokens"], one["cost_micro"]) for one in made["model_calls"]] == [
        ("First this.", 35, 7_000),
        ("Done, all of it.", 35, None),
    ]
    text = as_markdown(page)
    assert "### Model call: opus · 11.5k→35 (cached 500) · \\$0.0070" in text
    assert "### Model call: opus · 11.5k→35 (cached 500) · —" in text
    assert text.index("First this.") < text.index("all is well")
    assert text.partition("## What else")[0].count("Done, all of it.") == 1
