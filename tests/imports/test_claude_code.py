"""Claude Code's transcripts: the figures that were kept by hand hold exactly."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Sum

from contextdash.clock import parse_us
from contextdash.ids import child_session_id
from sessions_app.importers.files import Place, import_file
from sessions_app.models import (
    ImportSource,
    Iteration,
    Quarantined,
    Session,
    SessionEvent,
    ToolCall,
    Turn,
    UsageBucket,
)
from sessions_app.queries.session import family_of
from sessions_app.queries.subagents import agents_of
from sessions_app.services.usage import TOKENS
from tests.imports import lines

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parent.parent / "data" / "transcripts" / "claude"
EXPECTED = json.loads((DATA / "expected.json").read_text())
MAIN, AGENT_1, AGENT_2, FORK, OLD, OLD_AGENT = EXPECTED["files"]
HERE = Place(host="desk")
STATES = {
    "ok": "done",
    "failed": "failed",
    "denied": "denied",
    "interrupted": "interrupted",
    "pending": "prepared",
}


def take(*names: str, root: Path = DATA) -> None:
    for name in names:
        import_file(root / name, place=HERE)


def session_of(name: str) -> Session:
    told = EXPECTED["files"][name]
    if "agent_id" in told:
        return Session.objects.get(id=child_session_id(told["parent_session_id"], told["agent_id"]))
    return Session.objects.get(id=told["session_id"])


def source_of(name: str) -> ImportSource:
    return ImportSource.objects.get(path__endswith=Path(name).name)


def tokens(rows: Any) -> dict[str, int]:
    sums = rows.aggregate(**{name: Sum(name) for name in (*TOKENS, "web_searches")})
    short, long = sums["cache_write_5m_tokens"] or 0, sums["cache_write_1h_tokens"] or 0
    return {
        "input": sums["input_tokens"] or 0,
        "output": sums["output_tokens"] or 0,
        "cache_read": sums["cache_read_tokens"] or 0,
        "cache_write": short + long,
        "cache_write_5m": short,
        "cache_write_1h": long,
        "web_searches": sums["web_searches"] or 0,
    }


def by_model(rows: Any) -> dict[str, dict[str, int]]:
    models = set(rows.values_list("model", flat=True).distinct().order_by())
    return {
        model: {**tokens(rows.filter(model=model)), "requests": rows.filter(model=model).count()}
        for model in models
    }


def hold(session: Session, told: Mapping[str, Any]) -> None:
    """The figures of one session, as they are counted in ``expected.json``."""
    rows = Iteration.objects.filter(session=session)
    assert rows.count() == told["assistant"]["api_responses"] == session.iteration_count
    assert tokens(rows) == told["tokens"]
    assert by_model(rows) == told["tokens_by_model"]
    calls = ToolCall.objects.filter(session=session)
    assert calls.count() == told["tool_calls"]["total"] == session.call_count
    assert Counter(calls.values_list("name", flat=True)) == told["tool_calls"]["by_name"]
    states = Counter(calls.values_list("state", flat=True))
    for word, state in STATES.items():
        assert states[state] == told["tool_calls"][word], word
    if "human_prompts" in told:
        prompts = list(
            Turn.objects.filter(session=session)
            .exclude(prompt="")
            .order_by("number")
            .values_list("prompt", flat=True)
        )
        assert prompts == told["human_prompts"]["texts"]
    assert session.input_tokens == told["tokens"]["input"]
    assert session.cache_write_tokens == told["tokens"]["cache_write"]


def test_every_session_has_the_figures_that_were_kept_by_hand() -> None:
    take(*EXPECTED["files"])
    for name, told in EXPECTED["files"].items():
        hold(session_of(name), told.get("own", told))


def test_sums_over_all_files_count_every_response_once() -> None:
    take(*EXPECTED["files"])
    totals = EXPECTED["totals"]
    assert tokens(Iteration.objects.all()) == totals["tokens"] == tokens(UsageBucket.objects.all())
    assert by_model(Iteration.objects.all()) == totals["tokens_by_model"]
    assert tokens(Iteration.objects.all()) != totals["wrong_answer_if_every_record_is_summed"]
    assert Session.objects.filter(parent=None).count() == totals["sessions"]
    assert Session.objects.exclude(parent=None).count() == totals["subagents"]


def test_a_file_says_what_was_in_it() -> None:
    take(*EXPECTED["files"])
    for name, told in EXPECTED["files"].items():
        if "lines" not in told:
            continue
        source, lines = source_of(name), told["lines"]
        assert source.lines + source.partial_tail == lines["physical"]
        assert source.blank == lines["blank"]
        assert source.skipped == lines["corrupt"]
        assert source.partial_tail == lines["partial_tail"]
        assert source.records == lines["records"]
        assert source.duplicates == told.get("duplicate_records", 0)
        assert source.facts["record_types"] == told["record_types"]
        counts = source.facts.get("counts", {})
        if "own" not in told:
            assert counts.get("synthetic", 0) == told["assistant"]["synthetic"]
            assert counts.get("assistant_records", 0) == told["assistant"]["records"]
            assert counts.get("api_errors", 0) == told["api_errors"]
            assert counts.get("api_retries", 0) == told.get("api_retries", 0)
            assert source.facts.get("files_touched", []) == told["files_touched"]
            assert sorted(source.facts.get("subagents", [])) == told.get("subagents", [])
            assert source.facts.get("slash_commands", []) == told.get("slash_commands", [])
            assert source.facts.get("compactions", []) == told.get("compactions", [])
            assert source.facts.get("pr_urls", []) == told.get("pr_urls", [])
            assert source.facts["first_us"] == parse_us(told["first_timestamp"])
            assert source.facts["last_us"] == parse_us(told["last_timestamp"])
        for key in ("cwd", "git_branches", "versions", "entrypoints"):
            assert source.facts[key] == told.get(key, source.facts[key])
        if name == MAIN:
            assert source.facts["cost_state_total_usd"] == told["cost_state_total_usd"]
            rewound = len(source.facts["rewound_turns"])
            prompts = told["human_prompts"]
            assert prompts["total"] - rewound == prompts["active_branch"]


def test_titles_come_from_the_best_that_names_the_session() -> None:
    take(MAIN, FORK, OLD)
    for name in (MAIN, FORK, OLD):
        assert session_of(name).title == EXPECTED["files"][name]["title"]


def test_a_fork_alone_shows_the_whole_file() -> None:
    take(FORK)
    hold(session_of(FORK), EXPECTED["files"][FORK]["as_displayed"])


def test_a_fork_names_its_source_and_counts_only_its_own() -> None:
    take(MAIN, FORK)
    assert session_of(FORK).forked_from == session_of(MAIN)
    assert session_of(MAIN).forked_from is None


def test_subagents_hang_below_the_call_that_started_them() -> None:
    take(*EXPECTED["files"])
    for name in (AGENT_1, AGENT_2, OLD_AGENT):
        told, child = EXPECTED["files"][name], session_of(name)
        assert child.parent is not None
        assert child.parent.id == told["parent_session_id"]
        call = ToolCall.objects.get(call_id=told["parent_tool_use_id"])
        assert call.child == child
        if told["agent_type"]:
            assert (child.agent_name, child.title) == (told["agent_type"], told["description"])


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_a_session_and_its_subagents_does_not_matter(order: int) -> None:
    take(*(MAIN, AGENT_1, AGENT_2)[::order])
    for name in (MAIN, AGENT_1, AGENT_2):
        hold(session_of(name), EXPECTED["files"][name])


def test_importing_again_changes_nothing() -> None:
    take(*EXPECTED["files"])
    before = list(Session.objects.order_by("key").values())
    ImportSource.objects.all().delete()
    take(*EXPECTED["files"])
    assert list(Session.objects.order_by("key").values()) == before
    assert tokens(UsageBucket.objects.all()) == EXPECTED["totals"]["tokens"]


def test_an_unchanged_file_is_not_read(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATA / OLD, tmp_path))
    assert import_file(path, place=HERE).events > 0
    assert import_file(path, place=HERE).unchanged


def test_a_file_that_grows_byte_by_byte_gives_what_the_whole_gives(tmp_path: Path) -> None:
    raw = (DATA / MAIN).read_bytes()
    path = tmp_path / Path(MAIN).name
    for end in range(0, len(raw), 40_009):
        path.write_bytes(raw[:end])
        import_file(path, place=HERE)
    path.write_bytes(raw)
    import_file(path, place=HERE)
    hold(session_of(MAIN), EXPECTED["files"][MAIN])
    source = ImportSource.objects.get()
    assert (source.lines + 1, source.records) == (134, 131)


def test_a_replaced_and_a_shortened_file_are_read_from_their_beginning(tmp_path: Path) -> None:
    path = tmp_path / Path(OLD).name
    raw = (DATA / OLD).read_bytes()
    path.write_bytes(raw)
    import_file(path, place=HERE)
    path.write_bytes(raw[: len(raw) // 2])
    import_file(path, place=HERE)
    assert ImportSource.objects.get().lines < 9
    path.write_bytes(b'{"type":"mode"}\n' + raw)
    import_file(path, place=HERE)
    assert ImportSource.objects.get().lines == 10
    hold(session_of(OLD), EXPECTED["files"][OLD])


def test_skipped_lines_can_be_looked_at() -> None:
    take(MAIN)
    kept = Quarantined.objects.get()
    assert kept.source == "transcript"
    assert "line 112," in kept.detail
    assert bytes(kept.body).startswith(b'{"parentUuid"')


def test_a_compaction_is_counted_and_told() -> None:
    take(MAIN)
    assert session_of(MAIN).compaction_count == 1
    assert SessionEvent.objects.get(category="compaction").data == "manual: 32601 to 3190 tokens"


@pytest.mark.parametrize("first", [True, False])
def test_a_summary_names_the_conversation_that_its_leaf_is_in(tmp_path: Path, *, first: bool) -> None:
    asked = lines.prompt("Where is the leak?", "2026-10-05T22:00:00Z")
    mine = {"type": "summary", "summary": "The leak in the valve", "leafUuid": asked["uuid"]}
    other = {"type": "summary", "summary": "Another conversation", "leafUuid": "0" * 36}
    if first:
        lines.write(tmp_path, other, mine, asked)
    else:
        import_file(lines.write(tmp_path, asked), place=HERE)
        assert Session.objects.get().title == "Where is the leak?"
        lines.write(tmp_path, mine, other)
    import_file(tmp_path / f"{lines.SESSION}.jsonl", place=HERE)
    assert Session.objects.get().title == "The leak in the valve"


@pytest.mark.parametrize(
    ("denial", "state"),
    [("user-rejected", "denied"), ("cancelled", "denied"), ("interrupted", "interrupted")],
)
def test_a_call_that_was_not_let_run_was_denied_unless_it_was_interrupted(
    tmp_path: Path, denial: str, state: str
) -> None:
    at = "2026-10-05T22:00:00Z"
    answered = {**lines.result("t1", "no", at), "toolDenialKind": denial}
    path = lines.write(
        tmp_path, lines.prompt("go", at), lines.response("m1", at, lines.calls("t1")), answered
    )
    import_file(path, place=HERE)
    assert ToolCall.objects.get().state == state


def test_agents_of_agents_hang_below_those_that_started_them(tmp_path: Path) -> None:
    at = "2026-10-05T22:00:00Z"

    def file(agent: str, *records: dict[str, Any]) -> None:
        inside = [{**one, "isSidechain": bool(agent), "agentId": agent} for one in records]
        folder = tmp_path / lines.SESSION / "subagents" if agent else tmp_path
        folder.mkdir(parents=True, exist_ok=True)
        lines.write(folder, *inside, session=f"agent-{agent}" if agent else lines.SESSION)

    def starts(call: str, agent: str, output: int) -> tuple[dict[str, Any], ...]:
        asked = lines.response(
            f"m-{call}", at, lines.calls(call, "Agent", prompt="look"), output_tokens=output
        )
        return asked, {**lines.result(call, "done", at), "toolUseResult": {"agentId": agent}}

    file("", lines.prompt("go", at), *starts("c1", "a1", 1))
    file("a1", lines.prompt("look", at), *starts("c2", "a2", 2))
    file("a2", lines.prompt("look closer", at), lines.response("m3", at, lines.says("x"), output_tokens=4))
    for path in sorted(tmp_path.rglob("*.jsonl")):
        import_file(path, place=HERE)
    root = agents_of(family_of(Session.objects.get(parent=None)), 0)
    (first,) = root.children
    (second,) = first.children
    assert [one.whole.output for one in (root, first, second)] == [7, 6, 4]
    assert (second.depth, second.children) == (2, [])
