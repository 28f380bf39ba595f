"""What each agent calls its events and where it keeps its hooks.

Stream events (message fragments, model chunks) and events whose hook replaces the agent's own work
(worktree creation) are on no list.
"""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextdash.connect.edits import Edit, json_edit, read, read_json

CLAUDE_CODE = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PermissionDenied",
    "Notification",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "PreCompact",
    "PostCompact",
]
CLAUDE_CODE_HTTP = [event for event in CLAUDE_CODE if event != "SessionStart"]
"""Claude Code runs SessionStart as a command only."""
CODEX = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PermissionRequest",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "PostCompact",
]
GEMINI = [
    "SessionStart",
    "SessionEnd",
    "BeforeAgent",
    "AfterAgent",
    "BeforeTool",
    "AfterTool",
    "Notification",
]
CURSOR = [
    "sessionStart",
    "sessionEnd",
    "beforeSubmitPrompt",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "subagentStart",
    "subagentStop",
    "preCompact",
    "afterAgentResponse",
    "stop",
]
COPILOT = [
    "sessionStart",
    "sessionEnd",
    "userPromptSubmitted",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "agentStop",
    "subagentStart",
    "subagentStop",
    "errorOccurred",
    "preCompact",
    "permissionRequest",
    "notification",
]

MARK = "contextdash"
"""Every handler of ours holds it, which is how ``--remove`` and a repeated run know their own."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where and how one agent is to report."""

    home: Path
    project: Path | None
    """None: for every project of this user."""
    command: list[str]
    """What runs the hook client, without the client's name."""
    url: str = ""
    http: bool = False

    def hook(self, client: str, event: str = "") -> str:
        return shlex.join([*self.command, client, *([event] if event else [])])


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    edits: Callable[[Target, bool], list[Edit]]
    """The edits that connect, or with True those that take it back."""
    after: str
    """What the user still has to do."""


def _claude_code(target: Target, remove: bool) -> list[Edit]:
    # The local settings of a project are the ones that Claude Code keeps out of git.
    path = (
        target.project / ".claude" / "settings.local.json"
        if target.project
        else target.home / ".claude" / "settings.json"
    )

    def handler(event: str) -> dict[str, Any]:
        if target.http and event in CLAUDE_CODE_HTTP:
            return {
                "type": "http",
                "url": f"{target.url}/api/v1/hooks/claude-code?by={MARK}",
                "headers": {"Authorization": "Bearer ${CONTEXTDASH_TOKEN}"},
                "allowedEnvVars": ["CONTEXTDASH_TOKEN"],
                "timeout": 5,
            }
        return {"type": "command", "command": target.hook("claude-code"), "timeout": 5}

    return [_nested(path, {event: handler(event) for event in CLAUDE_CODE}, remove)]


def _codex(target: Target, remove: bool) -> list[Edit]:
    path = (target.project or target.home) / ".codex" / "hooks.json"
    # More than 3 s for the end of a session makes Codex print a warning at every start.
    handler = {"type": "command", "command": target.hook("codex"), "timeout": 3}
    return [_nested(path, dict.fromkeys(CODEX, handler), remove)]


def _gemini(target: Target, remove: bool) -> list[Edit]:
    path = (target.project or target.home) / ".gemini" / "settings.json"
    handlers = {
        event: {"type": "command", "name": MARK, "command": target.hook("gemini"), "timeout": 5000}
        for event in GEMINI
    }
    return [_nested(path, handlers, remove, matcher="*")]


def _cursor(target: Target, remove: bool) -> list[Edit]:
    path = (target.project or target.home) / ".cursor" / "hooks.json"
    return [_flat(path, {event: {"command": target.hook("cursor", event)} for event in CURSOR}, remove)]


def _copilot(target: Target, remove: bool) -> list[Edit]:
    folder = target.project / ".github" / "hooks" if target.project else target.home / ".copilot" / "hooks"
    path = folder / "contextdash.json"
    if remove:
        return [Edit(path, read(path), None)]
    # The payload names no event, so each event's command does.
    handlers = {
        event: [{"type": "command", "bash": target.hook("copilot", event), "timeoutSec": 5}]
        for event in COPILOT
    }
    return [json_edit(path, read(path), {"version": 1, "hooks": handlers})]


