"""Whole lines of a file that may be growing, one at a time: memory is that of the longest line."""

from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from contextdash.cleaning import clean
from contextdash.decoding import decode_json
from contextdash.errors import Malformed
from contextdash.ids import digest16
from contextdash.limits import MIB

LINE_BYTES = 64 * MIB
"""A longer line is skipped, counted, and its beginning kept to look at."""

HEAD_BYTES = 4096
_CHUNK = 1 * MIB


class Line(NamedTuple):
    raw: bytes
    """Without its end; of a line that is too long its beginning."""
    end: int
    """Where the next one begins, in bytes from the beginning of the file."""
    whole: bool
    """False for what follows the last line end: it may still be being written."""
    too_long: bool = False


def lines(file: IO[bytes], offset: int) -> Iterator[Line]:
    """The lines from a place on; the last may be no whole one."""
    file.seek(offset)
    while raw := file.readline(LINE_BYTES):
        offset += len(raw)
        if raw.endswith(b"\n"):
            yield Line(raw, offset, True)
        elif len(raw) < LINE_BYTES:
            yield Line(raw, offset, False)
        else:
            ended = False
            while not ended and (more := file.readline(_CHUNK)):
                offset += len(more)
                ended = more.endswith(b"\n")
            yield Line(raw[:HEAD_BYTES], offset, ended, True)


def head_of(file: IO[bytes], size: int) -> bytes:
    """The digest of the file's first ``size`` bytes."""
    file.seek(0)
    return digest16(file.read(size))


def record_of(raw: bytes) -> dict[str, Any] | None:
    """The object that a line holds; None when it holds none. Bad UTF-8 becomes U+FFFD."""
    try:
        value = decode_json(raw)
    except Malformed:
        try:
            value = decode_json(clean(raw.decode("utf-8", "replace")).encode())
        except Malformed:
            return None
    return value if isinstance(value, dict) else None
