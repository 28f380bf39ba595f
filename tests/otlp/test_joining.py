"""Hooks, transcript and telemetry of one run make the same of it, in whatever order and pieces they come."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.importers.files import Place, import_file
from sessions_app.ingest.observation import Delivery
from sessions_app.ingest.observing import observe
from sessions_app.ingest.otlp.reading import read_request
from sessions_app.ingest.otlp.storing import store_taken
from sessions_app.ingest.otlp.taking import Taker
from sessions_app.ingest.store import store
from sessions_app.models import (
    CodeCount,
    Iteration,
    Run,
    Session,
    SessionEvent,
    ToolCall,
    TouchedFile,
    Turn,
    UsageBucket,
)
from tests.otlp.sending import DATA, signal_of

pytestmark = pytest.mark.django_db

RUN = DATA / "run"
HOOKS = [json.loads(line) for line in (RUN / "hooks.jsonl").read_text().splitlines()]
OTLP = [json.loads(line) for line in (RUN / "otlp.jsonl").read_text().splitlines()]
FILES = sorted((RUN / "projects").rglob("*.jsonl"))
HERE = Place(host="desk")
END_US = max(one["at_us"] for one in (*HOOKS, *OTLP)) + 1_000_000

ITEMS = {"resourceLogs": ("scopeLogs", "logRecords"), "resourceSpans": ("scopeSpans", "spans")}


def hook(place: int) -> None:
    sent = HOOKS[place]
    seen = observe(
        json.dumps(sent["body"]).encode(),
        client="claude-code",
        delivery=Delivery(received_us=sent["at_us"], captured_us=sent["at_us"], host="desk"),
    )
    with transaction.atomic():
        store([seen])


def telemetry(body: dict[str, Any]) -> None:
    taker = Taker(Delivery(received_us=END_US))
    read_request(taker, body, signal_of(body))
    with transaction.atomic():
        store_taken(taker)
    assert not taker.refused


def pieces(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """The run's telemetry in requests of these sizes, over and over; metrics as they came."""
    found: list[dict[str, Any]] = []
    for outer, (inner, records) in ITEMS.items():
        groups = [one["body"][outer][0] for one in OTLP if outer in one["body"]]
        every = [record for group in groups for scope in group[inner] for record in scope[records]]
        start = 0
        while start < len(every):
            size = sizes[len(found) % len(sizes)]
            part = {"resource": groups[0]["resource"], inner: [{records: every[start : start + size]}]}
            found.append({outer: [part]})
            start += size
    return found + [one["body"] for one in OTLP if "resourceMetrics" in one["body"]]


def projections() -> dict[str, Any]:
    """What people see of it; not which source's event is referred to, nor when it was received."""
    return {
        "sessions": list(
            Session.objects.order_by("id").values_list(
                *("id", "parent__id", "agent_name", "client", "model", "title", "user_request"),
                *("place__root", "project__name", "host", "workspace", "branch"),
                *("turn_count", "call_count", "failed_count", "child_count", "compaction_count"),
                *("iteration_count", "unpriced_count", "input_tokens", "output_tokens", "cache_read_tokens"),
                *("cache_write_tokens", "cost_micro", "status", "activity", "started_us"),
            )
        ),
        "turns": list(
            Turn.objects.order_by("session__id", "turn_id").values_list(
                *("session__id", "turn_id", "number", "prompt", "call_count", "failed_count", "started_us"),
            )
        ),
        "runs": list(
            Run.objects.order_by("session__id", "turn__turn_id").values_list(
                "session__id", "number", "status", "answer", "error", "started_us", "ended_us"
            )
        ),
        "calls": list(
            ToolCall.objects.order_by("call_id").values_list(
                *("session__id", "call_id", "name", "state", "summary", "error", "run__turn__turn_id"),
                *("child__id", "started_us", "ended_us", "duration_us", "input_size", "output_size"),
                *("call_event__source", "result_event__source"),
            )
        ),
        "files": list(
            TouchedFile.objects.order_by("path", "call", "action").values_list(
                "session__id", "call__call_id", "path", "action"
            )
        ),
        "iterations": list(
            Iteration.objects.order_by("session__id", "at_us", "request_id").values_list(
                *("session__id", "run__turn__turn_id", "run__turn__session__id", "source", "request_id"),
                *("response_id", "model", "agent", "client", "prose", "stop_reason", "call_ids", "at_us"),
                *("ended_us", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_5m_tokens"),
                *("cost_micro", "priced_by", "told_micro", "duration_us", "purpose", "project_key"),
            )
        ),
        "usage": sorted(
            UsageBucket.objects.exclude(requests=0).values_list(
                *("start_us", "client", "agent", "model", "requests", "unpriced"),
                *("input_tokens", "output_tokens", "cost_micro"),
            )
        ),
        "timeline": sorted(
            SessionEvent.objects.values_list("session__id", "type", "category", "data", "occurred_us")
        ),
        "code": list(CodeCount.objects.values_list("session__id", "start_us", "starts", "lines_added")),
    }


def tell(order: Sequence[str], sizes: Sequence[int], again: Sequence[str] = ()) -> dict[str, Any]:
    """Deliver all in this order ("hook", "file", "otlp": the next of its kind); what is then seen."""
    requests = pieces(sizes)
    queues: dict[str, list[Any]] = {
        "hook": [(hook, place) for place in range(len(HOOKS))],
        "file": [(lambda path: import_file(path, place=HERE), path) for path in FILES],
        "otlp": [(telemetry, body) for body in requests],
    }
    done: dict[str, list[Any]] = {kind: [] for kind in queues}
    with transaction.atomic():
        for kind in (*order, *("hook" for _ in HOOKS), *("file" for _ in FILES), *("otlp" for _ in requests)):
            if queues[kind]:
                step = queues[kind].pop(0)
                step[0](step[1])
                done[kind].append(step)
        for kind in again:
            step = done[kind][len(again) % len(done[kind])]
            step[0](step[1])
        found = projections()
        transaction.set_rollback(True)
    return found


@pytest.fixture
def wanted() -> dict[str, Any]:
    return tell((), (100,))


KINDS = st.sampled_from(["hook", "file", "otlp", "otlp", "hook", "hook"])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.lists(KINDS, max_size=70),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    again=st.lists(KINDS, max_size=4),
)
def test_any_interleaving_gives_the_same(
    wanted: dict[str, Any], order: list[str], sizes: list[int], again: list[str]
) -> None:
    found = tell(order, sizes, again)
    for noun in wanted:
        assert found[noun] == wanted[noun], noun
