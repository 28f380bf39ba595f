"""Gemini CLI's hook bodies.

Calls have no id: a result belongs to the oldest open call of equal tool and input.
"""

from typing import Any

from contextdash.cleaning import one_line
from contextdash.clock import parse_us
from sessions_app.ingest import reading
from sessions_app.ingest.files import files_of
from sessions_app.ingest.observation import Observation, PlanSeen
from sessions_app.ingest.reading import Body, Ids, Known, mapping, text, told
from sessions_app.vocabulary import EventKind

EVENTS: dict[str, Known] = {
    "SessionStart": Known(EventKind.SESSION_START, "session", 2, ("source",)),
    "SessionEnd": Known(EventKind.SESSION_END, "session", 2, ("reason",)),
    "BeforeAgent": Known(EventKind.PROMPT, "prompt", 1, ("prompt",)),
    "AfterAgent": Known(EventKind.TURN_END, "turn", 2, ("prompt_response",)),
    "BeforeTool": Known(EventKind.TOOL_START),
    "AfterTool": Known(EventKind.TOOL_END),
    "Notification": Known(EventKind.NOTIFICATION, "notification", 3, ("message",)),
    # It fires before each model call, compaction or not.
    "PreCompress": Known(EventKind.CONTEXT),
    "BeforeModel": Known(EventKind.OTHER),
    "AfterModel": Known(EventKind.OTHER),
    "BeforeToolSelection": Known(EventKind.OTHER),
}
STREAMS = frozenset({"BeforeModel", "AfterModel", "BeforeToolSelection"})


def event_name(body: Body) -> str:
    return text(body, "hook_event_name")


def ids(body: Body) -> Ids:
    return Ids(session=text(body, "session_id"))


def own_id(body: Body, name: str) -> str:
    return ""


def read(seen: Observation, body: Body) -> None:
    known = EVENTS.get(seen.name)
    if known is None:
        seen.known = False
        known = Known(EventKind.OTHER, "other", 4, ("message",))
    seen.kind, seen.category, seen.priority = known.kind, known.category, known.priority
    seen.data = told(body, known.tells)
    seen.stream = seen.name in STREAMS
    seen.cwd = text(body, "cwd")
    seen.clock_us = parse_us(body.get("timestamp"))
    seen.started_by = text(body, "source", 40)
    if seen.name == "BeforeAgent":
        seen.prompt = text(body, "prompt")
    elif seen.name == "AfterAgent":
        seen.answer = text(body, "prompt_response")
    elif seen.name == "Notification" and text(body, "notification_type") == "ToolPermission":
        _permission(seen, body)
    elif seen.name in ("BeforeTool", "AfterTool"):
        _tool(seen, body)


def _permission(seen: Observation, body: Body) -> None:
    seen.kind, seen.category, seen.priority = EventKind.PERMISSION, "permission", 2
    details = mapping(body, "details")
    seen.waiting_for = one_line(text(details, "command") or text(body, "message"), 500)


def _tool(seen: Observation, body: Body) -> None:
    seen.tool = text(body, "tool_name", 200)
    seen.summary = reading.summary(body.get("tool_input"))
    seen.files = files_of(seen.tool, body.get("tool_input"))
    seen.input_size = reading.size(body, "tool_input")
    if seen.name == "AfterTool":
        seen.output_size = reading.size(body, "tool_response")
        error = _error(mapping(body, "tool_response"))
        if error:
            seen.kind, seen.error = EventKind.TOOL_FAILED, error
        elif seen.tool in ("write_file", "replace"):
            seen.plans = _written_plan(mapping(body, "tool_input"))


def _error(response: Body) -> str:
    error: Any = response.get("error")
    if isinstance(error, dict):
        return text(error, "message") or text(error, "type") or "failed"
    if isinstance(error, str) and error:
        return error
    return failure_in(text(response, "returnDisplay"))


def failure_in(display: str) -> str:
    """A shell command that exits with an error is told in words only."""
    return display if display.startswith("Command exited with code: ") and not display.endswith(": 0") else ""


def _written_plan(asked: Body) -> tuple[PlanSeen, ...]:
    return reading.written_plans(text(asked, "file_path"), text(asked, "content"))
