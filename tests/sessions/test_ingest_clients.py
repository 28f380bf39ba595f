"""Codex, Gemini CLI and OpenCode from captures of real runs; Cursor and Copilot from constructed bodies."""

import json
from pathlib import Path
from typing import Any

import pytest

from sessions_app.ingest.observation import Outcome
from sessions_app.models import Event, HookBucket, Session, SessionEvent, ToolCall
from tests.sessions.deliveries import DATA, SECOND, T0, deliver, seen

pytestmark = pytest.mark.django_db


def bodies(*parts: str) -> list[tuple[str, dict[str, Any]]]:
    """(file's stem, body) in the order of capture."""
    return [
        (path.stem, json.loads(path.read_text())) for path in sorted(DATA.joinpath(*parts).glob("*.json"))
    ]


def play(client: str, captured: list[tuple[str, dict[str, Any]]]) -> list[Outcome]:
    return [
        deliver(seen(body, T0 + n * SECOND, client, delivery_id=f"{client} {n}"))[0]
        for n, (_, body) in enumerate(captured)
    ]


def event_of(stem: str) -> str:
    """Copilot's camel-case bodies name no event; the address does, here the file's name."""
    return Path(stem).stem.split("-", 1)[1].split(".")[0]


def told(session: Session) -> list[tuple[str, str, str]]:
    return [(call.name, call.state, call.error) for call in session.calls.order_by("started_us", "key")]


def test_a_real_run_of_codex() -> None:
    assert set(play("codex", bodies("real", "codex"))) == {Outcome.ACCEPTED}
    session = Session.objects.get()
    assert session.title == "Write a calculator module that adds integers"
    assert (session.client, session.model, session.activity) == ("codex", "gpt-5.2-codex", "ended")
    turn = session.turns.get()
    assert turn.runs.get().answer == "A reviewer should see this."
    assert turn.runs.get().status == "completed"
    # Its hooks do not say that a command failed.
    assert told(session) == [("Bash", "done", "")] * 5
    assert session.calls.get(summary="cat missing.txt").output_size > 0


def test_codexs_older_notify_and_its_interrupt() -> None:
    notify = dict(bodies("codex"))["08-notify-agent-turn-complete"]
    deliver(seen(notify, T0, "codex"))
    run = Session.objects.get(id=notify["thread-id"]).runs.get()
    assert (run.status, run.answer) == ("completed", notify["last-assistant-message"])

    start = {"session_id": "c", "turn_id": "t", "hook_event_name": "UserPromptSubmit", "prompt": "Go"}
    deliver(seen(start, T0, "codex"))
    deliver(seen({**start, "hook_event_name": "Interrupt"}, T0 + SECOND, "codex"))
    session = Session.objects.get(id="c")
    assert session.runs.get().status == "interrupted"
    assert (session.activity, session.status) == ("idle", "active")


def test_a_real_run_of_gemini() -> None:
    outcomes = play("gemini", bodies("real", "gemini"))
    assert outcomes.count(Outcome.COUNTED) == 12  # BeforeModel and AfterModel
    session = Session.objects.get()
    assert session.compaction_count == 0  # PreCompress fires before each model call
    assert session.status == "closed"
    assert told(session) == [
        ("run_shell_command", "done", ""),
        ("write_file", "done", ""),
        ("read_file", "failed", "File not found: /home/dev/calculator/missing.txt"),
        ("replace", "done", ""),
        ("run_shell_command", "failed", "Command exited with code: 3"),
    ]
    assert session.calls.first().duration_us == 178_000  # type: ignore[union-attr]  # by its own clock
    assert session.turns.get().runs.get().answer.endswith("A reviewer should see this.")
    assert not Event.objects.filter(name__in=["BeforeModel", "AfterModel"]).exists()
    assert HookBucket.objects.get(event="BeforeModel").accepted == 6


def test_geminis_equal_calls_are_paired_in_order() -> None:
    def tool(event: str, n: int, **more: Any) -> None:
        body = {"session_id": "g", "hook_event_name": event, "tool_name": "t", "tool_input": {"command": "x"}}
        deliver(seen({**body, **more}, T0 + n * SECOND, "gemini", delivery_id=str(n)))

    tool("BeforeTool", 1)
    tool("BeforeTool", 2)
    tool("AfterTool", 3, tool_response={"error": {"message": "first"}})
    tool("AfterTool", 4, tool_response={"llmContent": "second"})
    tool("BeforeTool", 5)
    assert told(Session.objects.get()) == [("t", "failed", "first"), ("t", "done", ""), ("t", "prepared", "")]


