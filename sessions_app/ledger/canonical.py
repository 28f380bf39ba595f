"""JSON as JavaScript writes it, and the hash of a tool call's arguments that ledger clients compute.

Two texts of one value are one only when numbers are printed and keys are ordered alike everywhere, so both
follow ECMAScript: its shortest digits, its keys that look like array indexes first.
"""

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

_INDEX = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)
_LAST_INDEX = 2**32 - 2
_SAFE = range(-(2**53), 2**53 + 1)
_SURROGATE = re.compile("[\ud800-\udfff]")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_sorted_json = msgspec.json.Encoder(order="sorted").encode
_quote = json.JSONEncoder(ensure_ascii=False).encode

# The root order of the Unicode collation, as far as ASCII goes; what is not here sorts behind it.
_ORDER = {mark: place for place, mark in enumerate(" _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789", 1)}
_LETTERS = 100
_OTHERS = 1000


def canonical(value: Any) -> str:
    """The value's one text: keys in order, no spaces, nothing escaped that need not be.

    A lone surrogate is written as its escape, so the text can always be encoded.
    """
    if _plain(value):
        return _sorted_json(value).decode()
    return _text(value, None, _kept)


def args_hash(tool: str, args: Any) -> str:
    """``sha256:`` and the hex digest of a call's name and arguments.

    Arrays directly under ``required`` or ``enum`` are sorted, and a key ``__proto__`` is left out. The order
    of strings outside ASCII follows the root collation only roughly.
    """
    text = _text({"args": args, "toolName": tool}, None, _without_proto)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def is_args_hash(text: str) -> bool:
    return _HASH.fullmatch(text) is not None


def _plain(value: Any) -> bool:
    """Whether the fast encoder writes it as JavaScript would."""
    kind = type(value)
    if kind is str:
        return value.isascii() or not _SURROGATE.search(value)
    if kind is dict:
        for key, item in value.items():
            if not key.isascii() or key[:1].isdigit() or not _plain(item):
                return False
        return True
    if kind is list:
        return all(map(_plain, value))
    return kind is bool or value is None or (kind is int and value in _SAFE)


type _Keys = Callable[[dict[str, Any]], list[str]]


def _text(value: Any, under: str | None, keys: _Keys) -> str:
    if isinstance(value, str):
        return _string(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(key)}:{_text(value[key], key, keys)}" for key in keys(value)) + "}"
    items = [_text(item, None, keys) for item in value]
    if keys is _without_proto and under in ("required", "enum"):
        items.sort(key=_collation)
    return "[" + ",".join(items) + "]"


def number(value: float) -> str:
    """The shortest digits that mean the double, laid out as ``Number.prototype.toString`` does.

    Raises:
        ValueError: no double holds it.
    """
    if isinstance(value, int) and value in _SAFE:
        return str(value)
    try:
        double = float(value)
    except OverflowError as error:
        raise ValueError("the number is larger than a double holds") from error
    if not math.isfinite(double):
        raise ValueError("the number is not finite")
    if double == 0:
        return "0"
    sign = "-" if double < 0 else ""
    mantissa, _, exponent = f"{abs(double)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    # Where the point stands, counted from the first digit that is not 0.
    point = int(exponent or 0) + len(whole)
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    return sign + _laid_out(digits, point)


def _laid_out(digits: str, point: int) -> str:
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def _string(text: str) -> str:
    quoted = _quote(text)
    if quoted.isascii():
        return quoted
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _kept(value: dict[str, Any]) -> list[str]:
    return sorted(value, key=_key_order)


def _without_proto(value: dict[str, Any]) -> list[str]:
    return sorted((key for key in value if key != "__proto__"), key=_key_order)


def _key_order(key: str) -> tuple[int, int, bytes]:
    if _INDEX.fullmatch(key) and int(key) <= _LAST_INDEX:
        return 0, int(key), b""
    return 1, 0, key.encode("utf-16-be", "surrogatepass")


def _collation(text: str) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Base letters first, then accents, then lower case before upper."""
    primary: list[int] = []
    secondary: list[int] = []
    tertiary: list[int] = []
    for mark in unicodedata.normalize("NFD", text):
        if unicodedata.combining(mark):
            secondary.append(ord(mark))
            continue
        folded = mark.lower()
        if folded.isascii() and folded.isalpha():
            primary.append(_LETTERS + ord(folded))
        else:
            primary.append(_ORDER.get(mark) or _OTHERS + ord(folded[0]))
        secondary.append(0)
        tertiary.append(int(mark != folded))
    return primary, secondary, tertiary
