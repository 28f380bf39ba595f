"""Copilot's events: prompts' tokens come with the end of a process, for itself or for all until then."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Sum

from contextdash.clock import parse_us
from sessions_app.importers import finding
from sessions_app.importers.files import Place, import_file
from sessions_app.models import ImportSource, Iteration, Run, Session, ToolCall, Turn

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parent.parent / "data" / "transcripts" / "copilot"
NAME, TOLD = next(iter(json.loads((DATA / "expected.json").read_text())["files"].items()))
HERE = Place(host="desk")
COLUMNS = {
    "input_uncached": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_5m_tokens",
}


def take(root: Path) -> None:
    for one in finding.find([root]):
        import_file(one.path, place=HERE)


def spent(rows: Any) -> dict[str, int]:
    sums = rows.aggregate(*(Sum(column) for column in COLUMNS.values()))
    return {name: sums[f"{column}__sum"] for name, column in COLUMNS.items()}


def holds() -> None:
    session = Session.objects.get()
    assert session.id == TOLD["session_id"]
    rows = Iteration.objects.all()
    assert rows.count() == TOLD["assistant_messages"]
    assert spent(rows) == TOLD["tokens"]
    for model, numbers in TOLD["tokens_by_model"].items():
        assert spent(rows.filter(model=model)) == numbers
    assert not rows.filter(cost_micro=None).exists()
    calls = ToolCall.objects.all()
    assert Counter(calls.values_list("name", flat=True)) == TOLD["tool_calls"]["by_name"]
    states = Counter(calls.values_list("state", flat=True))
    assert (states["done"], states["failed"]) == (TOLD["tool_calls"]["ok"], TOLD["tool_calls"]["failed"])
    turns = Turn.objects.order_by("number")
    assert list(turns.values_list("prompt", flat=True)) == TOLD["human_prompts"]["texts"]


def test_the_figures_that_were_kept_by_hand_hold() -> None:
    take(DATA)
    holds()
    session, source = Session.objects.get(), ImportSource.objects.get()
    assert (session.title, session.workspace) == (TOLD["title"], TOLD["cwd"])
    assert session.branch == TOLD["git_branches"][-1]
    assert source.facts["git_branches"] == TOLD["git_branches"]
    assert sorted(source.facts["models"]) == sorted(TOLD["models"])
    assert source.records == TOLD["records"]
    assert source.facts["first_us"] == parse_us(TOLD["first_timestamp"])
    assert source.facts["last_us"] == parse_us(TOLD["last_timestamp"])
    assert source.facts["totalPremiumRequests"] == TOLD["premium_requests_last"]
    assert list(Run.objects.order_by("key").values_list("answer", flat=True)) == [
        "The timer adds 1 s on every DST lookup; that is the drift.",
        "The lookup no longer advances the clock.",
    ]


def test_reading_it_in_pieces_gives_the_same(tmp_path: Path) -> None:
    raw = (DATA / NAME).read_bytes()
    path = tmp_path / Path(NAME).parent.name / "events.jsonl"
    path.parent.mkdir()
    for end in (*range(400, len(raw), 700), len(raw)):
        path.write_bytes(raw[:end])
        import_file(path, place=HERE)
        if b"session.shutdown" not in raw[:end]:
            assert all(row.assumed for row in Iteration.objects.exclude(output_tokens=None))
    holds()


def test_an_old_flat_file_and_its_moved_copy_are_one_session(tmp_path: Path) -> None:
    flat = tmp_path / f"{TOLD['session_id']}.jsonl"
    shutil.copy(DATA / NAME, flat)
    take(tmp_path)
    take(DATA)
    holds()


def running_total() -> list[dict[str, Any]]:
    """The same history of a release that tells all since the session began."""
    records = [json.loads(line) for line in (DATA / NAME).read_text().splitlines()]
    first, second = (one["data"]["modelMetrics"] for one in records if one["type"] == "session.shutdown")
    second |= first
    return records


def test_running_totals_are_not_added_up(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in running_total()) + "\n")
    take(tmp_path)
    holds()


def test_running_totals_of_one_model_are_not_added_up(tmp_path: Path) -> None:
    def metrics(number: int) -> dict[str, Any]:
        usage = {
            "inputTokens": 1000 * number,
            "outputTokens": 50 * number,
            "cacheReadTokens": 400 * number,
            "cacheWriteTokens": 0,
        }
        return {"modelMetrics": {"gpt-5.4": {"requests": {"count": number}, "usage": usage}}}

    def lines(numbers: list[int]) -> str:
        told: list[dict[str, Any]] = [{"type": "session.start", "data": {"sessionId": "s" * 20}}]
        for place, number in enumerate(numbers):
            told.append({"type": "session.model_change", "data": {"newModel": "gpt-5.4"}})
            told.append(
                {
                    "type": "assistant.message",
                    "data": {"messageId": f"m{place}", "content": "x", "outputTokens": 50},
                }
            )
            told.append({"type": "session.shutdown", "data": metrics(number), "id": f"e{place}"})
        for second, one in enumerate(told):
            one["timestamp"] = f"2026-11-21T10:00:{second:02}Z"
        return "".join(json.dumps(one) + "\n" for one in told)

    for name, numbers in (("each", [1, 1, 1]), ("total", [1, 2, 3])):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(lines(numbers).replace("s" * 20, f"session-{name}"))
        import_file(path, place=HERE)
        rows = Iteration.objects.filter(session__id=f"session-{name}")
        assert spent(rows) == {"input_uncached": 1800, "output": 150, "cache_read": 1200, "cache_write": 0}