def test_gemini_waits_for_a_permission() -> None:
    played = [pair for pair in bodies("gemini") if "SessionEnd" not in pair[0]]
    play("gemini", played)
    session = Session.objects.get()
    assert (session.activity, session.waiting_for) == ("waiting", "rm -r data")
    assert told(session) == [("run_shell_command", "failed", "exit 1")]


def test_a_real_run_of_opencode() -> None:
    play("opencode", bodies("real", "opencode"))
    session = Session.objects.get()
    assert session.turns.get().prompt == "Write a calculator module that adds integers"
    assert (session.client, session.model, session.activity) == ("opencode", "mock-model", "idle")
    run = session.runs.get()
    assert (run.status, run.answer) == ("completed", "A reviewer should see this.")
    assert told(session) == [
        ("bash", "done", ""),
        ("write", "done", ""),
        ("read", "failed", "File not found: /home/dev/calculator/missing.txt"),
        ("edit", "done", ""),
        ("bash", "failed", "Exit code 3: (no output)"),
    ]
    assert session.failed_count == 2


def test_opencodes_subagent_is_a_child_of_its_parent() -> None:
    def created(id: str, **info: Any) -> dict[str, Any]:  # noqa: A002
        properties = {"sessionID": id, "info": {"id": id, "directory": "/src", **info}}
        return {"event": {"id": f"evt_{id}", "type": "session.created", "properties": properties}}

    deliver(seen(created("ses_1"), T0, "opencode"))
    deliver(seen(created("ses_2", parentID="ses_1", agent="general"), T0 + SECOND, "opencode"))
    child = Session.objects.get(id="ses_2")
    assert child.parent is not None
    assert (child.parent.id, child.agent_name) == ("ses_1", "general")
    assert Session.objects.get(id="ses_1").child_count == 1


def test_cursor_counts_a_call_once_though_two_events_tell_of_it() -> None:
    assert set(play("cursor", bodies("cursor"))) == {Outcome.ACCEPTED, Outcome.COUNTED}
    session = Session.objects.get()
    assert session.workspace == "/home/dana/src/lantern"
    assert (session.model, session.activity) == ("claude-sonnet-5", "idle")
    call = session.calls.get()
    assert (call.name, call.summary, call.state) == ("Shell", "go test ./...", "done")
    assert call.duration_us == 2_210_000
    assert session.turns.get().runs.get().status == "completed"
    assert SessionEvent.objects.filter(category="shell", data="go vet ./...").count() == 2


def test_copilots_events_are_named_by_the_address() -> None:
    for n, (stem, body) in enumerate(bodies("copilot")[:6]):
        observation = seen(body, T0 + n * SECOND, "copilot", event=event_of(stem))
        assert deliver(observation) == [Outcome.ACCEPTED]
    session = Session.objects.get()
    # The Pascal-case delivery at the end tells of the same call again, and has no id either: it opens one.
    assert told(session)[0] == ("bash", "failed", "exit code 1")
    assert ToolCall.objects.filter(state="failed").count() == 1
    assert session.started_at.year == 2026
    assert SessionEvent.objects.filter(data="TimeoutError: network timeout").exists()


def test_an_old_copilot_without_session_ids_is_grouped_by_folder_and_day() -> None:
    stem, body = bodies("copilot")[6]
    deliver(seen(body, T0, "copilot", event=event_of(stem)))
    deliver(seen({**body, "timestamp": body["timestamp"] + 1000}, T0, "copilot", event="sessionStart"))
    deliver(seen({**body, "cwd": "/elsewhere"}, T0, "copilot", event=event_of(stem)))
    assert Session.objects.count() == 2


@pytest.mark.parametrize("client", ["codex", "gemini", "opencode", "cursor", "copilot"])
@pytest.mark.parametrize("value", [None, 7, "text", [], {}, [{}], True, {"type": {"type": []}}])
def test_no_body_of_any_shape_breaks_a_client(client: str, value: Any) -> None:
    keys = {key for _, body in bodies(client) for key in body}
    for name in {event_of(stem) for stem, _ in bodies(client)} | {"toolUse", "preToolUse", "BeforeTool"}:
        body = {**dict.fromkeys(keys, value), "hook_event_name": name, "session_id": "s", "sessionId": "s"}
        assert deliver(seen(body, T0, client, event=name)) != [Outcome.CONFLICT]
