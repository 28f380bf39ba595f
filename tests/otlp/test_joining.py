"""Hooks, transcript and telemetry of one run make the same of it, in whatever order and pieces they come."""

import json
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F
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

EVERY = ("hook", "file", "resourceLogs", "resourceSpans")
TOGETHER: list[Collection[str]] = [
    EVERY,
    EVERY,
    *(tuple(source for source in EVERY if source != missing) for missing in EVERY),
    ("resourceLogs", "resourceSpans"),
]
"""Sources that may tell of one run: all of them, all but one, telemetry alone."""
ITEMS = {"resourceLogs": ("scopeLogs", "logRecords"), "resourceSpans": ("scopeSpans", "spans")}


def hooks(group: Sequence[dict[str, Any]]) -> None:
    """Deliveries that are stored together, stamped as the hook client stamps them."""
    seen = [
        observe(
            json.dumps(sent["body"]).encode(),
            client="claude-code",
            delivery=Delivery(received_us=sent["at_us"], captured_us=sent["at_us"], host="desk"),
        )
        for sent in group
    ]
    with transaction.atomic():
        store(seen)


def telemetry(body: dict[str, Any]) -> None:
    taker = Taker(Delivery(received_us=END_US))
    read_request(taker, body, signal_of(body))
    with transaction.atomic():
        store_taken(taker)
    assert not taker.refused


def pieces(sizes: Sequence[int], kinds: Collection[str] = EVERY) -> list[dict[str, Any]]:
    """The run's telemetry of some kinds in requests of these sizes, over and over; metrics as they came."""
    found: list[dict[str, Any]] = []
    for outer, (inner, records) in ((outer, ITEMS[outer]) for outer in ITEMS if outer in kinds):
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
                *("cost_micro", "priced_by", "told_micro", "duration_us", "purpose"),
            )
        ),
        "misplaced": Iteration.objects.exclude(project_key=F("session__project")).count(),
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


def tell(order: Sequence[str], sizes: Sequence[int], sources: Collection[str] = EVERY) -> dict[str, Any]:
    """Deliver all of these sources, in this order as far as it goes; what is then seen.

    ``hook``, ``file`` and ``otlp`` are the next of their kind, in groups of these sizes; ``again`` sends
    something once more that was sent before.
    """
    size = sizes[0]
    queues: dict[str, list[Any]] = {
        "hook": [(hooks, HOOKS[start : start + size]) for start in range(0, len(HOOKS), size)],
        "file": [(lambda path: import_file(path, place=HERE), path) for path in FILES],
        "otlp": [(telemetry, body) for body in pieces(sizes, sources)],
    }
    for kind in queues.keys() - {"otlp"} - set(sources):
        queues[kind] = []
    rest = [kind for kind, queue in queues.items() for _ in queue]
    done: list[Any] = []
    with transaction.atomic():
        for number, kind in enumerate((*order, *rest)):
            if kind == "again" and done:
                done[number * 7 % len(done)]()
            elif queues.get(kind):
                take, what = queues[kind].pop(0)
                done.append(partial(take, what))
                done[-1]()
        found = projections()
        transaction.set_rollback(True)
    return found


@pytest.fixture
def wanted() -> dict[Collection[str], dict[str, Any]]:
    return {sources: tell((), (100,), sources) for sources in TOGETHER}


KINDS = st.sampled_from(["hook", "hook", "hook", "otlp", "otlp", "file", "again"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.lists(KINDS, max_size=70),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    sources=st.sampled_from(TOGETHER),
)
def test_any_interleaving_gives_the_same(
    wanted: dict[Collection[str], dict[str, Any]],
    order: list[str],
    sizes: list[int],
    sources: Collection[str],
) -> None:
    found = tell(order, sizes, sources)
    for noun, rows in wanted[sources].items():
        assert found[noun] == rows, noun


def test_one_source_after_the_other_doubles_nothing() -> None:
    hooks(HOOKS)
    called = set(ToolCall.objects.values_list("session__id", "call_id", "state"))
    for path in FILES:
        import_file(path, place=HERE)
    assert set(ToolCall.objects.values_list("session__id", "call_id", "state")) == called
    spent = {row["id"]: row for row in Session.objects.values("id", *SPENT)}
    for body in pieces((100,)):
        telemetry(body)
    assert set(ToolCall.objects.values_list("session__id", "call_id", "state")) == called
    title = Iteration.objects.get(source="otlp")  # the one call that no transcript has
    assert (title.purpose, title.cost_micro) == ("generate_session_title", 14_050)
    main = spent[title.session.id]
    main["iteration_count"] += 1
    main["cost_micro"] += 14_050
    for name in SPENT[2:]:
        main[name] += getattr(title, {"cache_write_tokens": "cache_write_5m_tokens"}.get(name, name))
    assert {row["id"]: row for row in Session.objects.values("id", *SPENT)} == spent
    assert all(Iteration.objects.values_list("duration_us", flat=True))


SPENT = (
    *("iteration_count", "cost_micro"),
    *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
)


def test_telemetry_alone_then_hooks_say_whether_a_run_goes_on() -> None:
    """Telemetry tells of what was: it neither wakes nor ends a session, and hooks that follow do."""
    for body in pieces((100,)):
        telemetry(body)
    main = Session.objects.get(parent=None)
    assert (main.activity, main.ended_at, main.place) == ("idle", None, None)
    assert set(Run.objects.values_list("status", "ended_us")) == {("completed", None)}
    hooks(HOOKS[:3])
    main.refresh_from_db()
    assert (main.activity, main.workspace) == ("working", "/home/dev/calculator")
    assert Run.objects.order_by("key").values_list("status", flat=True)[0] != "completed"
    assert not Iteration.objects.exclude(project_key=main.project_id).exists()
    buckets = UsageBucket.objects.exclude(requests=0)
    assert {bucket.project_key for bucket in buckets} == {main.project_id}
