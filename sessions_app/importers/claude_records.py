"""What stands in the records of Claude Code's transcripts: who said it, its text, its tokens."""

import re
from collections.abc import Iterator
from typing import Any

from sessions_app.importers.counting import tokens
from sessions_app.ingest.reading import Body, mapping, text
from sessions_app.pricing import Usage

MACHINE = (
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<task-notification>",
    "<system-reminder>",
    "[Request interrupted",
    "Stop hook feedback:",
    "This session is being continued",
)
EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
SPAWNS = frozenset({"Agent", "Task"})
CHAIN = frozenset({"user", "assistant", "system", "attachment", "progress"})
_IDE = re.compile(r"\s*<(ide_opened_file|ide_selection)>.*?</\1>\s*", re.DOTALL)


def is_human(record: Body, said: str) -> bool:
    origin = text(mapping(record, "origin"), "kind")
    return origin in ("", "human") and bool(said.strip()) and not said.lstrip().startswith(MACHINE)


def said_in(content: object) -> str:
    """The text of a message, without what an editor put before it."""
    return _IDE.sub("", plain(content))


def plain(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(_texts(content))


def _texts(content: object) -> Iterator[str]:
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            yield block
        elif isinstance(block, dict) and block.get("type") == "text":
            yield text(block, "text")


def without_images(value: Any) -> Any:
    """The value with the bytes of images and documents told by their size."""
    if isinstance(value, list):
        return [without_images(one) for one in value]
    if isinstance(value, dict):
        data = value.get("data")
        if value.get("type") == "base64" and isinstance(data, str):
            return {**value, "data": f"({len(data) * 3 // 4} bytes, not kept)"}
        base64 = value.get("base64")
        if isinstance(base64, str) and len(base64) > 1000:
            value = {**value, "base64": f"({len(base64) * 3 // 4} bytes, not kept)"}
        return {key: without_images(one) for key, one in value.items()}
    return value


def usage_of(told: object) -> tuple[Usage | None, str, str]:
    """Tokens, what is taken for granted of them, and the speed class."""
    if not isinstance(told, dict):
        return None, "", ""
    kinds = mapping(told, "cache_creation")
    short, long = (
        tokens(kinds, "ephemeral_5m_input_tokens"),
        tokens(kinds, "ephemeral_1h_input_tokens"),
    )
    flat = tokens(told, "cache_creation_input_tokens")
    assumed = ""
    if flat > short + long:  # only the total is told, or more than its parts
        short, assumed = flat - long, "5-minute cache writes"
    usage = Usage(
        input=tokens(told, "input_tokens"),
        output=tokens(told, "output_tokens"),
        cache_read=tokens(told, "cache_read_input_tokens"),
        cache_write_5m=short,
        cache_write_1h=long,
        web_searches=tokens(mapping(told, "server_tool_use"), "web_search_requests"),
        thinking=tokens(mapping(told, "output_tokens_details"), "thinking_tokens"),
    )
    return usage, assumed, text(told, "speed", 20)
