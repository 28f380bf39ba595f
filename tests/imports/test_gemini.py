"""Gemini's chats: rewound, replaced as a whole, migrated beside themselves, with subagents."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Sum

from contextdash.clock import parse_us
from contextdash.ids import child_session_id
from sessions_app.importers import finding
from sessions_app.importers.files import Place, import_file
from sessions_app.models import ImportSource, Iteration, Run, Session, ToolCall, Turn

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parent.parent / "data" / "transcripts" / "gemini"
EXPECTED = json.loads((DATA / "expected.json").read_text())
FILES: dict[str, Any] = EXPECTED["files"]
MAIN = next(name for name in FILES if name.endswith("3f2a9c1d.jsonl"))
LEGACY = next(name for name in FILES if name.endswith(".json"))
MIGRATED = LEGACY + "l"
HERE = Place(host="desk")


def take_all(order: int = 1) -> None:
    for one in finding.find([DATA])[::order]:
        import_file(one.path, place=HERE)


def session_of(told: dict[str, Any]) -> Session:
    parent = told.get("parent_session_id")
    return Session.objects.get(
        id=child_session_id(parent, told["session_id"]) if parent else told["session_id"]
    )


def spent(rows: Any) -> dict[str, int]:
    sums = rows.aggregate(
        *(Sum(f"{name}_tokens") for name in ("input", "cache_read", "output", "tool", "thinking"))
    )
    return {
        "input_uncached": sums["input_tokens__sum"],
        "cache_read": sums["cache_read_tokens__sum"],
        "billed_output": sums["output_tokens__sum"],
        "thoughts": sums["thinking_tokens__sum"],
        "tool": sums["tool_tokens__sum"],
    }


def as_kept(told: dict[str, int]) -> dict[str, int]:
    kept = {name: told[name] for name in ("input_uncached", "cache_read", "tool", "thoughts")}
    return {**kept, "billed_output": told["output"] + told["thoughts"]}


@pytest.mark.parametrize("order", [1, -1])
def test_the_figures_that_were_kept_by_hand_hold(order: int) -> None:
    take_all(order)
    for name, told in FILES.items():
        if "superseded_by" in told:
            continue
        session = session_of(told)
        rows = Iteration.objects.filter(session=session)
        assert spent(rows) == as_kept(told["tokens"]), name
        for model, numbers in told["tokens_by_model"].items():
            assert spent(rows.filter(model=model)) == as_kept(numbers)
            assert rows.filter(model=model).count() == numbers["requests"]
        calls = ToolCall.objects.filter(session=session)
        assert Counter(calls.values_list("name", flat=True)) == told["tool_calls"]["by_name"]
        states = Counter(calls.values_list("state", flat=True))
        wanted = {"ok": "done", "failed": "failed", "cancelled": "interrupted"}
        assert {word: states[state] for word, state in wanted.items()} == {
            word: told["tool_calls"][word] for word in wanted
        }
    assert spent(Iteration.objects.all()) == as_kept(EXPECTED["totals"]["tokens"])
    assert Session.objects.filter(parent=None).count() == EXPECTED["totals"]["sessions"]
    for model, price in EXPECTED["totals"]["cost_reference"]["by_model"].items():
        cost = Iteration.objects.filter(model=model).aggregate(cost=Sum("cost_micro"))["cost"]
        assert abs(cost / 1_000_000 - price["usd"]) < 0.00001


@pytest.mark.parametrize("order", [1, -1])
def test_prompts_titles_rewinds_and_places(order: int) -> None:
    take_all(order)
    for name in (MAIN, MIGRATED):
        told = FILES[name]
        session = session_of(told)
        turns = Turn.objects.filter(session=session).order_by("number")
        assert list(turns.values_list("prompt", flat=True)) == told["human_prompts"]["texts"]
        assert session.title == told["title"]
        assert session.workspace == "/home/dana/src/tidepool"
    told = FILES[MAIN]
    source = ImportSource.objects.get(path__endswith=Path(MAIN).name)
    surviving = source.facts["surviving"]
    assert {name: surviving[name] for name in ("user", "gemini", "info", "error")} == {
        name: told["messages"][name] for name in ("user", "gemini", "info", "error")
    }
    assert surviving["messages"] == told["messages"]["surviving"]
    assert surviving["prompt"] == told["human_prompts"]["surviving"]
    rewound = Turn.objects.get(turn_id__in=source.facts["rewound_turns"])
    assert rewound.prompt == "Make it animated."
    assert source.facts["counts"]["gemini"] == told["gemini_messages_ever"]
    assert source.facts["slash_commands"] == ["/memory"]
    assert source.partial_tail is told["partial_tail"]
    assert source.facts["first_us"] == parse_us(told["first_timestamp"])
    assert source.facts["last_us"] == parse_us(told["last_timestamp"])
    assert source.facts["subagents"] == told["subagents"]


@pytest.mark.parametrize("order", [1, -1])
def test_a_subagent_hangs_below_the_call_that_started_it(order: int) -> None:
    take_all(order)
    child = Session.objects.exclude(parent=None).get()
    assert child.parent == session_of(FILES[MAIN])
    assert child.agent_name == "tide-scout"
    assert ToolCall.objects.get(child=child).name == "tide_scout"
    assert child.user_request == "List harbours in data/"


def test_answers_are_the_last_words_of_their_turns() -> None:
    take_all()
    runs = Run.objects.filter(session=session_of(FILES[MIGRATED])).order_by("key")
    assert list(runs.values_list("answer", "status")) == [
        ("load.py line 9 drops the last element of the list.", "completed"),
        ("Fixed.", "completed"),
    ]
    texts = Iteration.objects.filter(session=session_of(FILES[MAIN])).values_list("prose", flat=True)
    assert "I draw the curve with block characters, so no extra package is needed." in texts


def test_a_document_is_read_by_its_messages(tmp_path: Path) -> None:
    told = FILES[LEGACY]
    path = tmp_path / "chats" / Path(LEGACY).name
    path.parent.mkdir()
    raw = (DATA / LEGACY).read_bytes()
    for end in (100, 700, 1500, len(raw) - 3, len(raw)):
        path.write_bytes(raw[:end])
        import_file(path, place=HERE)
        source = ImportSource.objects.get()
        assert source.partial_tail is (end < len(raw))
        assert source.skipped == 0
    assert spent(Iteration.objects.all()) == as_kept(told["tokens"])
    assert import_file(path, place=HERE).unchanged


def test_a_message_that_is_broken_is_counted_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / Path(LEGACY).name
    raw = (DATA / LEGACY).read_text().replace('"type": "user"', '"type": user')
    path.write_text(raw)
    import_file(path, place=HERE)
    assert ImportSource.objects.get().skipped == 1
    assert Iteration.objects.count() == 2
