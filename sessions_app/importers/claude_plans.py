"""Plans in Claude Code's transcripts: those of plan mode, and files of plans that were written."""

from typing import Any

from sessions_app.importers.counting import remember
from sessions_app.importers.gathering import shown
from sessions_app.ingest import claude_code as hooks
from sessions_app.ingest import reading
from sessions_app.ingest.observation import PlanSeen
from sessions_app.ingest.reading import Body, text
from sessions_app.vocabulary import PlanStatus

PLAN_MODE = "ExitPlanMode"
WRITES = frozenset({"Write", "Edit", "MultiEdit"})
ASKED_BYTES = 256 * 1024
"""What a longer call was asked is not remembered until its result comes."""


def asked(state: dict[str, Any], call_id: str, name: str, told: Body, root_id: str) -> tuple[PlanSeen, ...]:
    """The plan that a call proposes. A call that may write one is remembered until its result comes."""
    if name != PLAN_MODE and not (name in WRITES and reading.is_plan_path(text(told, "file_path"))):
        return ()
    if len(reading.encode(told)) <= ASKED_BYTES:
        remember(state, "plans", call_id, {"name": name, "input": told})
    if name != PLAN_MODE:
        return ()
    return _shown(hooks.proposed_plan(root_id, {"tool_input": told}, PlanStatus.PROPOSED))


def answered(state: dict[str, Any], call_id: str, rich: Body, root_id: str) -> tuple[PlanSeen, ...]:
    """The plan that a call was approved with, or has written."""
    call = state.get("plans", {}).pop(call_id, None)
    if call is None:
        return ()
    body = {"tool_input": call["input"], "tool_response": rich}
    if call["name"] == PLAN_MODE:
        return _shown(hooks.proposed_plan(root_id, body, PlanStatus.APPROVED))
    return _shown(hooks.written_plan(body))


def _shown(plans: tuple[PlanSeen, ...]) -> tuple[PlanSeen, ...]:
    return tuple(plan._replace(path=shown(plan.path)[:4096], body=shown(plan.body)) for plan in plans)
