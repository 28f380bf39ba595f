"""JSON and request bodies from outside: read within limits, decoded so that every string can be stored."""

import json
import re
import zlib
from typing import Any, Protocol

import msgspec

from contextdash.cleaning import clean
from contextdash.errors import Malformed, TooLarge, UnsupportedMedia
from contextdash.limits import BODY_BYTES, DECOMPRESSED_BYTES, JSON_DEPTH

_fast = msgspec.json.Decoder().decode

# A regular expression for nineteen digits takes ten times as long as decoding.
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SQUARE = bytes.maketrans(b"{}", b"[]")
_INT64 = range(-(2**63), 2**63)
_CHUNK_BYTES = 64 * 1024


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def decode_json(raw: bytes) -> Any:
    """The value of a JSON body. Of duplicate keys the last wins.

    Lone surrogates and NUL become U+FFFD; NaN, infinities, and numbers that neither 64 bits nor a double
    hold are kept as the text that was sent.

    Raises:
        Malformed: not UTF-8, not JSON (the detail names the byte), or nested deeper than JSON_DEPTH.
    """
    # A small thread stack ends before the decoders' own limit.
    if not shallow(raw):
        raise Malformed(f"The JSON is nested deeper than {JSON_DEPTH} levels (JSON_DEPTH).")
    if b"\\u0000" not in raw and _LONG_NUMBER not in raw.translate(_ZEROS):
        try:
            return _fast(raw)
        except msgspec.DecodeError:
            pass  # the tolerant decoder takes it, or says where it breaks
    return _tolerant(raw)


def read_body(stream: Readable, *, length: int | None, encoding: str = "") -> bytes:
    """A request's body of ``length`` bytes (None: to its end), with gzip undone.

    Raises:
        Malformed: the body stopped before its announced length, or is no whole gzip stream.
        TooLarge: above BODY_BYTES, or above DECOMPRESSED_BYTES once inflated.
        UnsupportedMedia: a content encoding other than gzip.
    """
    encoding = encoding.strip().lower()
    if encoding not in {"", "identity", "gzip"}:
        raise UnsupportedMedia("Send the body plain or with Content-Encoding: gzip.")
    if length is not None and length > BODY_BYTES:
        raise _too_large(BODY_BYTES, "BODY_BYTES")
    raw = _read(stream, BODY_BYTES + 1 if length is None else length)
    if len(raw) > BODY_BYTES:
        raise _too_large(BODY_BYTES, "BODY_BYTES")
    if length is not None and len(raw) < length:
        raise Malformed(f"The body stopped after {len(raw)} of {length} bytes.")
    return gunzip(raw) if encoding == "gzip" else raw


def gunzip(raw: bytes) -> bytes:
    """The content of one gzip stream, never more than DECOMPRESSED_BYTES of memory."""
    inflater = zlib.decompressobj(wbits=31)
    try:
        made = inflater.decompress(raw, DECOMPRESSED_BYTES + 1)
    except zlib.error as error:
        raise Malformed("The body is not valid gzip.") from error
    if len(made) > DECOMPRESSED_BYTES:
        raise _too_large(DECOMPRESSED_BYTES, "DECOMPRESSED_BYTES")
    if not inflater.eof or inflater.unused_data:
        raise Malformed("The body is not one whole gzip stream.")
    return made


def _read(stream: Readable, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        try:
            part = stream.read(min(size, _CHUNK_BYTES))
        except OSError as error:
            raise Malformed("The connection ended before the body did.") from error
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _too_large(limit: int, name: str) -> TooLarge:
    return TooLarge(f"The body is larger than {limit} bytes ({name}). Send it in parts.")


def shallow(raw: bytes) -> bool:
    """Whether the nesting cannot exceed JSON_DEPTH: ask it before any decoder, which recurses in C."""
    if raw.count(b"[") + raw.count(b"{") <= JSON_DEPTH:
        return True
    brackets = _STRING.sub(b"", raw).translate(_SQUARE, _NOT_BRACKETS)
    # Each round takes the innermost level away; what no round takes is unbalanced, and counts in full.
    rounds = 0
    while rounds < JSON_DEPTH and b"[]" in brackets:
        brackets = brackets.replace(b"[]", b"")
        rounds += 1
    return rounds + len(brackets) <= JSON_DEPTH


def _tolerant(raw: bytes) -> Any:
    try:
        text = raw.decode("utf-8-sig")  # Windows shells put a byte order mark before what they pipe
    except UnicodeDecodeError as error:
        raise Malformed(f"The body is not UTF-8 (byte {error.start}).") from error
    try:
        value = json.loads(text, parse_int=_int, parse_float=_float, parse_constant=str)
    except json.JSONDecodeError as error:
        byte = len(text[: error.pos].encode("utf-8"))
        raise Malformed(f"The body is not JSON: {error.msg} (byte {byte}).") from error
    return _cleaned(value)


def _int(digits: str) -> int | str:
    if len(digits) > 20:
        return digits
    number = int(digits)
    return number if number in _INT64 else digits


def _float(digits: str) -> float | str:
    number = float(digits)
    return digits if number in (float("inf"), float("-inf")) else number


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    return value
