"""What hooks do to turns, runs, calls, activity and status."""

from typing import Any

import pytest

from sessions_app.ingest.observation import Outcome
from sessions_app.models import Event, Run, Session, SessionEvent, ToolCall, Turn
from tests.sessions.deliveries import SECOND, T0, body, deliver, seen, tool

pytestmark = pytest.mark.django_db


def tell(*bodies: dict[str, Any], start: int = T0) -> None:
    """One delivery a second."""
    deliver(*(seen(one, start + place * SECOND) for place, one in enumerate(bodies)))


def session(session_id: str = "s1") -> Session:
    return Session.objects.get(id=session_id)


def prompt(turn: str, text: str = "Do it.") -> dict[str, Any]:
    return body("UserPromptSubmit", prompt_id=turn, prompt=text)


def stop(turn: str, answer: str = "Done.") -> dict[str, Any]:
    return body("Stop", prompt_id=turn, last_assistant_message=answer)


def test_a_session_may_first_be_seen_in_its_middle() -> None:
    tell(tool("PostToolUse", "c1", prompt_id="t1"))
    made = session()
    assert (made.activity, made.status, made.turn_count, made.call_count) == ("working", "active", 1, 1)
    assert made.states.get().version == 0
    assert made.turns.get().turn_id == "t1"
    assert not made.started_only


def test_a_stop_completes_the_run_and_the_session_is_idle() -> None:
    tell(prompt("t1"), tool("PreToolUse", "c1", prompt_id="t1"), stop("t1"))
    run = Run.objects.get()
    assert (run.status, run.answer, run.ended_us) == ("completed", "Done.", T0 + 2 * SECOND)
    assert run.turn.ended_us == run.ended_us
    assert session().activity == "idle"


def test_work_after_a_stop_reopens_the_run() -> None:
    tell(prompt("t1"), stop("t1"), tool("PreToolUse", "c1", prompt_id="t1"))
    run = Run.objects.get()
    assert (run.status, run.ended_us, run.turn.ended_us) == ("running", None, None)
    assert session().activity == "working"


def test_a_result_that_a_stop_overtook_does_not_reopen_the_run() -> None:
    deliver(
        seen(prompt("t1"), T0),
        seen(tool("PreToolUse", "c1", prompt_id="t1"), T0 + 1),
        seen(stop("t1"), T0 + SECOND),
        seen(tool("PostToolUse", "c1", prompt_id="t1"), T0 + SECOND + 5000),
    )
    assert Run.objects.get().status == "completed"
    assert ToolCall.objects.get().state == "done"
    assert session().activity == "idle"


def test_the_next_prompt_interrupts_what_is_open() -> None:
    tell(prompt("t1"), tool("PreToolUse", "c1", prompt_id="t1"), prompt("t2", "No, stop."))
    first, second = Run.objects.all()
    assert (first.status, second.status) == ("interrupted", "running")
    call = ToolCall.objects.get()
    assert (call.state, call.ended_us) == ("interrupted", T0 + 2 * SECOND)
    assert session().current_call == ""


def test_a_result_after_the_interruption_still_counts() -> None:
    tell(
        prompt("t1"),
        tool("PreToolUse", "c1", prompt_id="t1"),
        prompt("t2"),
        tool("PostToolUseFailure", "c1", prompt_id="t1", error="Exit code 2"),
    )
    assert ToolCall.objects.get().state == "failed"
    assert Turn.objects.get(turn_id="t1").failed_count == 1
    assert Run.objects.filter(status="running").count() == 1


def test_an_older_prompt_delivered_late_does_not_interrupt_the_newer_one() -> None:
    deliver(
        seen(prompt("t2", "Second"), T0 + 60 * SECOND),
        seen(prompt("t1", "First"), T0 + 61 * SECOND, captured_us=T0),
        seen(tool("PreToolUse", "c1", prompt_id="t1"), T0 + 62 * SECOND, captured_us=T0 + SECOND),
    )
    assert dict(Turn.objects.values_list("turn_id", "runs__status")) == {"t2": "running", "t1": "interrupted"}
    assert ToolCall.objects.get().state == "interrupted"


def test_prompts_without_an_id_are_turns_of_their_own_and_take_what_follows() -> None:
    tell(
        body("UserPromptSubmit", prompt="One"),
        tool("PreToolUse", "c1"),
        body("Stop", last_assistant_message="1"),
        body("UserPromptSubmit", prompt="Two"),
        tool("PreToolUse", "c2"),
    )
    assert list(Turn.objects.values_list("prompt", "call_count")) == [("One", 1), ("Two", 1)]
    assert list(Run.objects.values_list("status", "answer")) == [("completed", "1"), ("running", "")]


def test_a_call_outside_any_turn_moves_to_its_turn_when_that_is_told() -> None:
    tell(tool("PreToolUse", "c1"), tool("PostToolUseFailure", "c1", prompt_id="t1", error="no"))
    call = ToolCall.objects.get()
    assert call.run is not None
    assert (call.run.turn.call_count, call.run.turn.failed_count) == (1, 1)


