"""Split, repeat, mix with other sources: the ledger and what is made of it are the same."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.ingest.observation import Delivery, Observation
from sessions_app.ingest.observing import observe
from sessions_app.ingest.store import store
from sessions_app.models import (
    Event,
    LedgerCall,
    Run,
    Session,
    ToolCall,
    ToolJournalEntry,
    ToolOperation,
    Turn,
)
from sessions_app.services.ledger_append import TOOLS
from sessions_app.vocabulary import EventKind, Source
from tests.ledger.telling import AT_MS, Teller, append, run

pytestmark = pytest.mark.django_db

LOOSE = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MS = 1000


def story(tell: Teller) -> list[dict[str, Any]]:
    return [
        {
            **tell.said("e1", "Fix the test", role="user"),
            "actions": {"runtimeProtocol": {"toolBoundary": "v1"}},
        },
        tell.event("e2", role="model", author="agent", content={"kind": "thinking", "text": "Where is it?"}),
        tell.said("e3", "I will read it."),
        tell.call("c1"),
        tell.dispatch("c1"),
        tell.call("c2", name="Bash", args={"command": "make test"}),
        tell.response("c1", operationId="op-c1"),
        tell.response("c2", name="Bash", result={"kind": "text", "text": "no such target"}, is_error=True),
        tell.call("c3", name="Edit"),
        tell.dispatch("c3", name="Edit", recoveryMode="reconcile"),
        tell.reconcile("c3", "diverged"),
        tell.decision("c3", "diverged"),
        tell.said("e4", "Done."),
        tell.event("e5", actions={"tokenUsage": {"input": 5, "output": 7}}),
        tell.end(status="failed", failureClass="tool_failed"),
    ]


def made() -> dict[str, Any]:
    """The ledger and its projections."""
    return {
        "events": list(
            Event.objects.order_by("ordinal").values_list(
                "name", "kind", "seq", "identity", "payload", "late"
            )
        ),
        "calls": list(
            ToolCall.objects.order_by("call_id").values_list("call_id", "name", "state", "summary", "error")
        ),
        "told": list(LedgerCall.objects.order_by("key").values_list("provider_call_id", "result_event")),
        "operations": list(
            ToolOperation.objects.order_by("key").values_list("operation_id", "state", "version")
        ),
        "journal": list(ToolJournalEntry.objects.order_by("key").values_list("version", "state", "event")),
        "runs": list(
            Run.objects.values_list("status", "answer", "error", "sealed", "last_seq", "failure_class")
        ),
        "turns": list(Turn.objects.values_list("prompt", "call_count", "failed_count")),
        "session": Session.objects.values_list(
            *("title", "event_count", "call_count", "failed_count", "turn_count", "status", "activity")
        ).get(),
    }


def appended(sizes: Sequence[int], retries: Sequence[int]) -> dict[str, Any]:
    """The story in batches of these sizes; after each, so many of the events before it are sent again."""
    with transaction.atomic():
        of = run(run_id="r-1", invocation_id="i-1")
        events = story(Teller(of))
        place, step = 0, 0
        while place < len(events):
            size = sizes[step % len(sizes)]
            back = min(place, retries[step % len(retries)])
            answers = append(of, *events[place - back : place + size], writers=TOOLS)
            created = [one.created for one in answers]
            assert created == [False] * back + [True] * (len(answers) - back)
            assert [one.seq for one in answers] == list(
                range(place - back + 1, place - back + 1 + len(answers))
            )
            place, step = place + size, step + 1
        result = made()
        transaction.set_rollback(True)
    return result


def test_batches_and_retries_make_the_same_ledger():
    straight = appended([1], [0])
    assert straight["runs"] == [("failed", "Done.", "tool_failed", True, 15, "tool_failed")]
    assert straight["calls"][1][2:] == ("failed", "make test", "no such target")
    assert straight["calls"][2][2] == "interrupted"

    @LOOSE
    @given(
        st.lists(st.integers(1, 15), min_size=1, max_size=6),
        st.lists(st.integers(0, 5), min_size=1, max_size=4),
    )
    def same(sizes: list[int], retries: list[int]) -> None:
        assert appended(sizes, retries) == straight

    same()


def hook(name: str, call_id: str, at_ms: int, **told: Any) -> Observation:
    body = {
        "session_id": "s-1",
        "hook_event_name": name,
        "tool_name": "Read",
        "tool_use_id": call_id,
        "tool_input": {"file_path": "/a"},
        **told,
    }
    delivery = Delivery(received_us=(AT_MS + 3_600_000) * MS, captured_us=at_ms * MS)
    return observe(json.dumps(body).encode(), client="claude-code", delivery=delivery)


def transcript(kind: str, call_id: str, at_ms: int) -> Observation:
    seen = Observation("claude-code", kind, Delivery(received_us=(AT_MS + 3_600_000) * MS))
    seen.source, seen.kind, seen.call_id, seen.turn_id = Source.TRANSCRIPT, kind, call_id, "turn-1"
    seen.root_id = seen.session_id = "s-1"
    seen.identity = seen.content = f"{kind[:8]}{call_id}".encode().ljust(16)[:16]
    seen.payload, seen.payload_size = zlib.compress(b"{}"), 2
    seen.occurred_us = seen.at_us = at_ms * MS
    seen.tool, seen.summary, seen.input_size, seen.output_size = "Read", "/a", 4, 6
    return seen


def mixed(order: Sequence[str]) -> dict[str, Any]:
    """Each source tells of two calls, in its own order; ``order`` says whose turn it is."""
    with transaction.atomic():
        of = run()
        tell = Teller(of)
        ledger = [tell.call("c1"), tell.call("c2"), tell.response("c1"), tell.response("c2", is_error=True)]
        queues: dict[str, list[Any]] = {
            "ledger": [*ledger, tell.end()],
            "hook": [
                hook("PreToolUse", "c1", AT_MS + 900),
                hook("PreToolUse", "c2", AT_MS + 1900),
                hook("PostToolUse", "c1", AT_MS + 3100, tool_response="ok"),
                hook("PostToolUseFailure", "c2", AT_MS + 4100, error="no"),
                hook("Stop", "", AT_MS + 4500, prompt_id="turn-1"),
            ],
            "file": [
                transcript(EventKind.TOOL_START, "c1", AT_MS + 950),
                transcript(EventKind.TOOL_START, "c2", AT_MS + 1950),
                transcript(EventKind.TOOL_END, "c1", AT_MS + 3050),
                transcript(EventKind.TOOL_FAILED, "c2", AT_MS + 4050),
            ],
        }
        for source in order:
            one = queues[source].pop(0)
            if source == "ledger":
                append(of, one)
            else:
                store([one])
        session = Session.objects.get()
        result = {
            "calls": list(
                ToolCall.objects.order_by("call_id").values_list(
                    *(
                        "call_id",
                        "name",
                        "state",
                        "summary",
                        "run_id",
                        "started_us",
                        "ended_us",
                        "duration_us",
                    ),
                    *("input_size", "output_size", "call_event__source", "result_event__source"),
                )
            ),
            "session": (session.call_count, session.failed_count, session.turn_count, session.event_count),
            "turn": Turn.objects.values_list("call_count", "failed_count").get(),
            "run": Run.objects.values_list("status", "sealed", "last_seq").get(),
            "seqs": list(Event.objects.exclude(seq=None).order_by("seq").values_list("seq", "source")),
        }
        for call in range(2):
            result["calls"][call] = tuple(value for value in result["calls"][call] if value != of.key)
        transaction.set_rollback(True)
    return result


def test_hooks_transcript_and_ledger_of_a_call_end_as_one():
    every = ["ledger"] * 5 + ["hook"] * 5 + ["file"] * 4
    straight = mixed(every)
    assert straight["session"] == (2, 1, 1, 14)
    assert straight["turn"] == (2, 1)
    assert straight["run"] == ("completed", True, 5)
    assert straight["seqs"] == [(place, "api") for place in range(1, 6)]

    @LOOSE
    @given(st.permutations(every))
    def same(order: list[str]) -> None:
        assert mixed(order) == straight

    same()
