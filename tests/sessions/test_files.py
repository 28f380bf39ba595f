"""Files touched: kept with the calls of every client, read by path, opened as changes in order."""

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from contextdash.limits import FILE_PATH_CHARS, FILES_OF_CALL
from sessions_app.importers.files import Place, import_file
from sessions_app.ingest.files import files_of
from sessions_app.models import Session, ToolCall, TouchedFile
from sessions_app.queries.files import PAGE_FILES, file_page
from sessions_app.queries.session import family_of
from tests.imports import lines
from tests.sessions import deliveries
from tests.teller import HOSTILE, RTL

PATCH = """*** Begin Patch
*** Add File: new.py
+one
*** Update File: old.py
@@ def f():
-two
--- three
+four
*** Move to: moved.py
*** Delete File: gone.py
*** End Patch
"""
PATCHED = {("new.py", "write"), ("old.py", "edit"), ("moved.py", "write"), ("gone.py", "delete")}


@pytest.mark.parametrize(
    ("tool", "asked", "found"),
    [
        ("Read", {"file_path": "/a"}, {("/a", "read")}),
        ("read", {"filePath": "/a"}, {("/a", "read")}),
        ("NotebookEdit", {"notebook_path": "/n.ipynb", "new_source": "x"}, {("/n.ipynb", "edit")}),
        ("MultiEdit", {"file_path": "/a", "edits": []}, {("/a", "edit")}),
        ("write_file", {"file_path": "/a", "content": ""}, {("/a", "write")}),
        ("create", {"path": "/a", "file_text": ""}, {("/a", "write")}),
        ("str_replace_editor", {"command": "view", "path": "/a"}, {("/a", "read")}),
        ("str_replace_editor", {"command": "str_replace", "path": "/a"}, {("/a", "edit")}),
        ("mcp__files__read_many_files", {"paths": ["/a", "/*.py", 3]}, {("/a", "read")}),
        ("edit_file", {"target_file": "/a"}, {("/a", "edit")}),
        ("apply_patch", PATCH, PATCHED),
        ("apply_patch", {"input": PATCH}, PATCHED),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF"]}, PATCHED),
        ("Bash", {"command": "cat /etc/passwd > /tmp/x"}, set()),
        ("Grep", {"pattern": "x", "path": "/a"}, set()),
        ("Read", {"file_path": 7}, set()),
        ("Read", None, set()),
        ("Read", {"file_path": "x" * 600}, {("…" + "x" * (FILE_PATH_CHARS - 1), "read")}),
    ],
)  # fmt: skip
def test_tools_of_every_client_name_their_files(tool: str, asked: Any, found: set[tuple[str, str]]) -> None:
    assert set(files_of(tool, asked)) == found


@given(
    st.text(max_size=30),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=40),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
        max_leaves=12,
    ),
)
def test_whatever_a_call_is_given_its_files_are_few_and_short(tool: str, asked: Any) -> None:
    for name in (tool, "Read", "apply_patch", "Bash"):
        found = files_of(name, asked)
        assert len(found) <= FILES_OF_CALL
        assert all(0 < len(one.path) <= FILE_PATH_CHARS for one in found)


def touched() -> set[tuple[str, str, str]]:
    return {
        (ToolCall.objects.get(key=row.call_id).call_id, row.path, row.action)
        for row in TouchedFile.objects.all()
    }


