"""Copilot CLI's hook bodies: camel case without an event name, or Claude Code's names in snake case.

How the event is spelt in the user's configuration chooses the form. Calls have no id in either.
"""

from contextdash.clock import now_us, parse_us
from contextdash.ids import digest16
from sessions_app.ingest import claude_code, reading
from sessions_app.ingest.files import files_of
from sessions_app.ingest.observation import Observation
from sessions_app.ingest.reading import Body, Ids, Known, decoded, mapping, text, told
from sessions_app.vocabulary import EventKind

EVENTS: dict[str, Known] = {
    "sessionStart": Known(EventKind.SESSION_START, "session", 2, ("source",)),
    "sessionEnd": Known(EventKind.SESSION_END, "session", 2, ("reason",)),
    "userPromptSubmitted": Known(EventKind.PROMPT, "prompt", 1, ("prompt",)),
    "preToolUse": Known(EventKind.TOOL_START),
    "postToolUse": Known(EventKind.TOOL_END),
    "postToolUseFailure": Known(EventKind.TOOL_FAILED),
    "agentStop": Known(EventKind.TURN_END, "turn", 2, ("stopReason",)),
    "subagentStart": Known(EventKind.CONTEXT, "subagent", 3, ("agentDisplayName", "agentName")),
    "subagentStop": Known(EventKind.CONTEXT, "subagent", 3, ("agentDisplayName", "agentName")),
    "errorOccurred": Known(EventKind.TURN_FAILED, "turn", 1),
    "preCompact": Known(EventKind.COMPACT_START, "compaction", 2, ("trigger",)),
    "permissionRequest": Known(EventKind.PERMISSION, "permission", 2, ("toolName",)),
    "notification": Known(EventKind.NOTIFICATION, "notification", 3, ("title", "message")),
}
_DAY_US = 86_400_000_000


def event_name(body: Body) -> str:
    return text(body, "hook_event_name")


def ids(body: Body) -> Ids:
    return Ids(session=text(body, "sessionId") or text(body, "session_id") or _by_place(body))


def own_id(body: Body, name: str) -> str:
    return ""


def read(seen: Observation, body: Body) -> None:
    seen.clock_us = parse_us(body.get("timestamp"))
    if seen.name in claude_code.EVENTS:
        claude_code.read(seen, body)
        return
    known = EVENTS.get(seen.name)
    if known is None:
        seen.known = False
        known = Known(EventKind.OTHER, "other", 4, ("message",))
    seen.kind, seen.category, seen.priority = known.kind, known.category, known.priority
    seen.data = told(body, known.tells)
    seen.cwd = text(body, "cwd")
    seen.started_by = text(body, "source", 40)
    if seen.kind == EventKind.PROMPT:
        seen.prompt = text(body, "prompt")
    elif seen.kind == EventKind.TURN_FAILED:
        _error(seen, body)
    elif seen.kind in (EventKind.TOOL_START, EventKind.TOOL_END, EventKind.TOOL_FAILED, EventKind.PERMISSION):
        _tool(seen, body)


def _by_place(body: Body) -> str:
    """Old releases name no session: what one folder does in one day counts as one."""
    cwd = text(body, "cwd")
    if not cwd:
        return ""
    day = (parse_us(body.get("timestamp")) or now_us()) // _DAY_US
    return f"copilot-{digest16(cwd.encode('utf-8', 'replace'), b'%d' % day).hex()[:20]}"


def _error(seen: Observation, body: Body) -> None:
    error = mapping(body, "error")
    seen.error = ": ".join(part for part in (text(error, "name"), text(error, "message")) if part) or "error"
    seen.data = seen.error
    if body.get("recoverable") is True:
        # It goes on by itself: worth a line, not the end of the turn.
        seen.kind, seen.priority = EventKind.NOTIFICATION, 2


def _tool(seen: Observation, body: Body) -> None:
    arguments = decoded(body.get("toolArgs"))
    seen.tool = text(body, "toolName", 200)
    seen.summary = reading.summary(arguments)
    seen.files = files_of(seen.tool, arguments)
    # The same call is told once as an object and once as its text, so the size is of the object.
    seen.input_size = len(reading.encode(arguments)) if arguments is not None else 0
    if seen.kind == EventKind.PERMISSION:
        seen.waiting_for = f"{seen.tool}: {seen.summary}" if seen.summary else seen.tool
        return
    result = mapping(body, "toolResult")
    seen.output_size = reading.size(body, "toolResult")
    outcome = text(result, "resultType")
    if seen.kind == EventKind.TOOL_END and outcome in ("failure", "denied"):
        seen.kind = EventKind.TOOL_FAILED if outcome == "failure" else EventKind.TOOL_DENIED
        seen.error = text(result, "textResultForLlm") or outcome
    elif seen.kind == EventKind.TOOL_FAILED:
        error = body.get("error")
        seen.error = text(error, "message") if isinstance(error, dict) else text(body, "error") or "failed"
