"""Reading the bodies of clients: every field is optional and may be of any type."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from contextdash.cleaning import one_line
from contextdash.decoding import decode_json
from contextdash.errors import Malformed
from contextdash.limits import SUMMARY_CHARS
from sessions_app.ingest.observation import PlanSeen
from sessions_app.vocabulary import PlanStatus

type Body = Mapping[str, Any]


class Ids(NamedTuple):
    """What a body says it belongs to; empty where it says nothing."""

    session: str
    agent: str = ""
    """A subagent of the session."""
    turn: str = ""
    call: str = ""
    parent: str = ""
    """The session that this one, which has an id of its own, was started by."""


class Known(NamedTuple):
    """What one event of a client means."""

    kind: str
    category: str = ""
    """Empty: it has no line of its own on the timeline."""
    priority: int = 3
    tells: tuple[str, ...] = ()
    """The fields that its line on the timeline is made of."""


encode = msgspec.json.Encoder().encode

LONGEST_CALL_US = 7 * 86_400 * 1_000_000
"""A longer duration is no duration but a clock that was set."""

_SUMMARY_KEYS = (
    "command",
    "cmd",
    "file_path",
    "notebook_path",
    "filePath",
    "pattern",
    "url",
    "query",
    "prompt",
    "path",
    "description",
    "subject",
    "skill",
    "name",
)


def text(body: Body, key: str, chars: int | None = None) -> str:
    """The string at ``key``; a number as its digits; empty for anything else."""
    value = body.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return ""
        value = str(value)
    return value if chars is None else value[:chars]


def decoded(sent: object) -> Any:
    """A value that may be sent as the text of its JSON; any other text stays what it is."""
    if not isinstance(sent, str) or not sent.lstrip().startswith(("{", "[", '"')):
        return sent
    try:
        return decode_json(sent.encode())
    except Malformed:
        return sent


def mapping(body: Body, key: str) -> Body:
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def milliseconds(value: object) -> int | None:
    """A duration in ms as µs; None where it is absent, negative or absurd."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Judged before it is rounded: of an infinity there is no whole number.
    return round(value * 1000) if 0 <= value <= LONGEST_CALL_US / 1000 else None


def size(body: Body, key: str) -> int:
    """Bytes of the value as JSON; 0 where there is none."""
    value = body.get(key)
    return 0 if value is None else len(encode(value))


def summary(tool_input: object) -> str:
    """One line that tells what a call is about: its command, file, pattern, address or prompt."""
    if isinstance(tool_input, str):
        return one_line(tool_input, SUMMARY_CHARS)
    if not isinstance(tool_input, dict):
        return ""
    for key in _SUMMARY_KEYS:
        value = tool_input.get(key)
        if isinstance(value, str) and value:
            return one_line(value, SUMMARY_CHARS)
        if isinstance(value, list) and value and isinstance(value[0], str):  # Codex: argv
            return one_line(" ".join(str(part) for part in value[:50]), SUMMARY_CHARS)
    return one_line(encode(tool_input).decode(), SUMMARY_CHARS) if tool_input else ""


def told(body: Body, keys: Iterable[str], chars: int = 500) -> str:
    """The texts at ``keys`` on one line."""
    parts = (text(body, key) for key in keys)
    return one_line(" · ".join(one_line(part, chars) for part in parts if part), chars)


def is_plan_path(path: str) -> bool:
    path = path.replace("\\", "/")
    return path.endswith(".plan.md") or "/.claude/plans/" in path or path.startswith(".claude/plans/")


def written_plans(path: str, body: str | None) -> tuple[PlanSeen, ...]:
    """The plan that a file which was just written holds, if it is one."""
    if not body or not body.strip() or not is_plan_path(path):
        return ()
    return (PlanSeen(path=path, body=body, title="", status=PlanStatus.PROPOSED),)


def edited(original: object, edits: Iterable[Body]) -> str | None:
    """The text after edits of the form old_string, new_string, replace_all; None when unknown."""
    if not isinstance(original, str):
        return None
    for edit in edits:
        old, new = text(edit, "old_string"), text(edit, "new_string")
        if not old or old not in original:
            return None
        original = original.replace(old, new) if edit.get("replace_all") else original.replace(old, new, 1)
    return original
