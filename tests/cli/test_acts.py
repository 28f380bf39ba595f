"""What people do by clicking, done from a shell: the verbs against a real server."""

import json
from collections.abc import Callable

import pytest

from backlog_app.models import BacklogItem, Dependency, Sprint, StoryLink, WipLimit
from contextdash.cli import main
from contextdash.models import Change
from reviews_app.models.link import FindingDecision
from sessions_app.models import AgentMessage, Decision, Project, Session

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("agents_shell")]

type Run = Callable[..., list[str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command that must succeed; the lines that it printed."""

    def run(*words: str, code: int = 0) -> list[str]:
        assert main(list(words)) == code, capsys.readouterr()
        return capsys.readouterr().out.splitlines()

    return run


def test_a_session_is_renamed_pinned_archived_deleted_and_brought_back(run: Run) -> None:
    run("ensure", "s-1", "--agent", "tester")
    assert run("session", "rename", "s-1", "Refunds", "--reason", "clearer") == ["s-1 active tester: Refunds"]
    assert run("session", "pin", "s-1") == ["s-1 is pinned"]
    assert run("session", "archive", "latest") == ["s-1 is archived"]
    session = Session.objects.get(id="s-1")
    assert (session.title, session.pinned, session.archived_at is None) == ("Refunds", True, False)
    assert run("session", "unpin", "s-1") + run("session", "unarchive", "s-1") == [
        "s-1 is not pinned",
        "s-1 is not archived",
    ]
    assert run("session", "list", "--text", "Refunds") == ["s-1 active tester: Refunds"]
    run("session", "delete", "s-1", "--reason", "a test run")
    run("session", "show", "s-1", code=1)
    assert run("session", "undelete", "s-1") == ["s-1 active tester: Refunds"]
    told = Change.objects.filter(row_id="s-1").values_list("field", "reason")
    assert ("title", "clearer") in told


def test_projects_are_made_changed_ordered_and_deleted(run: Run) -> None:
    for session in ("s-1", "s-2"):
        run("ensure", session)
    assert run("project", "add", "Ledger Line", "--slug", "ledger") == ["ledger"]
    assert run("project", "edit", "ledger", "--name", "Ledger") == ["ledger Ledger"]
    assert run("session", "project", "s-1", "ledger") == ["s-1 ledger"]
    assert run("project", "order", "ledger", "s-2", "s-1") == ["s-2", "s-1"]
    assert run("project", "archive", "ledger") == ["ledger is archived"]
    assert run("project", "unarchive", "ledger") == ["ledger is not archived"]
    assert run("project", "list") == ["ledger Ledger"]
    assert run("project", "delete", "ledger", "--reason", "merged") == ["ledger deleted"]
    assert not Project.objects.exists()


def test_stories_are_changed_kept_waiting_limited_deleted_and_restored(run: Run) -> None:
    first, second = (run("backlog", "add", text)[0] for text in ("Round money", "Pay out"))
    said = run("backlog", "edit", first, second, "--priority", "1", "--labels", "money,api", "--agent", "dev")
    assert said == [f"S-{first} todo P1 dev v2: Round money", f"S-{second} todo P1 dev v2: Pay out"]
    assert BacklogItem.objects.get(pk=first).labels == ["money", "api"]
    assert run("backlog", "wait", second, f"S-{first}") == [f"S-{second} waits for S-{first}"]
    assert Dependency.objects.get().blocked_by_id == int(first)
    run("backlog", "wait", first, second, code=1)  # a circle
    run("backlog", "unwait", second, first)
    run("backlog", "link", first)
    link = StoryLink.objects.get()
    assert json.loads("\n".join(run("backlog", "show", first, "--json")))["links"][0]["id"] == link.pk
    run("backlog", "unlink", first, str(link.pk), "--reason", "wrong one")
    assert not Dependency.objects.exists()
    assert not StoryLink.objects.exists()
    assert run("backlog", "limits", "review", "3")[2] == "review 3"
    assert run("backlog", "limits", "review", "none")[2] == "review no limit"
    run("backlog", "limits", "review", code=2)
    assert not WipLimit.objects.exists()
    assert run("backlog", "delete", first, "--reason", "twice") == [f"S-{first} deleted"]
    assert run("backlog", "restore", first) == [f"S-{first} todo P1 dev v4: Round money"]
    run("backlog", "edit", first, "--priority", "2", "--version", "1", code=1)  # somebody changed it since


def test_a_sprint_is_planned_started_and_closed(run: Run) -> None:
    [number] = run(
        "sprint", "add", "Sprint 12", "--goal", "Paging", "--starts", "2026-12-01", "--ends", "2026-12-14"
    )
    [later] = run("sprint", "add", "Sprint 13")
    [story] = run("backlog", "add", "Paging")
    run("backlog", "edit", story, "--sprint", number)
    assert run("sprint", "edit", number, "--goal", "Paging everywhere", "--reason", "the rest came too") == [
        f"{number} planned 2026-12-01 to 2026-12-14 v2: Sprint 12"
    ]
    assert run("sprint", "start", number)[0].startswith(f"{number} active")
    assert run("sprint", "show", number)[0].startswith(f"{number} active")
    assert run("sprint", "close", number, "--move-to", later)[0].endswith("1 unfinished moved on")
    assert BacklogItem.objects.get().sprint_id == int(later)
    assert run("sprint", "list", "--state", "closed") == [
        f"{number} closed 2026-12-01 to 2026-12-14 v{Sprint.objects.get(pk=number).version}: Sprint 12"
    ]


def test_what_was_written_down_is_corrected_and_findings_are_found_and_cut_loose(run: Run) -> None:
    [decision] = run("decision", "storage", "one file")
    [other] = run("decision", "storage", "two files")
    run("correct", "decision", f"D-{decision}", "choice=one file = one truth", "--reason", "a typo")
    assert Decision.objects.get(pk=decision).choice == "one file = one truth"
    assert Decision.objects.get(pk=decision).agent_name != "orchestrator"  # nobody said that it was
    run("correct", "decision", decision, "choice", code=2)
    run("correct", "decision", decision, "colour=red", code=1)
    run("conflict", decision, other)
    assert run("all-stand", decision, other, "--reason", "of two services")[0] == f"D-{decision} stands"
    [finding] = run("review", "a.py:3", "High", "No lock.")
    assert run("findings", "--severity", "High") == [f"R-{finding} High open a.py:3: No lock."]
    run("link", finding, decision)
    assert FindingDecision.objects.count() == 1
    run("unlink", finding, decision, "--reason", "wrong one")
    assert not FindingDecision.objects.exists()
    [message] = run("message", "Run it", "--agent", "dev", "--role", "handoff", "--target", "tester")
    run("ack", message)
    assert run("ack", message, "--undo") == [f"{message} waits"]
    assert AgentMessage.objects.get().acknowledged_at is None