def _opencode(target: Target, remove: bool) -> list[Edit]:
    base = target.project / ".opencode" if target.project else target.home / ".config" / "opencode"
    path = base / "plugin" / "contextdash.js"
    new = (
        None
        if remove
        else OPENCODE_PLUGIN.replace("COMMAND", json.dumps([*target.command, "opencode", "--lines"]))
    )
    return [Edit(path, read(path), new)]


OPENCODE_PLUGIN = """\
// Written by `contextdash connect opencode`; `--remove` deletes it.
import { spawn } from "node:child_process"

const command = COMMAND
// One process takes every payload in order, and finishes what is in the pipe after OpenCode has ended.
let child
const send = (payload) => {
  if (!child) {
    child = spawn(command[0], command.slice(1), { stdio: ["pipe", "ignore", "ignore"], detached: true })
    const gone = () => { child = undefined }
    child.on("error", gone)
    child.on("exit", gone)
    child.stdin.on("error", () => {})
    child.unref()
    child.stdin.unref?.()
  }
  child.stdin.write(JSON.stringify(payload) + "\\n")
}
const EVENTS = new Set([
  "session.created", "session.updated", "session.idle", "session.error", "session.compacted",
  "permission.updated", "permission.asked", "permission.replied", "message.updated",
])
// A text part comes once for every fragment; only its end is worth telling.
const isWhole = (part) => part?.type === "tool"
  ? ["completed", "error"].includes(part.state?.status)
  : part?.type === "text" && (part.time === undefined || part.time.end !== undefined)

export const Contextdash = async ({ directory }) => ({
  event: async ({ event }) => {
    const whole = event.type === "message.part.updated" && isWhole(event.properties?.part)
    if (!whole && !EVENTS.has(event.type)) return
    send({ hook_event_name: event.type, cwd: directory, event })
  },
  "tool.execute.before": async (input, output) => {
    send({ hook_event_name: "tool.execute.before", cwd: directory, input, output })
  },
  "tool.execute.after": async (input, output) => {
    send({ hook_event_name: "tool.execute.after", cwd: directory, input, output })
  },
})
"""


def _nested(path: Path, handlers: dict[str, dict[str, Any]], remove: bool, matcher: str = "") -> Edit:
    """Hooks of the shape ``{event: [{matcher?, hooks: [handler]}]}``, with what others put there kept."""
    old, settings = read_json(path)
    hooks = {event: _without_ours(groups) for event, groups in _object(settings.get("hooks")).items()}
    if not remove:
        for event, handler in handlers.items():
            group = {**({"matcher": matcher} if matcher else {}), "hooks": [handler]}
            hooks[event] = [*hooks.get(event, []), group]
    return json_edit(path, old, _with_hooks(settings, hooks))


def _flat(path: Path, handlers: dict[str, dict[str, Any]], remove: bool) -> Edit:
    """Hooks of the shape ``{version, hooks: {event: [handler]}}``."""
    old, settings = read_json(path)
    hooks = {
        event: [one for one in _list(entries) if not _is_ours(one)]
        for event, entries in _object(settings.get("hooks")).items()
    }
    if not remove:
        settings = {"version": 1, **settings}
        for event, handler in handlers.items():
            hooks[event] = [*hooks.get(event, []), handler]
    return json_edit(path, old, _with_hooks(settings, hooks))


def _with_hooks(settings: dict[str, Any], hooks: dict[str, list[Any]]) -> dict[str, Any]:
    kept = {event: entries for event, entries in hooks.items() if entries}
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    return {**rest, "hooks": kept} if kept else rest


def _without_ours(groups: Any) -> list[Any]:
    kept = []
    for group in _list(groups):
        if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
            kept.append(group)
            continue
        others = [one for one in group["hooks"] if not _is_ours(one)]
        if others:
            kept.append({**group, "hooks": others})
    return kept


def _is_ours(handler: Any) -> bool:
    if not isinstance(handler, dict):
        return False
    run = f"{handler.get('command', '')} {handler.get('bash', '')}"
    return f"{MARK}/hook.py" in run or f"{MARK} hook " in run or f"by={MARK}" in str(handler.get("url", ""))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


CLIENTS = {
    client.name: client
    for client in (
        Client("claude-code", _claude_code, "Running sessions take the hooks up by themselves."),
        Client("codex", _codex, "Start Codex again and trust the hooks once when it asks."),
        Client("gemini", _gemini, "Start Gemini CLI again."),
        Client("opencode", _opencode, "Start OpenCode again."),
        Client("cursor", _cursor, "Start Cursor again."),
        Client("copilot", _copilot, "Start Copilot CLI again."),
    )
}
