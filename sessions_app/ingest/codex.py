"""Codex CLI's hook bodies: Claude Code's shape, with a turn id and no word about whether a command failed.

PostToolUse also fires for a command that exited with an error and carries its bare output, so every result
counts as done; the transcript knows better.
"""

from sessions_app.ingest import claude_code
from sessions_app.ingest.claude_code import TOOL_EVENTS
from sessions_app.ingest.observation import Observation
from sessions_app.ingest.reading import Body, Ids, text
from sessions_app.vocabulary import EventKind

NOTIFY = "agent-turn-complete"
"""The one message of the older ``notify`` setting; its keys are written with hyphens."""


def event_name(body: Body) -> str:
    return text(body, "hook_event_name") or text(body, "type")


def ids(body: Body) -> Ids:
    return Ids(
        session=text(body, "session_id") or text(body, "thread-id"),
        agent=text(body, "agent_id"),
        turn=text(body, "turn_id") or text(body, "turn-id"),
        call=text(body, "tool_use_id"),
    )


def own_id(body: Body, name: str) -> str:
    if name in TOOL_EVENTS:
        return text(body, "tool_use_id")
    return ids(body).turn if name in ("UserPromptSubmit", NOTIFY) else ""


def read(seen: Observation, body: Body) -> None:
    claude_code.read(seen, body)
    seen.model = text(body, "model", 200)
    if seen.name == "Interrupt":
        seen.known, seen.kind = True, EventKind.TURN_END
        seen.category, seen.priority, seen.data = "turn", 2, "interrupted"
        seen.interrupted = True
    elif seen.name == NOTIFY:
        seen.known, seen.kind = True, EventKind.TURN_END
        seen.category, seen.priority = "turn", 2
        seen.answer = seen.data = text(body, "last-assistant-message")
