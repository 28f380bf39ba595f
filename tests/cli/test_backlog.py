"""``contextdash backlog …`` against a real server: what an agent works the board with."""

import io
from collections.abc import Callable

import pytest

from backlog_app.models import BacklogItem, Criterion, StoryComment, StoryLink
from contextdash.cli import main

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("agents_shell")]


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run ``backlog`` with these words: its exit code, what it printed, what it complained of."""

    def run(*words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = main(["backlog", *words])
        told = capsys.readouterr()
        return code, told.out.strip(), told.err.strip()

    return run


def test_an_agent_takes_a_story_and_reports_until_it_is_done(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    _, first, _ = run(
        "add", "Round money once", "--criteria", "-", stdin="- GIVEN cents\n- THEN one rounding"
    )
    _, second, _ = run("add", "Later", "--priority", "5", "--criteria", "- x")
    assert run("list", "--status", "todo")[1].splitlines() == [
        f"S-{first} todo P3 nobody v1: Round money once",
        f"S-{second} todo P5 nobody v1: Later",
    ]
    code, told, _ = run("claim", "--agent", "tester")
    assert (code, told.splitlines()[0]) == (0, f"S-{first} in_progress P3 tester v2: Round money once")
    assert StoryLink.objects.get().ref == "s-1"
    assert run("tick", first, "2", "--agent", "tester")[1] == "2. [x] THEN one rounding"
    assert Criterion.objects.get(position=2).met_by == "tester"
    assert run("comment", f"S-{first}", "-", "--agent", "tester", stdin="half done")[0] == 0
    assert StoryComment.objects.get().body == "half done"
    assert run("link", first, "diff", "c" * 64)[1] == f"diff {'c' * 64}"
    shown = run("show", first)[1]
    assert "not done: Every criterion is met: 1 of 2 are open" in shown
    moved = run("move", first, "review", "--version", "2", "--reason", "please look")
    assert moved[:2] == (0, f"S-{first} review, place 1")
    code, _, complaint = run("move", first, "done", "--version", "2")
    assert code == 1
    assert "version 3, in In review" in complaint
    assert BacklogItem.objects.get(pk=first).status == "review"


def test_nothing_ready_is_exit_1_with_the_reason(run: Callable[..., tuple[int, str, str]]) -> None:
    run("add", "No criteria")
    code, _, complaint = run("claim", "--agent", "tester")
    assert code == 1
    assert "1 without acceptance criteria" in complaint


def test_a_criterion_that_is_not_there_is_told(run: Callable[..., tuple[int, str, str]]) -> None:
    _, number, _ = run("add", "One", "--criteria", "- only")
    assert run("tick", number, "3") == (1, "", f"contextdash: S-{number} has criteria 1 to 1, no 3.")
    assert run("tick", number, "1")[0] == 0
    assert run("tick", number, "1", "--undo")[1] == "1. [ ] only"