def test_an_api_failure_fails_the_run_and_marks_the_session() -> None:
    tell(prompt("t1"), body("StopFailure", prompt_id="t1", error="overloaded", error_details="529"))
    run = Run.objects.get()
    assert (run.status, run.error) == ("failed", "overloaded: 529")
    assert (session().status, session().activity) == ("errored", "idle")


def test_the_next_prompt_makes_an_errored_session_active_again() -> None:
    tell(prompt("t1"), body("StopFailure", prompt_id="t1", error="overloaded"), prompt("t2"))
    assert session().status == "active"


def test_a_permission_request_waits_until_the_next_event() -> None:
    request = body("PermissionRequest", prompt_id="t1", tool_name="Bash", tool_input={"command": "rm -rf x"})
    note = body("Notification", message="Claude needs you", notification_type="permission_prompt")
    tell(prompt("t1"), tool("PreToolUse", "c1", prompt_id="t1"), request, note)
    waiting = session()
    assert (waiting.activity, waiting.waiting_for) == ("waiting", "Bash: rm -rf x")
    assert waiting.activity_since_us == T0 + 2 * SECOND
    tell(tool("PostToolUse", "c1", prompt_id="t1"), start=T0 + 10 * SECOND)
    assert (session().activity, session().waiting_for) == ("working", "")


def test_an_idle_notification_is_no_waiting_for_a_permission() -> None:
    idle = body("Notification", message="Claude is waiting for your input", notification_type="idle_prompt")
    tell(prompt("t1"), stop("t1"), idle)
    assert session().activity == "idle"
    assert Run.objects.get().status == "completed"


def test_the_current_call_is_shown_until_its_result() -> None:
    tell(prompt("t1"), tool("PreToolUse", "c1", prompt_id="t1"))
    assert session().current_call == "Bash run c1"
    tell(tool("PostToolUse", "c1", prompt_id="t1"), start=T0 + 5 * SECOND)
    assert session().current_call == ""


def test_a_session_end_closes_it_and_interrupts_what_is_open() -> None:
    tell(prompt("t1"), tool("PreToolUse", "c1", prompt_id="t1"), body("SessionEnd", reason="other"))
    ended = session()
    assert (ended.status, ended.activity) == ("closed", "ended")
    assert ended.ended_at is not None
    assert Run.objects.get().status == "interrupted"
    assert ToolCall.objects.get().state == "interrupted"


def test_what_comes_after_the_end_is_kept_and_marked_late() -> None:
    tell(prompt("t1"), body("SessionEnd"), tool("PostToolUse", "c1", prompt_id="t1"))
    late = Event.objects.get(name="PostToolUse")
    assert late.late
    assert session().activity == "ended"
    assert ToolCall.objects.get().state == "done"


def test_an_end_that_comes_first_leaves_a_closed_session_with_all_its_calls() -> None:
    deliver(
        seen(body("SessionEnd"), T0 + 9 * SECOND),
        seen(prompt("t1"), T0 + 10 * SECOND, captured_us=T0),
        seen(tool("PreToolUse", "c1", prompt_id="t1"), T0 + 11 * SECOND, captured_us=T0 + SECOND),
        seen(tool("PostToolUse", "c1", prompt_id="t1"), T0 + 12 * SECOND, captured_us=T0 + 2 * SECOND),
    )
    assert (session().status, session().activity, session().started_us) == ("closed", "ended", T0)
    assert ToolCall.objects.get().state == "done"


@pytest.mark.parametrize("comes_back", [prompt("t2"), body("SessionStart", source="resume")])
def test_a_prompt_or_a_resume_reopens_a_closed_session(comes_back: dict[str, Any]) -> None:
    tell(prompt("t1"), body("SessionEnd"), comes_back)
    assert (session().status, session().ended_at) == ("active", None)
    assert session().activity != "ended"
    assert not Event.objects.filter(late=True).exists()


def test_a_start_that_its_own_end_overtook_begins_nothing() -> None:
    deliver(seen(body("SessionEnd"), T0), seen(body("SessionStart", source="startup"), T0 + 2000))
    assert session().status == "closed"


def test_a_session_end_closes_the_subagents_that_still_work() -> None:
    agent = {"agent_id": "a1", "agent_type": "Explore", "prompt_id": "t1"}
    tell(prompt("t1"), body("SubagentStart", **agent), tool("PreToolUse", "c1", **agent))
    assert Session.objects.get(agent_id="a1").activity == "working"
    tell(body("SessionEnd"), start=T0 + 9 * SECOND)
    child = Session.objects.get(agent_id="a1")
    assert (child.activity, child.status) == ("ended", "closed")
    assert ToolCall.objects.get().state == "interrupted"


def test_a_phantom_start_is_marked_until_something_follows() -> None:
    tell(body("SessionStart", source="startup"))
    assert session().started_only
    tell(prompt("t1"), start=T0 + 9 * SECOND)
    assert not session().started_only


