"""OpenCode's events, as our plugin forwards them: bus events and the two hooks around a tool.

A failed call has no ``tool.execute.after``; only its message part says so. The plugin sends a part when it
is whole; what other forwarders send of unfinished parts is counted as a stream.
"""

from typing import Any

from contextdash.clock import parse_us
from sessions_app.ingest import reading
from sessions_app.ingest.files import files_of
from sessions_app.ingest.observation import Observation, PlanSeen
from sessions_app.ingest.reading import Body, Ids, mapping, text
from sessions_app.vocabulary import EventKind

ABORTED = "MessageAbortedError"
INVALID = "invalid"
"""The tool that answers a call which the model could not spell."""
BEFORE, AFTER = "tool.execute.before", "tool.execute.after"
STREAMS = frozenset(
    {
        "session.status",
        "session.diff",
        "file.edited",
        "file.watcher.updated",
        "message.removed",
        "todo.updated",
    }
)


def event_name(body: Body) -> str:
    return text(mapping(body, "event"), "type") or text(body, "hook_event_name") or text(body, "hook")


def ids(body: Body) -> Ids:
    properties, asked = _properties(body), mapping(body, "input")
    info, part = mapping(properties, "info"), mapping(properties, "part")
    return Ids(
        session=text(properties, "sessionID")
        or text(asked, "sessionID")
        or text(part, "sessionID")
        or text(info, "sessionID")
        or text(info, "id"),
        turn=_turn(info, part),
        call=text(asked, "callID") or text(part, "callID"),
        parent=text(info, "parentID") if text(info, "id").startswith("ses_") else "",
    )


def own_id(body: Body, name: str) -> str:
    found = ids(body)
    if name in (BEFORE, AFTER):
        return found.call
    part = mapping(_properties(body), "part")
    if name == "message.part.updated":
        return f"{text(part, 'id')} {text(mapping(part, 'state'), 'status')}" if _is_whole(part) else ""
    return text(mapping(body, "event"), "id")


def read(seen: Observation, body: Body) -> None:
    properties = _properties(body)
    info, part = mapping(properties, "info"), mapping(properties, "part")
    seen.cwd = text(body, "cwd") or text(body, "directory") or text(info, "directory")
    if seen.name in (BEFORE, AFTER):
        _tool(seen, body)
    elif seen.name == "message.part.updated":
        _part(seen, part)
    elif seen.name in _READERS:
        _READERS[seen.name](seen, properties)
    elif seen.name in STREAMS:
        seen.stream = True
    else:
        seen.known, seen.category, seen.priority = False, "other", 4


def _properties(body: Body) -> Body:
    return mapping(mapping(body, "event"), "properties")


def _turn(info: Body, part: Body) -> str:
    """The user's message begins the turn; an assistant's names it as its parent."""
    role = text(info, "role")
    if role == "user":
        return text(info, "id")
    if role == "assistant":
        return text(info, "parentID")
    return text(part, "messageID") if _is_prompt(part) else ""


def _is_prompt(part: Body) -> bool:
    """A text of the user has no times; the assistant's has a start and, once whole, an end."""
    return part.get("type") == "text" and "time" not in part and part.get("synthetic") is not True


def _is_whole(part: Body) -> bool:
    if part.get("type") == "tool":
        return text(mapping(part, "state"), "status") in ("completed", "error")
    return part.get("type") == "text" and (_is_prompt(part) or "end" in mapping(part, "time"))


def _part(seen: Observation, part: Body) -> None:
    state = mapping(part, "state")
    if not _is_whole(part):
        seen.stream = True
    elif _is_prompt(part):
        seen.kind, seen.category, seen.priority = EventKind.PROMPT, "prompt", 1
        seen.prompt = unquoted(text(part, "text"))
        seen.data = seen.prompt[:500]
    elif part.get("type") == "text":
        seen.kind, seen.answer = EventKind.ANSWER, text(part, "text")
    elif text(state, "status") == "error":
        seen.kind, seen.error = EventKind.TOOL_FAILED, failure_of(text(part, "tool"), state)
        _call(seen, text(part, "tool", 200), state.get("input"))
        seen.output_size = len(seen.error.encode())
        seen.duration_us = _took(mapping(state, "time"))
    else:
        # A finished call was told whole by tool.execute.after.
        seen.stream = True


