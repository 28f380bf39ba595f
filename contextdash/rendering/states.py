"""State words, severities and agents: which shape, word and colour stand for which value."""

from typing import NamedTuple


class State(NamedTuple):
    word: str
    shape: str
    css: str = ""


STATES: dict[str, State] = {
    # sessions: what they do, how they stand
    "working": State("Working", "s-working", "is-working"),
    "waiting": State("Needs you", "s-person", "is-person"),
    "idle": State("Idle", "s-idle", "is-quiet"),
    "ended": State("Ended", "s-done", "is-quiet"),
    "stale": State("Stale", "s-stale", "is-quiet"),
    "stuck": State("Stuck", "s-stale", "is-failed"),
    "active": State("Active", "s-idle"),
    "compacted": State("Compacted", "s-half", "is-quiet"),
    "closed": State("Closed", "s-done", "is-quiet"),
    "errored": State("Errored", "s-failed", "is-failed"),
    # runs and calls
    "running": State("Running", "s-working", "is-working"),
    "prepared": State("Running", "s-working", "is-working"),
    "completed": State("Completed", "s-done", "is-done"),
    "failed": State("Failed", "s-failed", "is-failed"),
    "denied": State("Denied", "s-skip"),
    "interrupted": State("No result", "s-stale", "is-quiet"),
    # stories and plans
    "todo": State("To do", "s-idle", "is-quiet"),
    "in_progress": State("In progress", "s-half", "is-working"),
    "review": State("In review", "s-review"),
    "blocked": State("Blocked", "s-person", "is-person"),
    "done": State("Done", "s-done", "is-done"),
    "proposed": State("Proposed", "s-idle"),
    "approved": State("Approved", "s-done", "is-done"),
    "planned": State("Planned", "s-idle", "is-quiet"),
    # findings
    "open": State("Open", "s-idle"),
    "reopened": State("Reopened", "s-past"),
    "resolved": State("Resolved", "s-done", "is-done"),
    "dismissed": State("Dismissed", "s-skip", "is-quiet"),
    # decisions
    "stands": State("Stands", "s-working"),
    "conflict": State("Conflict", "s-person", "is-person"),
    "superseded": State("Superseded", "s-past", "is-quiet"),
    # hooks
    "ok": State("ok", "s-done", "is-quiet"),
    "warn": State("Warned", "s-warn"),
    "fail": State("Failed", "s-failed", "is-failed"),
    "skip": State("Skipped", "s-skip", "is-quiet"),
}

SEVERITIES = ("critical", "high", "medium", "low", "info")

AGENT_SLOTS = {
    "main": 1,
    "orchestrator": 1,
    "backend-developer": 2,
    "scrum-master": 3,
    "tester": 4,
    "code-reviewer": 5,
    "frontend-developer": 7,
    "devops": 8,
    "you": 0,
}
SHARED_SLOT = 6
_LETTERS = {"backend-developer": "Be", "frontend-developer": "Fr", "scrum-master": "Sc", "devops": "Dv"}


def state_of(value: str) -> State:
    """An unknown value is shown as sent, with the ring."""
    return STATES.get(value.strip().lower(), State(value, "s-idle", "is-quiet"))


def agent_slot(name: str) -> int:
    """The colour (1 to 8, 0 for a person) that a role keeps on every page; all others share one.

    A page with lanes gives other roles the next free slot of its session instead.
    """
    return AGENT_SLOTS.get(name.strip().lower(), SHARED_SLOT)


def monogram(name: str) -> str:
    """Two letters for an agent: ``Cr`` for code-reviewer, ``Te`` for tester."""
    known = _LETTERS.get(name.strip().lower())
    if known:
        return known
    words = "".join(char if char.isalnum() else " " for char in name[:200]).split()
    if len(words) > 1:
        return (words[0][0] + words[1][0]).capitalize()
    return words[0][:2].capitalize() if words else "?"
