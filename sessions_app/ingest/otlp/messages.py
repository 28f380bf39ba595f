"""The texts of GenAI messages, which spans hold as JSON or as the text of it."""

from collections.abc import Iterator
from typing import Any

from contextdash.cleaning import clean
from sessions_app.ingest.reading import decoded


def last_said(sent: object, role: str) -> str:
    """The text of the last message of a role; empty where messages were not recorded."""
    messages = decoded(sent)
    found = ""
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict) and message.get("role") in (role, None):
            said = "\n".join(_texts(message))
            found = said or found
    return clean(found)


def _texts(message: dict[str, Any]) -> Iterator[str]:
    content = message.get("parts", message.get("content"))
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and part.get("type") in ("text", None):
            said = part.get("content", part.get("text"))
            if isinstance(said, str):
                yield said