@pytest.mark.django_db
def test_hooks_and_transcript_of_one_call_touch_a_file_once(tmp_path: Path) -> None:
    edit = {"file_path": "/src/a.py", "old_string": "x", "new_string": "y"}
    for event in ("PreToolUse", "PostToolUse"):
        deliveries.deliver(deliveries.seen(deliveries.tool(event, "t1", "Edit", tool_input=edit)))
    # A result that comes before its call, or without one, tells its file as well.
    read = deliveries.tool("PostToolUse", "t2", "Read", tool_input={"file_path": "/src/b.py"})
    deliveries.deliver(deliveries.seen(read))
    deliveries.deliver(deliveries.seen({**read, "hook_event_name": "PreToolUse"}))
    told = {("t1", "/src/a.py", "edit"), ("t2", "/src/b.py", "read")}
    assert touched() == told
    path = lines.write(
        tmp_path,
        lines.prompt("go", "2026-11-30T10:00:00Z"),
        lines.response("m1", "2026-11-30T10:00:01Z", lines.calls("t1", "Edit", **edit), output_tokens=1),
        lines.result("t1", "ok", "2026-11-30T10:00:02Z"),
        session="s1",
    )
    import_file(path, place=Place(host="desk"))
    assert touched() == told | {("t1", "/src/a.py", "edit")}
    assert TouchedFile.objects.count() == len(touched())


def deliver(call_id: str, tool: str, asked: Any, gave: Any = None, **more: Any) -> None:
    pre = deliveries.tool("PreToolUse", call_id, tool, tool_input=asked, **more)
    post = deliveries.tool(
        "PostToolUse", call_id, tool, tool_input=asked, tool_response=gave or {"ok": True}, **more
    )
    deliveries.deliver(deliveries.seen(pre), deliveries.seen(post))


def shown(page: Client, **query: Any) -> list[str]:
    text = page.get("/sessions/s1/files/", query).content.decode()
    return re.findall(r'<li data-row="f-([^"]*)"', text)


@pytest.mark.django_db
def test_a_path_opens_its_changes_in_order_as_diffs(page: Client) -> None:
    deliver("t1", "Read", {"file_path": "/src/moss/a.py"})
    deliver("t2", "Edit", {"file_path": "/src/moss/a.py", "old_string": "one", "new_string": "two"})
    deliver(
        "t3",
        "Edit",
        {"file_path": "/src/moss/a.py", "old_string": "two", "new_string": "three"},
        agent_id="k1",
    )
    deliver("t4", "apply_patch", {"input": PATCH})
    assert shown(page) == ["/src/moss/a.py", "gone.py", "moved.py", "new.py", "old.py"]
    text = page.get("/sessions/s1/files/").content.decode()
    assert "subagent" in text
    assert "<bdi>/src/moss/a.py" in text or "<bdi>a.py" in text
    opened = page.get("/sessions/s1/files/", {"path": "/src/moss/a.py"}, headers={"HX-Request": "true"})
    diffs = re.findall(r'<tr class="(add|del)">.*?</td><td>([^<]*)</td></tr>', opened.content.decode())
    assert diffs == [("del", "one"), ("add", "two"), ("del", "two"), ("add", "three")]
    patch = page.get("/sessions/s1/files/", {"path": "old.py"}).content.decode()
    assert "-- three" in patch


@pytest.mark.django_db
def test_hostile_names_are_text_and_filters_take_anything(page: Client) -> None:
    for number, name in enumerate((HOSTILE, RTL, "a\x1b[31mb\nc", "x" * 300, "%_'\"\\")):
        deliver(f"t{number}", "Write", {"file_path": name, "content": HOSTILE})
    text = page.get("/sessions/s1/files/").content.decode()
    assert len(re.findall(r'<li data-row="f-', text)) == 5
    for marked in ("<script>alert", "<img src", "<b>bold", "\x1b", "\u202e"):
        assert marked not in text
    address = re.findall(r'hx-get="([^"]*path=[^"]*)"', text)
    for one in address:
        opened = page.get(one.replace("&amp;", "&"), headers={"HX-Request": "true"})
        assert opened.status_code == 200
        assert "<script>alert" not in opened.content.decode()
    for wanted in ("%", "'", "b\nc", "x" * 5000):
        assert page.get("/sessions/s1/files/", {"q": wanted, "cursor": wanted, "path": ""}).status_code == 200
    assert shown(page, q="%_") == ["%_&#x27;&quot;\\"]


