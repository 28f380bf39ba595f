"""The typed content of a run as people read it: whatever a writer sends is told, nothing of it is trusted.

Markdown is only what a prose block says is Markdown. Reasoning is private unless its block says otherwise,
and private reasoning is not read out of here at all. A kind that nobody knows is shown as JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

BLOCKS = 60
"""The most of one run that a transcript shows."""


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    """prose, speech, code, tool, reasoning, private, error, attachment, notice or json."""
    text: str = ""
    title: str = ""
    """Of code its language, of a tool its name, of an error or notice its code, of JSON its kind."""
    state: str = ""
    """Of a tool: pending, running, completed, failed, cancelled; of an error: retryable."""
    parts: Sequence[tuple[str, str]] = ()
    """Of a tool: what went in and came out, as JSON."""
    attachment_id: str = ""
    cut: bool = False


def blocks_of(content: Any, *, chars: int | None = None) -> list[Block]:
    """BLOCKS blocks, each text of at most ``chars`` characters; all of everything without ``chars``."""
    sent = content if isinstance(content, list) else [content] if content else []
    return [_block(one, chars) for one in (sent[:BLOCKS] if chars else sent)]


def _block(sent: Any, chars: int | None) -> Block:
    if not isinstance(sent, dict):
        return _json("", sent, chars)
    kind = _text(sent, "type")
    match kind:
        case "prose":
            return _cut(Block("prose", _text(sent, "markdown") or _text(sent, "text")), chars)
        case "speech":
            return _cut(Block("speech", _text(sent, "text")), chars)
        case "code":
            return _cut(
                Block("code", _text(sent, "text") or _text(sent, "code"), _text(sent, "language")), chars
            )
        case "reasoning":
            if sent.get("visibility") != "visible":
                return Block("private")
            return _cut(Block("reasoning", _text(sent, "text")), chars)
        case "tool":
            parts = [
                (title, _dumped(sent[name])[: chars or None])
                for name, title in (("input", "Input"), ("output", "Output"), ("error", "Error"))
                if sent.get(name) is not None
            ]
            return Block("tool", "", _text(sent, "tool"), _text(sent, "status"), parts)
        case "error":
            retryable = "retryable" if sent.get("retryable") is True else ""
            return _cut(Block("error", _text(sent, "message"), _text(sent, "code"), retryable), chars)
        case "attachment":
            name = _text(sent, "name") or _text(sent, "filename")
            return Block(
                "attachment", name, _text(sent, "media_type"), attachment_id=_text(sent, "attachment_id")
            )
        case "notice":
            return _cut(Block("notice", _text(sent, "message"), _text(sent, "code")), chars)
        case _:
            return _json(kind, sent, chars)


def _json(kind: str, sent: Any, chars: int | None) -> Block:
    return _cut(Block("json", _dumped(sent), kind or "unknown"), chars)


def _cut(block: Block, chars: int | None) -> Block:
    if chars is None or len(block.text) <= chars:
        return block
    return Block(block.kind, block.text[:chars], block.title, block.state, cut=True)


def _text(sent: dict[str, Any], key: str) -> str:
    value = sent.get(key)
    return value if isinstance(value, str) else ""


def _dumped(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
