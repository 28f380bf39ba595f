"""Any order, any number of times: the deliveries of a run give the same calls, counts and turns."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.models import Event, Run, Session, ToolCall, Turn
from tests.sessions.deliveries import SECOND, T0, body, deliver, seen, stream, tool

pytestmark = pytest.mark.django_db

LOOSE = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

AGENT = {"agent_id": "a1", "agent_type": "Explore"}
ASKED = {"prompt": "Find all.", "subagent_type": "Explore"}
RUN: list[dict[str, Any]] = [
    one | {"prompt_id": "t1"}
    for one in (
        body("UserPromptSubmit", prompt="Do it."),
        tool("PreToolUse", "c1"),
        tool("PostToolUse", "c1", duration_ms=40),
        tool("PreToolUse", "c2", name="Read", tool_input={"file_path": "/a"}),
        tool("PostToolUseFailure", "c2", name="Read", tool_input={"file_path": "/a"}, error="missing"),
        tool("PreToolUse", "c3", name="Agent", tool_input=ASKED),
        body("SubagentStart", **AGENT),
        tool("PreToolUse", "c4", **AGENT),
        tool("PostToolUse", "c4", **AGENT),
        body("SubagentStop", last_assistant_message="Found.", **AGENT),
        tool("PostToolUse", "c3", name="Agent", tool_input=ASKED, tool_response={"agentId": "a1"}),
        tool("PermissionDenied", "c5", reason="no"),
        body("PreCompact", trigger="auto"),
        body("PostCompact", trigger="auto"),
        body("Stop", last_assistant_message="Done."),
    )
]


CALL = [
    "session__agent_id",
    "call_id",
    "name",
    "state",
    "summary",
    "error",
    "input_size",
    "output_size",
    "child__agent_id",
    "run__turn__turn_id",
]
SESSION = [
    "agent_id",
    "agent_name",
    "event_count",
    "turn_count",
    "call_count",
    "failed_count",
    "child_count",
    "compaction_count",
    "title",
    "parent__id",
    "started_us",
    "last_us",
]
TURN = ("session__agent_id", "turn_id", "prompt", "call_count", "failed_count")


def told() -> dict[str, Any]:
    """What must not depend on the order of arrival."""
    return {
        "calls": sorted(ToolCall.objects.values_list(*CALL)),
        "sessions": sorted(Session.objects.values_list(*SESSION)),
        "turns": sorted(Turn.objects.values_list(*TURN)),
        "answers": sorted(Run.objects.values_list("session__agent_id", "answer")),
        "events": Event.objects.count(),
    }


def outcome(order: list[int], sizes: list[int], at: Any) -> dict[str, Any]:
    """What is told after these deliveries, in batches of these sizes; nothing of it stays."""
    with transaction.atomic():
        rest = [seen(RUN[place], T0 + 3600 * SECOND, captured_us=at(place)) for place in order]
        while rest:
            size = sizes[len(rest) % len(sizes)]
            deliver(*rest[:size])
            rest = rest[size:]
        made = told()
        transaction.set_rollback(True)
    return made


def in_order(place: int) -> int:
    return T0 + place * SECOND


def test_any_order_and_any_duplicates_tell_the_same() -> None:
    straight = outcome(list(range(len(RUN))), [1], in_order)
    assert straight["events"] == len(RUN)

    @LOOSE
    @given(
        order=st.permutations(range(len(RUN))),
        again=st.lists(st.integers(0, len(RUN) - 1), max_size=6),
        sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    )
    def same(order: list[int], again: list[int], sizes: list[int]) -> None:
        assert outcome([*order, *again], sizes, in_order) == straight

    same()


def test_the_order_matters_neither_where_only_the_servers_clock_tells_time() -> None:
    def untold(place: int) -> None:
        return None

    straight = outcome(list(range(len(RUN))), [4], untold)

    @LOOSE
    @given(order=st.permutations(range(len(RUN))))
    def same(order: list[int]) -> None:
        assert outcome(order, [3], untold) == straight

    same()


def test_the_known_stream_in_any_order_has_the_same_calls_and_prompts() -> None:
    deliveries = stream()

    def result(places: Sequence[int]) -> Any:
        with transaction.atomic():
            deliver(*(seen(deliveries[place][1], deliveries[place][0]) for place in places))
            made = (
                sorted(ToolCall.objects.values_list("session__agent_id", "call_id", "name", "summary")),
                sorted(Turn.objects.values_list("session__agent_id", "turn_id", "prompt", "call_count")),
                sorted(Session.objects.values_list("id", "event_count", "call_count", "failed_count")),
            )
            transaction.set_rollback(True)
        return made

    straight = result(range(39))

    @LOOSE
    @given(order=st.permutations(range(39)))
    def same(order: list[int]) -> None:
        assert result(order) == straight

    same()
