"""Cursor's hook bodies.

An action is told by a generic event (preToolUse) and again by a specific one (beforeShellExecution) where
both are configured. Only the generic ones make tool calls; the specific ones are notes, so none counts twice.
"""

from sessions_app.ingest import reading
from sessions_app.ingest.files import files_of
from sessions_app.ingest.observation import Observation
from sessions_app.ingest.reading import Body, Ids, Known, decoded, text, told
from sessions_app.vocabulary import EventKind

EVENTS: dict[str, Known] = {
    "sessionStart": Known(EventKind.SESSION_START, "session", 2, ("model",)),
    "sessionEnd": Known(EventKind.SESSION_END, "session", 2, ("reason",)),
    "beforeSubmitPrompt": Known(EventKind.PROMPT, "prompt", 1, ("prompt",)),
    "preToolUse": Known(EventKind.TOOL_START),
    "postToolUse": Known(EventKind.TOOL_END),
    "postToolUseFailure": Known(EventKind.TOOL_FAILED),
    "subagentStart": Known(EventKind.CONTEXT, "subagent", 3, ("subagent_type", "task")),
    "subagentStop": Known(EventKind.CONTEXT, "subagent", 3, ("subagent_type", "status")),
    "beforeShellExecution": Known(EventKind.CONTEXT, "shell", 4, ("command",)),
    "afterShellExecution": Known(EventKind.CONTEXT, "shell", 4, ("command",)),
    "beforeMCPExecution": Known(EventKind.CONTEXT, "mcp", 4, ("tool_name",)),
    "afterMCPExecution": Known(EventKind.CONTEXT, "mcp", 4, ("tool_name",)),
    "beforeReadFile": Known(EventKind.CONTEXT, "file", 4, ("file_path",)),
    "afterFileEdit": Known(EventKind.CONTEXT, "file", 3, ("file_path",)),
    "preCompact": Known(EventKind.COMPACT_START, "compaction", 2, ("trigger",)),
    "stop": Known(EventKind.TURN_END, "turn", 2, ("status",)),
    "afterAgentResponse": Known(EventKind.ANSWER),
    "afterAgentThought": Known(EventKind.OTHER),
    "beforeTabFileRead": Known(EventKind.OTHER),
    "afterTabFileEdit": Known(EventKind.OTHER),
    "workspaceOpen": Known(EventKind.CONTEXT, "session", 4),
}
STREAMS = frozenset({"afterAgentThought", "beforeTabFileRead", "afterTabFileEdit"})
_TOOLS = frozenset({"preToolUse", "postToolUse", "postToolUseFailure"})


def event_name(body: Body) -> str:
    return text(body, "hook_event_name")


def ids(body: Body) -> Ids:
    return Ids(
        session=text(body, "conversation_id") or text(body, "session_id"),
        turn=text(body, "generation_id"),
        call=text(body, "tool_use_id"),
    )


def own_id(body: Body, name: str) -> str:
    if name in _TOOLS:
        return text(body, "tool_use_id")
    return text(body, "generation_id") if name == "beforeSubmitPrompt" else ""


def read(seen: Observation, body: Body) -> None:
    known = EVENTS.get(seen.name)
    if known is None:
        seen.known = False
        known = Known(EventKind.OTHER, "other", 4, ("message",))
    seen.kind, seen.category, seen.priority = known.kind, known.category, known.priority
    seen.data = told(body, known.tells)
    seen.stream = seen.name in STREAMS
    seen.model = text(body, "model", 200)
    seen.cwd = _folder(body)
    if seen.kind == EventKind.PROMPT:
        seen.prompt = text(body, "prompt")
    elif seen.kind == EventKind.ANSWER:
        seen.answer = text(body, "text")
    elif seen.kind == EventKind.TURN_END:
        _stop(seen, body)
    elif seen.name in _TOOLS:
        _tool(seen, body)


def _folder(body: Body) -> str:
    roots = body.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return first if isinstance(first, str) and first else text(body, "cwd")


def _stop(seen: Observation, body: Body) -> None:
    status = text(body, "status")
    seen.interrupted = status == "aborted"
    if status == "error":
        seen.kind, seen.priority = EventKind.TURN_FAILED, 1
        seen.error = text(body, "error_message") or "error"


def _tool(seen: Observation, body: Body) -> None:
    seen.tool = text(body, "tool_name", 200)
    asked = decoded(body.get("tool_input"))
    seen.summary = reading.summary(asked)
    seen.files = files_of(seen.tool, asked)
    seen.input_size = reading.size(body, "tool_input")
    seen.output_size = reading.size(body, "tool_output")
    # Named either way, by event and version; milliseconds both.
    seen.duration_us = reading.milliseconds(body.get("duration_ms", body.get("duration")))
    if seen.name == "postToolUseFailure":
        seen.error = text(body, "error_message") or text(body, "error") or "failed"
