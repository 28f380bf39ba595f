"""Transcript and hooks of one session are one session, in whatever order their pieces come."""

import json
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
from sessions_app.models import Iteration, Run, Session, ToolCall, Turn, UsageBucket

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parent.parent / "data" / "transcripts" / "real"
HOOKS = [path.read_bytes() for path in sorted((DATA / "claude-hooks").glob("*.json"))]
FILES = sorted((DATA / "claude").rglob("*.jsonl"))
HERE = Place(host="desk")
BEGAN_US = parse_us("2026-11-30T23:22:34.120Z") or 0


def deliver(place: int) -> None:
    """One of the run's hooks, stamped as the hook client stamps it."""
    at_us = BEGAN_US + place * 190_000
    seen = observe(
        HOOKS[place],
        client="claude-code",
        delivery=Delivery(received_us=at_us, captured_us=at_us, host="desk"),
    )
    with transaction.atomic():
        store([seen])


def projections() -> dict[str, Any]:
    """What people see of it; not which source's event is referred to, nor when it was received."""
    return {
        "sessions": list(
            Session.objects.order_by("id").values_list(
                *("id", "parent__id", "title", "user_request", "turn_count", "call_count", "failed_count"),
                *("child_count", "iteration_count", "input_tokens", "output_tokens", "cost_micro"),
            )
        ),
        "turns": list(
            Turn.objects.order_by("session__id", "turn_id").values_list(
                "session__id", "turn_id", "prompt", "call_count", "failed_count"
            )
        ),
        "runs": list(
            Run.objects.order_by("session__id", "turn__turn_id").values_list(
                "session__id", "status", "answer"
            )
        ),
        "calls": list(
            ToolCall.objects.order_by("call_id").values_list(
                *("session__id", "call_id", "name", "state", "summary", "error", "run__turn__turn_id"),
                *("child__id", "started_us", "ended_us", "duration_us", "input_size", "output_size"),
                *("call_event__source", "result_event__source"),
            )
        ),
        "iterations": list(
            Iteration.objects.order_by("session__id", "at_us").values_list(
                *("session__id", "run__turn__turn_id", "prose", "output_tokens", "cost_micro", "call_ids"),
            )
        ),
        "usage": sorted(
            UsageBucket.objects.values_list("start_us", "requests", "output_tokens", "cost_micro")
        ),
    }


def test_hooks_then_transcript_are_one_session_without_a_doubled_call() -> None:
    for place in range(len(HOOKS)):
        deliver(place)
    before = {row[1]: row[3] for row in projections()["calls"]}
    for path in FILES:
        import_file(path, place=HERE)
    after = projections()
    assert {row[1]: row[3] for row in after["calls"]} == before
    assert len(after["sessions"]) == 2
    assert len(after["turns"]) == 2
    responses = {
        json.loads(line)["message"]["id"]
        for path in FILES
        for line in path.read_text().splitlines()
        if json.loads(line)["type"] == "assistant"
    }
    assert len(after["iterations"]) == len(responses)


@pytest.fixture
def wanted() -> dict[str, Any]:
    with transaction.atomic():
        for path in FILES:
            import_file(path, place=HERE)
        for place in range(len(HOOKS)):
            deliver(place)
        found = projections()
        transaction.set_rollback(True)
    return found


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(2)), cuts=st.lists(st.integers(0, len(HOOKS)), min_size=2, max_size=2))
def test_any_interleaving_gives_the_same(wanted: dict[str, Any], order: list[int], cuts: list[int]) -> None:
    with transaction.atomic():
        done = 0
        for number, cut in zip(order, sorted(cuts), strict=True):
            for place in range(done, cut):
                deliver(place)
            done = cut
            import_file(FILES[number], place=HERE)
        for place in range(done, len(HOOKS)):
            deliver(place)
        found = projections()
        transaction.set_rollback(True)
    for noun in wanted:
        assert found[noun] == wanted[noun], noun


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(len(HOOKS))), first=st.booleans())
def test_shuffled_hooks_double_no_call_token_or_cent(
    wanted: dict[str, Any], order: list[int], first: bool
) -> None:
    with transaction.atomic():
        if first:
            for path in FILES:
                import_file(path, place=HERE)
        for place in order:
            deliver(place)
        if not first:
            for path in FILES:
                import_file(path, place=HERE)
        found = projections()
        transaction.set_rollback(True)
    assert found["usage"] == wanted["usage"]
    assert [row[:4] for row in found["calls"]] == [row[:4] for row in wanted["calls"]]
    assert [row[:3] for row in found["turns"]] == [row[:3] for row in wanted["turns"]]