@pytest.mark.django_db
def test_thousands_of_files_are_paged_and_counted_from_their_rows_alone(
    page: Client, django_assert_max_num_queries: Any
) -> None:
    deliver("t1", "Read", {"file_path": "/zzz"})
    session = Session.objects.get(id="s1")
    call = ToolCall.objects.get(call_id="t1")
    TouchedFile.objects.bulk_create(
        TouchedFile(session=session, call_id=call.key, path=f"/f{number:04}", action=action)
        for number in range(2_000)
        for action in ("edit", "read")
    )
    seen, cursor = [], ""
    family = family_of(session)
    while True:
        with django_assert_max_num_queries(2):
            found = file_page(family, after=cursor)
        seen += [row.path for row in found.rows]
        assert len(found.rows) <= PAGE_FILES
        assert all((row.edits, row.reads) == (1, 1) for row in found.rows[:-1])
        if found.next is None:
            break
        cursor = found.next
    assert seen == [*(f"/f{number:04}" for number in range(2_000)), "/zzz"]
    assert len(shown(page)) == PAGE_FILES
    assert "/zzz" not in shown(page, q="zzz")
    assert shown(page, q="zzz", all="1") == ["/zzz"]


@pytest.mark.django_db
def test_files_of_clients_with_shapes_of_their_own() -> None:
    opencode = {
        "hook": "tool.execute.before",
        "input": {"tool": "edit", "sessionID": "ses_1", "callID": "c1"},
        "output": {"args": {"filePath": "/o.py", "oldString": "a", "newString": "b"}},
    }
    deliveries.deliver(deliveries.seen(opencode, client="opencode"))
    copilot = {
        "sessionId": "cop", "timestamp": 1_790_000_000_000, "cwd": "/x", "toolName": "create",
        "toolArgs": json.dumps({"path": "/c.py", "file_text": "x"}),
    }  # fmt: skip
    deliveries.deliver(deliveries.seen(copilot, client="copilot", event="preToolUse"))
    gemini = {
        "session_id": "gem", "hook_event_name": "BeforeTool", "tool_name": "replace",
        "tool_input": {"file_path": "/g.py", "old_string": "a", "new_string": "b"},
    }  # fmt: skip
    deliveries.deliver(deliveries.seen(gemini, client="gemini"))
    rows = set(TouchedFile.objects.values_list("path", "action"))
    assert rows == {("/o.py", "edit"), ("/c.py", "write"), ("/g.py", "edit")}


@pytest.mark.django_db
def test_files_of_older_calls_are_filled_in_by_the_migration() -> None:
    deliver("t1", "Read", {"file_path": "/a.py"})
    deliver("t2", "apply_patch", {"input": PATCH})
    deliver("t3", "Bash", {"command": "rm /a.py"})
    result_only = deliveries.tool("PostToolUse", "t4", "Write", tool_input={"file_path": "/b.py"})
    deliveries.deliver(deliveries.seen(result_only))
    written = touched()
    assert len(written) == 6
    TouchedFile.objects.all().delete()
    migration = import_module("sessions_app.migrations.0004_touched_files")
    for _ in range(2):
        migration.fill(apps, None)
        assert touched() == written
    assert TouchedFile.objects.count() == 6


@pytest.mark.django_db
def test_a_copy_of_a_session_has_its_files(page: Client, api: Any) -> None:
    prompt = deliveries.body("UserPromptSubmit", prompt="Go", prompt_id="p1")
    deliveries.deliver(deliveries.seen(prompt))
    deliver("t1", "Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"}, prompt_id="p1")
    turn = Session.objects.get(id="s1").turns.get()
    assert api.post(f"sessions/s1/fork?through_turn={turn.key}", session_id="copy").status_code == 201
    rows = file_page(family_of(Session.objects.get(id="copy"))).rows
    assert [(row.path, row.edits) for row in rows] == [("/a.py", 1)]
    opened = page.get("/sessions/copy/files/", {"path": "/a.py"}).content.decode()
    assert '<tr class="add">' in opened
