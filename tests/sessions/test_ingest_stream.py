"""The stream of 39 deliveries, the 40 sample bodies and the captures of a real run, against what is known."""

from collections import Counter

import pytest

from sessions_app.ingest.claude_code import EVENTS
from sessions_app.ingest.observation import Outcome
from sessions_app.models import Event, HookBucket, Run, Session, SessionEvent, ToolCall, Turn
from tests.sessions.deliveries import REAL, SAMPLES, deliver, seen, stream, stream_result

pytestmark = pytest.mark.django_db

WORDS = {"done": "ok", "failed": "failed", "interrupted": "open", "prepared": "open"}


@pytest.mark.parametrize("size", [1, 7, 39])
def test_the_known_stream_gives_the_known_session(size: int) -> None:
    deliveries, expected = [seen(body, at_us) for at_us, body in stream()], stream_result()
    outcomes: list[Outcome] = []
    for start in range(0, len(deliveries), size):
        outcomes += deliver(*deliveries[start : start + size])

    assert Counter(outcomes)[Outcome.DUPLICATE] == expected["duplicate_deliveries"]
    assert len(outcomes) == expected["received"]
    session = Session.objects.get(id=expected["session_id"])
    calls = ToolCall.objects.all()
    assert calls.count() == expected["distinct_tool_calls"]
    assert Counter(call.name for call in calls) == expected["by_name"]
    assert Counter(WORDS[call.state] for call in calls) == expected["by_status"]
    assert [turn.prompt for turn in session.turns.all()] == expected["prompts"]
    child = session.children.get()
    assert (child.agent_id, child.agent_name, child.activity) == ("a91c2f", "Explore", "ended")
    assert child.call_count == expected["calls_inside_subagents"]
    assert session.compaction_count == expected["compactions"]
    assert (session.activity, session.status) == ("ended", "closed")
    assert session.permission_mode == expected["final_permission_mode"]
    assert session.model == "claude-sonnet-5"
    assert session.title == "Find the slow query and index it."
    assert session.call_count == 9
    assert session.failed_count == 1
    assert session.child_count == 1
    assert session.event_count == session.events.count()
    phantom = Session.objects.get(id=expected["phantom_session_ids"][0])
    assert phantom.started_only
    assert not session.started_only


def test_the_streams_runs_have_the_right_outcomes() -> None:
    deliver(*(seen(body, at_us) for at_us, body in stream()))
    main = Run.objects.filter(session__agent_id="")
    assert list(main.values_list("status", "answer", "error")) == [
        ("completed", "The index is in place.", ""),
        ("interrupted", "", ""),
        ("failed", "API Error: 429", "rate_limit: 429"),
    ]
    assert list(Turn.objects.filter(session__agent_id="").values_list("call_count", "failed_count")) == [
        (8, 1),
        (1, 0),
        (0, 0),
    ]
    sub = Run.objects.exclude(session__agent_id="").get()
    assert (sub.status, sub.answer, sub.turn.prompt) == ("completed", "Nobody.", "Who writes t?")


def test_the_streams_calls_have_times_summaries_and_links() -> None:
    deliver(*(seen(body, at_us) for at_us, body in stream()))
    failed = ToolCall.objects.get(state="failed")
    assert failed.summary == "sqlite3 m.db 'CREATE INDEX'"
    assert failed.error == "Exit code 1: Error: incomplete input"
    assert failed.duration_us == 150_000
    overtaken = ToolCall.objects.get(summary__contains="EXPLAIN")
    assert overtaken.state == "done"
    assert overtaken.started_us <= (overtaken.ended_us or 0)
    agent = ToolCall.objects.get(name="Agent")
    assert agent.child is not None
    assert agent.child.agent_id == "a91c2f"
    assert agent.child.title == "Check writers"
    for call in ToolCall.objects.exclude(state="interrupted"):
        assert call.call_event_id
        assert call.result_event_id


def test_the_streams_run_numbers_its_events_without_gaps() -> None:
    deliver(*(seen(body, at_us) for at_us, body in stream()))
    for run in Run.objects.all():
        assert list(run.events.order_by("seq").values_list("seq", flat=True)) == list(
            range(1, run.last_seq + 1)
        )
    for session in Session.objects.all():
        ordinals = list(session.events.values_list("ordinal", flat=True))
        assert ordinals == sorted(set(ordinals))
        assert not ordinals or ordinals[-1] <= session.ordinal


def test_an_unknown_event_is_stored_and_counted_as_unknown() -> None:
    deliver(*(seen(body, at_us) for at_us, body in stream()))
    event = Event.objects.get(name="SomethingNew")
    assert event.kind == "other"
    assert SessionEvent.objects.filter(type="SomethingNew").exists()
    assert HookBucket.objects.get(event="SomethingNew").unknown == 1


def test_every_event_of_claude_code_has_a_sample_and_is_understood() -> None:
    observations = [seen(path.read_bytes()) for path in SAMPLES]
    assert {one.name for one in observations} == set(EVENTS)
    assert len(EVENTS) == 33
    outcomes = deliver(*observations)
    assert Counter(outcomes) == {Outcome.ACCEPTED: 39, Outcome.COUNTED: 1}
    assert not Event.objects.filter(name="MessageDisplay").exists()
    assert HookBucket.objects.get(event="MessageDisplay").accepted == 1
    session = Session.objects.get(agent_id="")
    assert (session.status, session.activity) == ("closed", "ended")
    assert session.compaction_count == 1
    assert session.workspace == "/home/dana/src/kettle-api"
    assert session.project is not None
    assert session.project.name == "kettle-api"
    assert ToolCall.objects.get(call_id="toolu_015DbtPewBdpXByLIBseR3hk").state == "denied"


def test_a_real_run_of_claude_code_is_told_right() -> None:
    deliver(*(seen(path.read_bytes()) for path in REAL))
    session = Session.objects.get(agent_id="")
    assert session.title == "Write a calculator module that adds integers"
    assert (session.activity, session.status, session.turn_count) == ("ended", "closed", 1)
    assert Counter(session.calls.values_list("state", flat=True)) == {"done": 5, "failed": 2}
    child = session.children.get()
    assert child.agent_name == "general-purpose"
    assert child.call_count == 2
    run = Run.objects.get(session=session)
    assert run.status == "completed"
    assert run.answer
    assert Run.objects.get(session=child).answer.startswith("Finding: High")
    assert child.turns.get().prompt == "DELEGATED: review calc.py and report findings"