@pytest.mark.parametrize("names", [["PreCompact", "PostCompact"], ["PreCompact"], ["PostCompact"]])
def test_a_compaction_counts_once_however_much_it_tells(names: list[str]) -> None:
    tell(prompt("t1"), *(body(name, prompt_id="t1", trigger="auto") for name in names))
    assert (session().status, session().compaction_count) == ("compacted", 1)
    tell(prompt("t2"), start=T0 + 9 * SECOND)
    assert (session().status, session().compaction_count) == ("active", 1)


def test_a_subagent_is_a_child_session_linked_from_its_call() -> None:
    agent = {"agent_id": "a1", "agent_type": "Explore", "prompt_id": "t1"}
    asked = {"description": "Look around", "prompt": "Find all.", "subagent_type": "Explore"}
    answer = {"status": "completed", "agentId": "a1", "resolvedModel": "claude-haiku"}
    tell(
        prompt("t1"),
        tool("PreToolUse", "c1", name="Agent", prompt_id="t1", tool_input=asked),
        body("SubagentStart", **agent),
        tool("PreToolUse", "c2", **agent),
        tool("PostToolUse", "c2", **agent),
        body("SubagentStop", last_assistant_message="Found.", **agent),
        tool("PostToolUse", "c1", name="Agent", prompt_id="t1", tool_input=asked, tool_response=answer),
    )
    parent, child = session(), Session.objects.get(agent_id="a1")
    assert child.parent == parent
    assert child.family_root == parent
    assert (child.title, child.model, child.agent_name) == ("Look around", "claude-haiku", "Explore")
    assert (child.activity, child.call_count, parent.call_count) == ("ended", 1, 1)
    assert parent.child_count == 1
    call = parent.calls.get()
    assert (call.child, call.summary) == (child, "Find all.")
    run = child.runs.get()
    assert (run.status, run.answer, run.turn.prompt) == ("completed", "Found.", "Find all.")


def test_a_child_is_linked_also_when_its_parents_call_comes_first() -> None:
    answer = {"status": "async_launched", "agentId": "a1"}
    asked = {"prompt": "Find all."}
    tell(
        tool("PostToolUse", "c1", name="Agent", prompt_id="t1", tool_input=asked, tool_response=answer),
        body("SubagentStart", agent_id="a1", agent_type="Explore", prompt_id="t1"),
    )
    child = Session.objects.get(agent_id="a1")
    assert session().calls.get().child == child
    assert child.turns.get().prompt == "Find all."
    assert session().child_count == 1


def test_the_title_is_the_first_prompt_and_stays() -> None:
    tell(prompt("t1", "Add a\n  limit"), stop("t1"), prompt("t2", "Another"))
    assert (session().title, session().user_request) == ("Add a limit", "Add a\n  limit")


def test_the_clients_own_title_is_taken_before_the_prompt() -> None:
    tell(body("UserPromptSubmit", prompt_id="t1", prompt="Add it", session_title="Rate limits"))
    assert session().title == "Rate limits"


def test_model_mode_and_branch_follow_the_newest_event() -> None:
    deliver(
        seen(body("SessionStart", model="opus", source="startup"), T0, branch="main"),
        seen(prompt("t1") | {"permission_mode": "plan"}, T0 + SECOND),
        seen(body("PostModelSwitch", to_model="sonnet"), T0 + 2 * SECOND),
        seen(prompt("t2") | {"permission_mode": "auto"}, T0 + 3 * SECOND, branch="feature"),
    )
    made = session()
    assert (made.model, made.permission_mode, made.branch) == ("sonnet", "auto", "feature")


def test_events_that_are_no_tool_calls_are_told_on_the_timeline() -> None:
    tell(prompt("t1", "Do it."), tool("PreToolUse", "c1", prompt_id="t1"), stop("t1", "All done."))
    assert list(SessionEvent.objects.values_list("type", "data")) == [
        ("prompt", "Do it."),
        ("turn_end", "All done."),
    ]


def test_without_a_session_a_delivery_is_kept_as_a_report() -> None:
    from sessions_app.models import HookEvent

    outcomes = deliver(seen({"hook_event_name": "Setup", "trigger": "init"}))
    assert outcomes == [Outcome.ACCEPTED]
    report = HookEvent.objects.get()
    assert (report.hook_name, report.event_type, report.session) == ("claude-code", "Setup", None)
    assert '"init"' in (report.payload_json or "")


def test_an_unknown_clients_events_are_stored_and_understood_where_they_are_plain() -> None:
    deliver(
        seen({"session_id": "x", "event": "user_prompt_submit", "prompt": "Hi"}, client="my-agent"),
        seen({"session_id": "x", "event": "strange"}, client="my-agent"),
    )
    assert list(Event.objects.values_list("client", "name", "kind")) == [
        ("my-agent", "user_prompt_submit", "prompt"),
        ("my-agent", "strange", "other"),
    ]
    assert Turn.objects.get().prompt == "Hi"
