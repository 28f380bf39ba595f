"""Claude Code's hook bodies. Its hooks also fire inside subagents, then with ``agent_id``."""

from contextdash.cleaning import one_line
from contextdash.ids import child_session_id
from sessions_app.ingest import reading
from sessions_app.ingest.files import files_of
from sessions_app.ingest.observation import Observation, PlanSeen
from sessions_app.ingest.reading import Body, Ids, Known, mapping, text, told
from sessions_app.vocabulary import EventKind, PlanStatus

EVENTS: dict[str, Known] = {
    "Setup": Known(EventKind.CONTEXT, "session", 4, ("trigger",)),
    "SessionStart": Known(EventKind.SESSION_START, "session", 2, ("source", "model")),
    "InstructionsLoaded": Known(EventKind.CONTEXT, "context", 4, ("file_path", "load_reason")),
    "UserPromptSubmit": Known(EventKind.PROMPT, "prompt", 1, ("prompt",)),
    "UserPromptExpansion": Known(EventKind.CONTEXT, "prompt", 3, ("command_name", "command_args", "prompt")),
    "PreToolUse": Known(EventKind.TOOL_START),
    "PermissionRequest": Known(EventKind.PERMISSION, "permission", 2, ("tool_name",)),
    "PermissionDenied": Known(EventKind.TOOL_DENIED),
    "PostToolUse": Known(EventKind.TOOL_END),
    "PostToolUseFailure": Known(EventKind.TOOL_FAILED),
    "PostToolBatch": Known(EventKind.TOOL_BATCH),
    "Notification": Known(EventKind.NOTIFICATION, "notification", 3, ("title", "message")),
    "MessageDisplay": Known(EventKind.OTHER),
    "SubagentStart": Known(EventKind.SUBAGENT_START, "subagent", 3, ("agent_type",)),
    "SubagentStop": Known(EventKind.SUBAGENT_END, "subagent", 2, ("last_assistant_message",)),
    "TaskCreated": Known(EventKind.TASK, "task", 3, ("task_subject", "teammate_name")),
    "TaskCompleted": Known(EventKind.TASK, "task", 2, ("task_subject", "teammate_name")),
    "TeammateIdle": Known(EventKind.TASK, "task", 4, ("teammate_name", "team_name")),
    "Stop": Known(EventKind.TURN_END, "turn", 2, ("last_assistant_message",)),
    "StopFailure": Known(EventKind.TURN_FAILED, "turn", 1, ("error", "error_details")),
    "PreCompact": Known(EventKind.COMPACT_START, "compaction", 2, ("trigger", "custom_instructions")),
    "PostCompact": Known(EventKind.COMPACT_END, "compaction", 2, ("trigger", "compact_summary")),
    "PreModelSwitch": Known(EventKind.CONTEXT, "model", 4, ("from_model", "to_model")),
    "PostModelSwitch": Known(EventKind.CONTEXT, "model", 3, ("from_model", "to_model")),
    "ConfigChange": Known(EventKind.CONTEXT, "context", 3, ("source", "file_path")),
    "CwdChanged": Known(EventKind.CONTEXT, "context", 3, ("old_cwd", "new_cwd")),
    "DirectoryAdded": Known(EventKind.CONTEXT, "context", 3, ("directory", "source")),
    "FileChanged": Known(EventKind.CONTEXT, "file", 4, ("event", "file_path")),
    "WorktreeCreate": Known(EventKind.CONTEXT, "context", 3, ("name",)),
    "WorktreeRemove": Known(EventKind.CONTEXT, "context", 3, ("worktree_path",)),
    "Elicitation": Known(EventKind.NOTIFICATION, "notification", 2, ("mcp_server_name", "message", "url")),
    "ElicitationResult": Known(EventKind.NOTIFICATION, "notification", 3, ("mcp_server_name", "action")),
    "SessionEnd": Known(EventKind.SESSION_END, "session", 2, ("reason",)),
}

STREAMS = frozenset({"MessageDisplay"})
TOOL_EVENTS = frozenset({"PreToolUse", "PermissionDenied", "PostToolUse", "PostToolUseFailure"})
WAITING = frozenset(
    {
        "permission_prompt",
        "elicitation_dialog",
        "elicitation_url_dialog",
        "agent_needs_input",
        "worker_permission_prompt",
    }
)


def event_name(body: Body) -> str:
    return text(body, "hook_event_name")


def ids(body: Body) -> Ids:
    return Ids(
        session=text(body, "session_id"),
        agent=text(body, "agent_id"),
        turn=text(body, "prompt_id"),
        call=text(body, "tool_use_id"),
    )


def own_id(body: Body, name: str) -> str:
    """What makes a delivery recognisable by itself; ``prompt_id`` is on nearly every event, so it is not."""
    if name in TOOL_EVENTS:
        return text(body, "tool_use_id")
    return text(body, "prompt_id") if name == "UserPromptSubmit" else ""


def read(seen: Observation, body: Body) -> None:
    """Fill in what the body tells. Ids are there already."""
    known = EVENTS.get(seen.name)
    if known is None:
        seen.known = False
        seen.category, seen.priority, seen.data = "other", 4, told(body, ("message", "reason", "prompt"))
    else:
        seen.kind, seen.category, seen.priority = known.kind, known.category, known.priority
        seen.data = told(body, known.tells)
    seen.stream = seen.name in STREAMS
    seen.cwd = text(body, "cwd")
    seen.permission_mode = text(body, "permission_mode", 40)
    seen.agent_name = text(body, "agent_type", 200)
    seen.title = one_line(text(body, "session_title"), 200)
    if seen.name in _READERS:
        _READERS[seen.name](seen, body)


