"""A chat that is one JSON document, read as its messages one after another: memory is that of one message."""

import re
from collections.abc import Iterator
from typing import IO, Any

from contextdash.limits import MIB
from sessions_app.importers.lines import HEAD_BYTES, LINE_BYTES, Line

_CHUNK = 1 * MIB
_MARKS = re.compile(rb'\\.|["{}\[\]]', re.DOTALL)
_END = b"]}"
_KEY_BYTES = 64
_FRAME_BYTES = 64 * 1024
"""What stands around the messages; more of it is left out."""


def is_document(name: str) -> bool:
    return name.endswith(".json")


def messages(file: IO[bytes], offset: int, state: dict[str, Any]) -> Iterator[Line]:
    """What stands before the messages, each of them, and what stands around them; each a JSON object.

    ``state`` keeps what is needed to go on at an offset. What is not at its end yet is no whole line.
    """
    return _Scanner(file, offset, state).pieces()


class _Scanner:
    def __init__(self, file: IO[bytes], offset: int, state: dict[str, Any]) -> None:
        file.seek(offset)
        self._file = file
        self._state = state
        self._at = offset
        self._depth = 2 if offset else 0
        self._inside = bool(offset)
        """Whether it stands between the brackets of the messages."""
        self._string = -1
        """Where the string began that it stands in."""
        self._begun = b""
        """What of that string stood in the chunks before."""
        self._last = b""
        self._piece = bytearray()
        self._too_long = False

    def pieces(self) -> Iterator[Line]:
        while chunk := self._chunk():
            done = 0
            for found in _MARKS.finditer(chunk):
                mark = found[0]
                if mark == b'"':
                    self._quote(chunk, found.start())
                elif self._string >= 0 or mark[:1] == b"\\":
                    continue
                elif mark in (b"{", b"["):
                    if self._opens(chunk, done, found.start(), mark):
                        done = found.end() if mark == b"[" else found.start()
                        if mark == b"[":
                            yield self._frame(self._at + done)
                elif self._closes(mark):
                    self._keep(chunk[done : found.end()])
                    done = found.end()
                    yield self._whole(self._at + done)
            self._keep(chunk[done:])
            self._at += len(chunk)
            if self._string >= 0:
                self._begun = (self._begun + chunk[self._string :])[:_KEY_BYTES]
                self._string = 0
        if not self._inside and self._depth == 0:
            yield self._around()
        else:
            yield Line(b"{" + bytes(self._piece[:HEAD_BYTES]), self._at, False)

    def _chunk(self) -> bytes:
        chunk = self._file.read(_CHUNK)
        while chunk.endswith(b"\\") and (more := self._file.read(1)):
            chunk += more
        return chunk

    def _quote(self, chunk: bytes, place: int) -> None:
        if self._string < 0:
            self._string = place + 1
            return
        if self._depth == 1:
            self._last = self._begun + chunk[self._string : place]
        self._string, self._begun = -1, b""

    def _opens(self, chunk: bytes, done: int, place: int, mark: bytes) -> bool:
        """Whether a message, or the list of them, begins here; what stands before it is no message."""
        self._depth += 1
        if self._depth == 2 and mark == b"[" and self._last == b"messages" and "head" not in self._state:
            self._keep(chunk[done : place + 1])
            self._inside = True
            self._state["head"] = bytes(self._piece[:_FRAME_BYTES]).decode("utf-8", "replace")
            self._piece.clear()
            return True
        if self._depth == 3 and self._inside and mark == b"{":
            self._piece.clear()
            return True
        return False

    def _closes(self, mark: bytes) -> bool:
        """Whether a message ends here."""
        self._depth -= 1
        if self._depth == 1 and self._inside:
            self._inside = False
            self._piece.clear()
        return self._depth == 2 and self._inside and mark == b"}"

    def _keep(self, more: bytes) -> None:
        limit = LINE_BYTES if self._inside else _FRAME_BYTES
        self._too_long = self._too_long or len(self._piece) + len(more) > limit
        self._piece += more[: max(0, limit - len(self._piece))]

    def _whole(self, end: int) -> Line:
        raw, too_long = bytes(self._piece), self._too_long
        self._piece.clear()
        self._too_long = False
        return Line(raw[:HEAD_BYTES] if too_long else raw, end, True, too_long)

    def _frame(self, end: int) -> Line:
        self._too_long = False
        return Line(self._state["head"].encode() + _END, end, True)

    def _around(self) -> Line:
        """All but the messages; the file ends with it."""
        head = self._state.pop("head", "").encode()
        return Line(head + bytes(self._piece), self._at, True)
