"""The clients whose transcripts can be read, and how each file tells whose it is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from sessions_app.importers import claude_code, codex, copilot, documents, gemini, opencode, opencode_stores
from sessions_app.importers.lines import lines, record_of

HEAD_LINES = 60
"""A transcript has its first record of a conversation within these."""
NO_TRANSCRIPTS = frozenset({"journal.jsonl", "history.jsonl"})


class Reader(Protocol):
    """Reads the records of one file into a gatherer."""

    between_calls: bool
    """Whether the last record was no piece of a model call: a good place to store what there is."""

    @property
    def session_id(self) -> str: ...
    @property
    def title(self) -> tuple[str, str]: ...
    def count(self, record: Mapping[str, Any]) -> None: ...
    def read(self, record: Mapping[str, Any]) -> None: ...
    def finish(self) -> None:
        """The file has no more for now."""


@dataclass(frozen=True, slots=True)
class Client:
    reader: Callable[..., Reader]
    beside: Callable[[Path], Mapping[str, Any]]
    """What other files say about this one."""


def _nothing(path: Path) -> Mapping[str, Any]:
    return {}


CLIENTS: Mapping[str, Client] = {
    claude_code.CLIENT: Client(claude_code.Reader, claude_code.beside),
    codex.CLIENT: Client(codex.Reader, _nothing),
    gemini.CLIENT: Client(gemini.Reader, gemini.beside),
    copilot.CLIENT: Client(copilot.Reader, copilot.beside),
}
FALLBACK = claude_code.CLIENT
"""Whose reader takes a file that does not tell."""


def client_of(path: Path) -> str:
    """Whose transcript a file is, by its name and first records; empty where it is none.

    Raises:
        OSError: it cannot be read.
    """
    if path.name in NO_TRANSCRIPTS:
        return ""
    if opencode_stores.is_store(path):
        return opencode.CLIENT
    if documents.is_document(path.name):
        return gemini.CLIENT if _is_chat(path) else ""
    if path.suffix != ".jsonl":
        return ""
    for record in records(path, HEAD_LINES):
        if client := client_of_record(record):
            return client
    return ""


def client_of_record(record: Mapping[str, Any]) -> str:
    """Which client writes such a record; empty where it does not say."""
    told = record.get("type")
    sort = told if isinstance(told, str) else ""
    if sort == "session_meta" and isinstance(record.get("payload"), dict):
        return codex.CLIENT
    if told is None and "instructions" in record and "id" in record:
        return codex.CLIENT  # the first line of its first releases
    if isinstance(record.get("data"), dict) and "." in sort:
        return copilot.CLIENT
    if "$set" in record or "$rewindTo" in record:
        return gemini.CLIENT
    if sort and "sessionId" in record:
        return claude_code.CLIENT
    chat = "sessionId" in record and ("projectHash" in record or "startTime" in record)
    message = sort in gemini.TYPES and "id" in record and "content" in record and "uuid" not in record
    return gemini.CLIENT if chat or message else ""


def records(path: Path, limit: int) -> Iterator[dict[str, Any]]:
    """The records among the first lines of a file.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        for line in islice(lines(file, 0), limit):
            record = None if line.too_long else record_of(line.raw)
            if record is not None:
                yield record


def _is_chat(path: Path) -> bool:
    if not path.name.startswith("session-") and path.parent.name != "chats":
        return False
    with path.open("rb") as file:
        head = file.read(64 * 1024)
    return b'"sessionId"' in head and b'"messages"' in head
