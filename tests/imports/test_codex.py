"""Codex rollouts: cumulative counters, copied history, and each text once."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Sum

from contextdash.clock import parse_us
from contextdash.ids import child_session_id
from sessions_app.importers import finding
from sessions_app.importers.files import Place, import_file
from sessions_app.ingest.observation import Delivery
from sessions_app.ingest.observing import observe
from sessions_app.ingest.store import store
from sessions_app.models import ImportSource, Iteration, Session, ToolCall, Turn

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parent.parent / "data" / "transcripts" / "codex"
EXPECTED = json.loads((DATA / "expected.json").read_text())
MAIN, CHILD = EXPECTED["files"]
HERE = Place(host="desk")
STATES = {"ok": "done", "failed": "failed", "interrupted": "interrupted", "pending": "prepared"}


def take_all(order: int = 1) -> None:
    for one in finding.find([DATA])[::order]:
        import_file(one.path, place=HERE)


def session_of(name: str) -> Session:
    told = EXPECTED["files"][name]
    parent = told.get("parent_session_id")
    return Session.objects.get(
        id=child_session_id(parent, told["session_id"]) if parent else told["session_id"]
    )


def tokens(rows: Any) -> dict[str, int]:
    columns = ("input_tokens", "cache_read_tokens", "output_tokens", "thinking_tokens")
    sums = rows.aggregate(*(Sum(column) for column in columns))
    return {
        "input_uncached": sums["input_tokens__sum"],
        "cache_read": sums["cache_read_tokens__sum"],
        "output": sums["output_tokens__sum"],
        "reasoning": sums["thinking_tokens__sum"],
    }


def without_requests(told: dict[str, int]) -> dict[str, int]:
    return {name: number for name, number in told.items() if name != "requests"}


@pytest.mark.parametrize("order", [1, -1])
def test_the_figures_that_were_kept_by_hand_hold(order: int) -> None:
    take_all(order)
    for name, told in EXPECTED["files"].items():
        session = session_of(name)
        rows = Iteration.objects.filter(session=session)
        assert tokens(rows) == without_requests(told["tokens"])
        for model, numbers in told["tokens_by_model"].items():
            assert tokens(rows.filter(model=model)) == without_requests(numbers)
            assert rows.filter(model=model).count() == numbers["requests"]
        calls = ToolCall.objects.filter(session=session)
        assert Counter(calls.values_list("name", flat=True)) == told["tool_calls"]["by_name"]
        states = Counter(calls.values_list("state", flat=True))
        for word, state in STATES.items():
            assert states[state] == told["tool_calls"][word], word
        source = ImportSource.objects.get(path__endswith=Path(name).name)
        assert source.facts["record_types"] == told["record_types"]
        assert source.lines + source.partial_tail == told["lines"]["physical"]
        assert (source.skipped, source.records) == (told["lines"]["corrupt"], told["lines"]["records"])
        assert source.facts["last_us"] == parse_us(told["last_timestamp"])


def test_sums_over_both_threads_count_the_copied_history_once() -> None:
    take_all()
    assert tokens(Iteration.objects.all()) == without_requests(EXPECTED["totals"]["tokens"])
    cost = Iteration.objects.aggregate(cost=Sum("cost_micro"))["cost"]
    assert abs(cost / 1_000_000 - EXPECTED["totals"]["cost_reference"]["total_usd"]) < 0.0001


def test_prompts_turns_and_title() -> None:
    take_all()
    told, session = EXPECTED["files"][MAIN], session_of(MAIN)
    turns = Turn.objects.filter(session=session).order_by("number")
    assert list(turns.values_list("prompt", flat=True)) == told["human_prompts"]["texts"]
    assert turns.count() == told["turns"]
    assert session.title == told["title"]
    assert session.compaction_count == told["compactions"]
    facts = ImportSource.objects.get(path__endswith=Path(MAIN).name).facts
    assert facts["counts"]["aborted_turns"] == told["aborted_turns"]
    assert facts["counts"]["assistant_messages"] == told["assistant_messages"]
    assert facts["models"] == told["models"]


def test_a_spawned_thread_hangs_below_the_call_that_started_it() -> None:
    take_all()
    told, child = EXPECTED["files"][CHILD], session_of(CHILD)
    assert child.parent == session_of(MAIN)
    assert child.agent_name == told["agent_role"]
    assert ToolCall.objects.get(call_id=told["parent_call_id"]).child == child


def test_reading_it_in_pieces_gives_the_same(tmp_path: Path) -> None:
    raw = (DATA / MAIN).read_bytes()
    path = tmp_path / Path(MAIN).name
    for end in (*range(5_000, len(raw), 7_001), len(raw)):
        path.write_bytes(raw[:end])
        import_file(path, place=HERE)
    assert tokens(Iteration.objects.all()) == without_requests(EXPECTED["files"][MAIN]["tokens"])
    assert ToolCall.objects.count() == EXPECTED["files"][MAIN]["tool_calls"]["total"]


def test_an_archived_copy_of_a_session_counts_once(tmp_path: Path) -> None:
    take_all()
    copy = tmp_path / Path(MAIN).name
    copy.write_bytes((DATA / MAIN).read_bytes())
    import_file(copy, place=HERE)
    assert tokens(Iteration.objects.all()) == without_requests(EXPECTED["totals"]["tokens"])


REAL = DATA.parent / "real"


def deliver_hooks() -> None:
    for number, path in enumerate(sorted((REAL / "codex-hooks").glob("*.json"))):
        at_us = (parse_us("2026-11-30T23:22:42Z") or 0) + number * 100_000
        delivery = Delivery(received_us=at_us, captured_us=at_us, host="desk")
        with transaction.atomic():
            store([observe(path.read_bytes(), client="codex", delivery=delivery)])


@pytest.mark.parametrize("hooks_first", [True, False])
def test_a_real_run_and_its_hooks_are_one_session(*, hooks_first: bool) -> None:
    if hooks_first:
        deliver_hooks()
    for one in finding.find([REAL / "codex"]):
        import_file(one.path, place=HERE)
    if not hooks_first:
        deliver_hooks()
    session = Session.objects.get()
    assert Turn.objects.count() == 1
    assert ToolCall.objects.count() == session.call_count == 5
    assert Turn.objects.get().call_count == 5
    assert Iteration.objects.exclude(run__turn=Turn.objects.get()).count() == 0


PARENT, OTHER = "019b0000-0000-7000-8000-000000000001", "019b0000-0000-7000-8000-000000000002"


def write(folder: Path, thread: str, *lines: dict[str, Any]) -> Path:
    path = folder / f"rollout-2026-10-06T12-00-00-{thread}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def line(second: float, sort: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-10-06T10:00:{second:06.3f}Z", "type": sort, "payload": payload}


def said(second: float, words: str, role: str = "user") -> dict[str, Any]:
    sort = "input_text" if role == "user" else "output_text"
    content = [{"type": sort, "text": words}]
    return line(second, "response_item", type="message", role=role, content=content)


def total(second: float, prompts: int, cached: int, output: int) -> dict[str, Any]:
    told = {"input_tokens": prompts, "cached_input_tokens": cached, "output_tokens": output}
    return line(second, "event_msg", type="token_count", info={"total_token_usage": told})


def begins(second: float, turn: str, **more: Any) -> dict[str, Any]:
    return line(second, "event_msg", type="task_started", turn_id=turn, **more)


SECOND = 1_791_280_800
"""2026-10-06T10:00:00Z"""
SOURCE = (
    line(0, "session_meta", id=PARENT, cwd="/w", source="cli"),
    begins(1, "T1", started_at=SECOND + 1),
    line(1, "turn_context", turn_id="T1", model="gpt-5.4"),
    said(1, "first"),
    total(2, 1000, 400, 50),
    said(3, "and mind the tests"),
    total(4, 3900, 2800, 120),
)


@pytest.mark.parametrize("told_when", [True, False])
@pytest.mark.parametrize("spawned", [True, False])
def test_own_turns_begin_where_the_copy_ends_however_soon(
    tmp_path: Path, *, told_when: bool, spawned: bool
) -> None:
    import_file(write(tmp_path, PARENT, *SOURCE), place=HERE)
    at = "2026-10-06T10:00:05.100Z"
    meta: dict[str, Any] = {"id": OTHER, "timestamp": at, "forked_from_id": PARENT}
    if spawned:
        meta["source"] = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "agent_role": "worker"}}}
    copied = [{**one, "timestamp": at, "payload": dict(one["payload"])} for one in SOURCE]
    if not told_when:
        del copied[1]["payload"]["started_at"]
    began = begins(5.2, "T2", started_at=SECOND + 5)
    own = began if told_when else line(5.2, "turn_context", turn_id="T2", model="gpt-5.4")
    meta_line = line(5.1, "session_meta", **meta)
    path = write(tmp_path, OTHER, meta_line, *copied, own, said(5.3, "on"), total(5.4, 4600, 3300, 160))
    import_file(path, place=HERE)
    thread = Session.objects.get(id=child_session_id(PARENT, OTHER) if spawned else OTHER)
    assert list(Turn.objects.filter(session=thread).values_list("prompt", flat=True)) == ["on"]
    spent = tokens(Iteration.objects.filter(session=thread))
    assert spent == {"input_uncached": 200, "cache_read": 500, "output": 40, "reasoning": 0}
    assert (thread.parent if spawned else thread.forked_from) == Session.objects.get(id=PARENT)


def test_a_prompt_typed_while_the_agent_works_is_one_of_its_own(tmp_path: Path) -> None:
    import_file(write(tmp_path, PARENT, *SOURCE), place=HERE)
    turns = Turn.objects.order_by("number")
    assert list(turns.values_list("prompt", flat=True)) == ["first", "and mind the tests"]
    assert Iteration.objects.filter(run__turn=turns[0]).count() == 2


def test_the_first_releases_wrote_items_as_they_are(tmp_path: Path) -> None:
    def call(sort: str, **more: Any) -> dict[str, Any]:
        return {"type": sort, "call_id": "c1", **more}

    path = write(
        tmp_path,
        OTHER,
        {"id": OTHER, "timestamp": "2025-05-07T17:24:21.123Z", "instructions": None},
        said(0, "Where is it?")["payload"],
        {"record_type": "state"},
        call("function_call", name="shell", arguments='{"command":["ls"]}'),
        call("function_call_output", output='{"output":"x","metadata":{"exit_code":1}}'),
        said(0, "Here.", "assistant")["payload"],
        said(0, "Thanks.")["payload"],
    )
    assert [one.client for one in finding.find([path])] == ["codex"]
    import_file(path, place=HERE)
    assert list(Turn.objects.order_by("number").values_list("prompt", flat=True)) == [
        "Where is it?",
        "Thanks.",
    ]
    assert ToolCall.objects.get().state == "failed"
    answer = Iteration.objects.get()
    assert (answer.prose, answer.output_tokens, answer.cost_micro) == ("Here.", None, None)


def test_calls_of_the_providers_own_tools_are_calls(tmp_path: Path) -> None:
    def item(second: float, sort: str, **more: Any) -> dict[str, Any]:
        return line(second, "response_item", type=sort, **more)

    drawn = item(5, "image_generation_call", id="ig_1", status="completed", result="iVBORw0KGgo=")
    sought = item(6, "tool_search_call", call_id="c1", status="completed", arguments={"query": "lamp"})
    found = item(7, "tool_search_output", call_id="c1", status="completed", output="[]")
    import_file(write(tmp_path, PARENT, *SOURCE, drawn, sought, found), place=HERE)
    calls = ToolCall.objects.order_by("key").values_list("name", "state")
    assert list(calls) == [("image_generation", "done"), ("tool_search", "done")]