def _tool(seen: Observation, body: Body) -> None:
    asked, output = mapping(body, "input"), mapping(body, "output")
    arguments = output.get("args") if seen.name == BEFORE else asked.get("args")
    _call(seen, text(asked, "tool", 200), arguments)
    seen.kind = EventKind.TOOL_START
    if seen.name == AFTER:
        seen.kind = EventKind.TOOL_END
        seen.output_size = reading.size(output, "output")
        error = failure_of(seen.tool, output)
        if error:
            seen.kind, seen.error = EventKind.TOOL_FAILED, error
        else:
            seen.plans = written_plan(seen.tool, mapping(asked, "args"))


def _call(seen: Observation, tool: str, arguments: Any) -> None:
    seen.tool = tool
    seen.summary = reading.summary(arguments)
    seen.files = files_of(seen.tool, arguments)
    seen.input_size = len(reading.encode(arguments)) if arguments is not None else 0


def _took(times: Body) -> int | None:
    start, end = parse_us(times.get("start")), parse_us(times.get("end"))
    return end - start if start is not None and end is not None and end >= start else None


def unquoted(prompt: str) -> str:
    """``opencode run`` wraps its argument in quotes."""
    quoted = len(prompt) > 1 and prompt[0] == prompt[-1] == '"' and '"' not in prompt[1:-1]
    return prompt[1:-1] if quoted else prompt


def title_of(info: Body) -> str:
    """The session's title; the one that it begins with is none."""
    title = text(info, "title")
    return "" if title.startswith(("New session - ", "Child session - ")) else title


def failure_of(tool: str, state: Body) -> str:
    """How a call ended badly, by its state or by the output of its hook; empty where it did not."""
    if text(state, "status") == "error":
        return text(state, "error") or "failed"
    status = mapping(state, "metadata").get("exit")
    if isinstance(status, int) and not isinstance(status, bool) and status != 0:
        return f"Exit code {status}\n{text(state, 'output')}"
    return text(state, "output") or "invalid call" if tool == INVALID else ""


def written_plan(tool: str, asked: Body) -> tuple[PlanSeen, ...]:
    """The plan that a file which was just written holds, if it is one."""
    return reading.written_plans(text(asked, "filePath"), text(asked, "content")) if tool == "write" else ()


def _session(seen: Observation, properties: Body) -> None:
    info = mapping(properties, "info")
    seen.title = title_of(info)[:200]
    model = mapping(info, "model")
    seen.model = text(model, "modelID", 200) or text(model, "id", 200)
    seen.agent_name = text(info, "agent", 200)
    if seen.name == "session.created":
        seen.kind, seen.category, seen.priority, seen.started_by = (
            EventKind.SESSION_START,
            "session",
            2,
            "startup",
        )
    else:
        seen.kind = EventKind.CONTEXT


def _message(seen: Observation, properties: Body) -> None:
    info = mapping(properties, "info")
    seen.kind = EventKind.CONTEXT
    seen.model = text(info, "modelID", 200)
    error = mapping(info, "error")
    if error:
        seen.kind, seen.category, seen.priority = EventKind.TURN_FAILED, "turn", 1
        seen.error = seen.data = text(mapping(error, "data"), "message") or text(error, "name")


def _idle(seen: Observation, properties: Body) -> None:
    seen.kind, seen.category, seen.priority = EventKind.TURN_END, "turn", 2


def _error(seen: Observation, properties: Body) -> None:
    error = mapping(properties, "error")
    seen.kind, seen.category, seen.priority = EventKind.TURN_FAILED, "turn", 1
    seen.error = seen.data = text(mapping(error, "data"), "message") or text(error, "name") or "error"
    if text(error, "name") == ABORTED:
        seen.kind, seen.priority, seen.interrupted = EventKind.TURN_END, 2, True


def _permission(seen: Observation, properties: Body) -> None:
    seen.kind, seen.category, seen.priority = EventKind.PERMISSION, "permission", 2
    seen.waiting_for = seen.data = (
        text(properties, "title", 500) or text(properties, "permission", 500) or "permission"
    )


def _replied(seen: Observation, properties: Body) -> None:
    seen.kind, seen.category, seen.priority = EventKind.NOTIFICATION, "permission", 3
    seen.data = text(properties, "response", 500) or text(properties, "reply", 500)


def _compacted(seen: Observation, properties: Body) -> None:
    seen.kind, seen.category, seen.priority = EventKind.COMPACT_END, "compaction", 2


_READERS = {
    "session.created": _session,
    "session.updated": _session,
    "session.idle": _idle,
    "session.error": _error,
    "session.compacted": _compacted,
    "message.updated": _message,
    "permission.updated": _permission,
    "permission.asked": _permission,
    "permission.replied": _replied,
}
