"""Clients whose hooks name no turn and no call: hooks and transcript of one run are still one."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextdash.clock import parse_us
from sessions_app.importers.files import Place, import_file
from sessions_app.ingest.observation import Delivery
from sessions_app.ingest.observing import observe
from sessions_app.ingest.store import store
from sessions_app.models import Iteration, Session, ToolCall, Turn
from tests.imports.test_joining import projections

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parent.parent / "data" / "transcripts"
HOOKS = [path.read_bytes() for path in sorted((DATA / "real" / "gemini-hooks").glob("*.json"))]
FILE = next((DATA / "real" / "gemini").rglob("*.jsonl"))
COPILOT = next((DATA / "copilot").rglob("events.jsonl"))
HERE = Place(host="desk")


def deliver(body: bytes, client: str = "gemini", event: str = "") -> None:
    at_us = parse_us(json.loads(body)["timestamp"]) or 0
    delivery = Delivery(received_us=at_us, captured_us=at_us, host="desk")
    with transaction.atomic():
        store([observe(body, client=client, delivery=delivery, event=event)])


@pytest.mark.parametrize("hooks_first", [True, False])
def test_a_real_run_and_its_hooks_are_one_session(*, hooks_first: bool) -> None:
    if hooks_first:
        for body in HOOKS:
            deliver(body)
    import_file(FILE, place=HERE)
    if not hooks_first:
        for body in HOOKS:
            deliver(body)
    session = Session.objects.get()
    assert Turn.objects.count() == session.turn_count == 1
    assert ToolCall.objects.count() == session.call_count == Turn.objects.get().call_count == 5
    assert Counter(ToolCall.objects.values_list("state", flat=True)) == {"done": 3, "failed": 2}
    assert Iteration.objects.exclude(run__turn=Turn.objects.get()).count() == 0
    told = {call for ids in Iteration.objects.values_list("call_ids", flat=True) for call in ids}
    assert told == set(ToolCall.objects.values_list("call_id", flat=True))


def seen_of(found: dict[str, Any]) -> dict[str, Any]:
    """All but which source's event is meant, and the end of the turn, which only hooks tell at its time."""
    usage = [row for row in found["usage"] if row[1]]  # a quarter that lost its calls to a project has none
    return {**{noun: rows for noun, rows in found.items() if noun != "runs"}, "usage": usage}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_interleaving_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = FILE.read_bytes().splitlines(keepends=True)
    steps = data.draw(st.permutations(["hook"] * len(HOOKS) + ["line"] * 6))
    cuts = [*sorted(data.draw(st.lists(st.integers(1, len(lines)), min_size=5, max_size=5))), len(lines)]
    path = tmp_path_factory.mktemp("chats") / FILE.name
    found: list[dict[str, Any]] = []
    for order in (steps, ["hook"] * len(HOOKS) + ["line"] * 6):
        with transaction.atomic():
            hooks, ends = iter(HOOKS), iter(cuts)
            for step in order:
                if step == "hook":
                    deliver(next(hooks))
                else:
                    path.write_bytes(b"".join(lines[: next(ends)]))
                    import_file(path, place=HERE)
            found.append(projections())
            transaction.set_rollback(True)
    assert seen_of(found[0]) == seen_of(found[1])


def hook(event: str, second: int, **more: Any) -> bytes:
    body = {"session_id": "s-1", "hook_event_name": event, "cwd": "/src", **more}
    return json.dumps({**body, "timestamp": f"2026-11-20T10:00:{second:02}Z"}).encode()


def tool(event: str, second: int, command: str) -> bytes:
    return hook(event, second, tool_name="run_shell_command", tool_input={"command": command})


def chat(folder: Path, *messages: dict[str, Any]) -> Path:
    path = folder / "session-2026-11-20T10-00-s1.jsonl"
    head = {"sessionId": "s-1", "projectHash": "x", "startTime": "2026-11-20T10:00:00Z"}
    path.write_text("".join(json.dumps(one) + "\n" for one in (head, *messages)))
    return path