def _session_start(seen: Observation, body: Body) -> None:
    seen.started_by = text(body, "source", 40)
    seen.model = text(body, "model", 200)


def _model_switch(seen: Observation, body: Body) -> None:
    seen.model = text(body, "to_model", 200)


def _prompt(seen: Observation, body: Body) -> None:
    seen.prompt = text(body, "prompt")


def _turn_end(seen: Observation, body: Body) -> None:
    seen.answer = text(body, "last_assistant_message")


def _turn_failed(seen: Observation, body: Body) -> None:
    seen.answer = text(body, "last_assistant_message")
    seen.error = ": ".join(part for part in (text(body, "error"), text(body, "error_details")) if part)


def _notification(seen: Observation, body: Body) -> None:
    sort = text(body, "notification_type")
    if sort in WAITING:
        seen.waiting_for = one_line(text(body, "message"), 500) or sort
    seen.idle = sort == "idle_prompt"


def _elicitation(seen: Observation, body: Body) -> None:
    seen.waiting_for = one_line(f"{text(body, 'mcp_server_name')} asks: {text(body, 'message')}", 500)


def _permission(seen: Observation, body: Body) -> None:
    _tool(seen, body)
    seen.waiting_for = one_line(f"{seen.tool}: {seen.summary}" if seen.summary else seen.tool, 500)
    seen.data = seen.waiting_for


def _tool(seen: Observation, body: Body) -> None:
    seen.tool = text(body, "tool_name", 200)
    seen.summary = reading.summary(body.get("tool_input"))
    seen.files = files_of(seen.tool, body.get("tool_input"))
    seen.input_size = reading.size(body, "tool_input")


def _tool_start(seen: Observation, body: Body) -> None:
    _tool(seen, body)
    if seen.tool == "ExitPlanMode":
        seen.plans = proposed_plan(seen.root_id, body, PlanStatus.PROPOSED)


def _tool_end(seen: Observation, body: Body) -> None:
    _tool(seen, body)
    seen.output_size = reading.size(body, "tool_response")
    seen.duration_us = reading.milliseconds(body.get("duration_ms"))
    if seen.tool in ("Agent", "Task"):
        _spawned(seen, body)
    elif seen.tool == "ExitPlanMode":
        seen.plans = proposed_plan(seen.root_id, body, PlanStatus.APPROVED)
    elif seen.tool in ("Write", "Edit", "MultiEdit"):
        seen.plans = written_plan(body)


def _tool_failed(seen: Observation, body: Body) -> None:
    _tool_end(seen, body)
    seen.plans = ()
    # A failure is often a bare string; older releases put it where the result would be.
    seen.error = text(body, "error") or text(body, "tool_response") or "failed"
    seen.output_size = seen.output_size or len(seen.error.encode())
    seen.interrupted = body.get("is_interrupt") is True


def _tool_denied(seen: Observation, body: Body) -> None:
    _tool(seen, body)
    seen.error = text(body, "reason") or "denied"


def _spawned(seen: Observation, body: Body) -> None:
    asked, answer = mapping(body, "tool_input"), mapping(body, "tool_response")
    seen.spawned_agent_id = text(answer, "agentId", 200)
    if seen.spawned_agent_id:
        # An agent's agent is a child of the same session: its hooks name only that one.
        seen.spawned_id = child_session_id(seen.root_id, seen.spawned_agent_id)
    seen.spawned_agent_name = text(asked, "subagent_type", 200) or text(answer, "agentType", 200)
    seen.spawned_title = one_line(text(asked, "description") or text(asked, "prompt"), 200)
    seen.spawned_prompt = text(asked, "prompt")
    seen.spawned_model = text(answer, "resolvedModel", 200)


def proposed_plan(root_id: str, body: Body, status: str) -> tuple[PlanSeen, ...]:
    """The plan of a call of ``ExitPlanMode``: tool_input and, once it was answered, tool_response."""
    asked, answer = mapping(body, "tool_input"), mapping(body, "tool_response")
    plan = text(asked, "plan") or text(answer, "plan")
    path = text(asked, "planFilePath") or text(answer, "filePath") or f"plan mode of {root_id}"
    return (PlanSeen(path=path, body=plan, title="", status=status),) if plan.strip() else ()


def written_plan(body: Body) -> tuple[PlanSeen, ...]:
    """The plan as a call of ``Write``, ``Edit`` or ``MultiEdit`` left it: tool_input and tool_response."""
    asked, answer = mapping(body, "tool_input"), mapping(body, "tool_response")
    path = text(asked, "file_path") or text(answer, "filePath")
    if not reading.is_plan_path(path):
        return ()
    if "content" in asked:
        return reading.written_plans(path, text(asked, "content"))
    edits = asked.get("edits")
    steps = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [asked]
    return reading.written_plans(path, reading.edited(answer.get("originalFile"), steps))


_READERS = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _tool_start,
    "PermissionRequest": _permission,
    "PermissionDenied": _tool_denied,
    "PostToolUse": _tool_end,
    "PostToolUseFailure": _tool_failed,
    "Notification": _notification,
    "SubagentStop": _turn_end,
    "Stop": _turn_end,
    "StopFailure": _turn_failed,
    "PostModelSwitch": _model_switch,
    "Elicitation": _elicitation,
}
