"""What becomes of hand-offs, plans, decisions, mistakes: the verbs against a real server."""

import pytest

from sessions_app.models import AgentMessage, Decision, Mistake, Plan

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("agents_shell")]


def test_a_hand_off_is_read_injected_and_acknowledged(run):
    number = run("message", "Run\nthe suite", "--agent", "dev", "--role", "handoff", "--target", "tester")[1]
    assert run("inbox", "--target", "tester") == (0, f"{number} dev to tester: Run the suite")
    assert run("inbox", "--target", "mia") == (0, "No hand-off waits.")
    assert "**dev** (handoff → tester): Run" in run("inject")[1]
    assert run("ack", number, "--reason", "I take it")[1].startswith(f"{number} acknowledged ")
    assert run("inbox") == (0, "No hand-off waits.")
    assert AgentMessage.objects.get().acknowledged_at is not None


def test_a_plan_is_listed_compared_and_moved_on(run):
    run("plan", "a.plan.md", "--body", "# Plan\n- [ ] one\n- [ ] two\n")
    number = run("plan", "a.plan.md", "--body", "# Plan\n- [x] one\n- [ ] two\n")[1]
    assert run("plans", "--path", "a.plan.md")[1].splitlines()[0] == (
        f"{number} proposed a.plan.md version 2: Plan"
    )
    assert run("plan-diff", number)[1].splitlines() == [
        "--- version 1",
        "+++ version 2",
        "@@ -1,3 +1,3 @@",
        " # Plan",
        "-- [ ] one",
        "+- [x] one",
        " - [ ] two",
    ]
    assert run("plan-status", number, "approved", "--reason", "agreed") == (0, f"{number} approved")
    assert Plan.objects.get(pk=number).status == "approved"


def test_decisions_are_listed_superseded_disputed_settled_and_exported(run):
    first, second, third = (run("decision", "retry", choice)[1] for choice in ("once", "twice", "never"))
    assert run("supersede", first, f"D-{second}", "--reason", "measured") == (
        0,
        f"D-{first} superseded by D-{second}",
    )
    assert run("conflict", second, third)[1].splitlines() == [f"D-{second} conflict", f"D-{third} conflict"]
    listed = run("decisions", "--status", "conflict")[1].splitlines()
    assert listed == [f"D-{third} conflict retry: never", f"D-{second} conflict retry: twice"]
    assert run("settle", third, second, "--reason", "the provider retries")[0] == 0
    assert Decision.objects.get(pk=second).superseded_by_id == int(third)
    assert Decision.objects.get(pk=third).status == "stands"
    assert run("export", third)[1].startswith(f"# {third}. never")
    assert run("export", "--topic", "retry")[1].count("## Status") == 3


def test_a_lesson_is_written_and_read(run):
    number = run("mistake", "It broke", "--agent", "dev", "--category", "build")[1]
    assert run("mistakes", "--without-lesson") == (0, f"M-{number} build: It broke")
    assert run("lesson", number, "--write", "-", stdin="Guard the read.")[0] == 0
    assert "Guard the read." in run("lesson", f"M-{number}")[1]
    assert run("mistakes", "--without-lesson") == (0, "There is none.")
    assert Mistake.objects.get().lesson_md == "Guard the read."


def test_the_stand_up_is_printed_in_each_shape(run):
    number = run("backlog", "add", "Replay webhooks", "--agent", "tester")[1]
    run("backlog", "move", number, "in_progress")
    assert "## tester" in run("standup")[1]
    assert "Replay webhooks" in run("standup", "--shape", "workflow")[1]
    assert "## In progress" in run("standup", "--shape", "digest", "--session", "s-1")[1]
    assert run("standup", "--window", "soon")[0] == 1