def said(own_id: str, second: int, text: str) -> dict[str, Any]:
    return {"id": own_id, "type": "user", "content": text, "timestamp": f"2026-11-20T10:00:{second:02}Z"}


def called(own_id: str, second: int, *commands: str) -> dict[str, Any]:
    at = f"2026-11-20T10:00:{second:02}Z"
    calls = [
        {
            "id": f"{own_id}-{place}",
            "name": "run_shell_command",
            "args": {"command": command},
            "status": "success",
            "timestamp": at,
            "result": [],
        }
        for place, command in enumerate(commands)
    ]
    return {"id": own_id, "type": "gemini", "content": "", "timestamp": at, "toolCalls": calls}


def test_equal_calls_and_prompts_meet_in_their_order(tmp_path: Path) -> None:
    deliver(hook("BeforeAgent", 1, prompt="again"))
    deliver(tool("BeforeTool", 2, "make"))
    deliver(tool("AfterTool", 3, "make"))
    import_file(chat(tmp_path, said("u1", 1, "again"), called("g1", 3, "make")), place=HERE)
    # The second round is told by the hooks before the transcript has it: it is another call, at once.
    deliver(hook("BeforeAgent", 30, prompt="again"))
    deliver(tool("BeforeTool", 32, "make"))
    first = ToolCall.objects.earliest("started_us")
    assert (first.call_id, first.state) == ("g1-0", "done")
    assert (Turn.objects.count(), ToolCall.objects.filter(state="prepared").count()) == (2, 1)
    path = chat(
        tmp_path,
        said("u1", 1, "again"),
        called("g1", 3, "make"),
        said("u2", 30, "again"),
        called("g2", 33, "make"),
    )
    import_file(path, place=HERE)
    deliver(tool("AfterTool", 33, "make"))
    assert list(ToolCall.objects.order_by("started_us").values_list("call_id", flat=True)) == ["g1-0", "g2-0"]
    assert list(Turn.objects.order_by("number").values_list("turn_id", flat=True)) == ["u1", "u2"]
    assert Session.objects.get().call_count == 2


def test_a_result_that_overtook_its_call_is_of_the_same_call() -> None:
    deliver(tool("AfterTool", 3, "make"))
    deliver(tool("BeforeTool", 2, "make"))
    call = ToolCall.objects.get()
    assert (call.state, call.duration_us) == ("done", 1_000_000)


@pytest.mark.parametrize("hooks_first", [True, False])
def test_copilots_hooks_and_events_are_one_session(*, hooks_first: bool) -> None:
    def hooks() -> None:
        for line in COPILOT.read_text().splitlines():
            record = json.loads(line)
            told, event = _copilot_hook(record)
            if event:
                deliver(json.dumps(told).encode(), client="copilot", event=event)

    if hooks_first:
        hooks()
    import_file(COPILOT, place=HERE)
    if not hooks_first:
        hooks()
    session = Session.objects.get()
    assert (Turn.objects.count(), ToolCall.objects.count(), session.call_count) == (2, 3, 3)
    assert Counter(ToolCall.objects.values_list("state", flat=True)) == {"done": 2, "failed": 1}


ARGUMENTS: dict[str, Any] = {}


def _copilot_hook(record: dict[str, Any]) -> tuple[dict[str, Any], str]:
    data = record["data"]
    at = record["timestamp"]
    told = {"sessionId": COPILOT.parent.name, "timestamp": at, "cwd": "/home/dana/src/lantern"}
    for request in data.get("toolRequests", []):
        ARGUMENTS[request["toolCallId"]] = (request["name"], request["arguments"])
    name, asked = ARGUMENTS.get(data.get("toolCallId"), ("", ""))
    if record["type"] == "user.message" and not data.get("source"):
        return {**told, "prompt": data["content"]}, "userPromptSubmitted"
    if record["type"] == "tool.execution_start":
        return {**told, "toolName": name, "toolArgs": asked}, "preToolUse"
    if record["type"] == "tool.execution_complete":
        outcome = {"resultType": "success" if data["success"] else "failure", "textResultForLlm": "x"}
        return {**told, "toolName": name, "toolArgs": asked, "toolResult": outcome}, "postToolUse"
    return told, ""
