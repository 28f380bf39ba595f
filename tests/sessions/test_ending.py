"""A session that is closed by hand leaves nothing open, as one that its program ended."""

import pytest

from contextdash.actor import SYSTEM
from sessions_app.models import Run, Session, ToolCall, Turn
from sessions_app.services.ending import close_session
from tests.sessions.deliveries import SECOND, T0, body, deliver, seen, tool

pytestmark = pytest.mark.django_db


def at_work() -> Session:
    agent = {"agent_id": "a1", "agent_type": "Explore", "prompt_id": "t1"}
    bodies = [
        body("UserPromptSubmit", prompt_id="t1", prompt="Do it."),
        tool("PreToolUse", "c1", prompt_id="t1"),
        body("SubagentStart", **agent),
        tool("PreToolUse", "c2", **agent),
    ]
    deliver(*(seen(one, T0 + place * SECOND) for place, one in enumerate(bodies)))
    return Session.objects.get(id="s1")


def test_closing_interrupts_runs_and_calls_also_of_subagents() -> None:
    closed = close_session(session=at_work(), actor=SYSTEM)
    assert (closed.status, closed.activity, closed.current_call) == ("closed", "ended", "")
    child = Session.objects.get(agent_id="a1")
    assert (child.status, child.activity, child.ended_at) == ("closed", "ended", closed.ended_at)
    assert {run.status for run in Run.objects.all()} == {"interrupted"}
    assert {call.state for call in ToolCall.objects.all()} == {"interrupted"}
    ends = {*Run.objects.values_list("ended_us", flat=True), *Turn.objects.values_list("ended_us", flat=True)}
    assert len(ends) == 1
    assert None not in ends


def test_closing_again_keeps_how_a_subagent_ended() -> None:
    session = at_work()
    close_session(session=session, actor=SYSTEM)
    before = Session.objects.get(agent_id="a1")
    close_session(session=session, actor=SYSTEM, status="errored", reason="It crashed.")
    after = Session.objects.get(agent_id="a1")
    assert (after.ended_at, after.ordinal) == (before.ended_at, before.ordinal)


def test_what_is_told_after_the_closing_still_counts() -> None:
    session = at_work()
    close_session(session=session, actor=SYSTEM)
    told = tool("PostToolUse", "c1", prompt_id="t1")
    deliver(seen(told, T0 + 9 * SECOND))
    assert ToolCall.objects.get(call_id="c1").state == "done"
    session.refresh_from_db()
    assert session.status == "closed"


def test_other_sessions_are_left_alone() -> None:
    session = at_work()
    deliver(seen(body("UserPromptSubmit", session_id="s2", prompt_id="t2", prompt="Other."), T0))
    close_session(session=session, actor=SYSTEM)
    assert Run.objects.get(session__id="s2").status == "running"
