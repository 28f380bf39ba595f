"""Parts of pages that are a function of the rows they show, drawn once for the same values.

Live pages are drawn again and again, and most of their rows are as they were.
"""

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any

from django.db.models import Model
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from contextdash.limits import MIB

REMEMBERED_CHARS = 4 * MIB
"""Of HTML; the rows that it was made of take about as much."""


class _Shown:
    """What a template is given. Two are equal when all values that were read of all their rows are."""

    __slots__ = ("hash", "key", "values")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.key = tuple(map(_frozen, values.values()))
        self.hash = hash(self.key)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Shown) and self.key == other.key and self.values.keys() == other.values.keys()
        )


def drawn(template: str, values: Mapping[str, Any]) -> SafeString:
    """The template with nothing but these values: rows, tuples of them, plain values.

    Days and times are those of the reader's zone today. What else goes by the clock, such as how long ago
    something was, is a value that the caller gives.
    """
    shown = _Shown(values)
    key = (template, shown, timezone.localdate(), timezone.get_current_timezone())
    known = _parts.find(key)
    return known if known is not None else _parts.keep(key, render_to_string(template, shown.values))


class _Parts:
    """The newest parts, as many as REMEMBERED_CHARS hold: one may be a row, another a list of hundreds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[Hashable, SafeString] = {}
        self._chars = 0

    def find(self, key: Hashable) -> SafeString | None:
        with self._lock:
            found = self._kept.pop(key, None)
            if found is not None:
                self._kept[key] = found  # the last to go
            return found

    def keep(self, key: Hashable, html: SafeString) -> SafeString:
        with self._lock:
            self._chars += len(html) - len(self._kept.pop(key, ""))
            self._kept[key] = html
            while self._chars > REMEMBERED_CHARS and len(self._kept) > 1:
                self._chars -= len(self._kept.pop(next(iter(self._kept))))
        return html


_parts = _Parts()


def _frozen(value: Any) -> Hashable:
    if isinstance(value, Model):
        # A column that was not read is not shown, or the test of the page's queries would fail.
        read = [(name, _plain(one)) for name, one in value.__dict__.items() if name != "_state"]
        near = [(name, _frozen(one)) for name, one in value._state.fields_cache.items()]
        return (type(value), *read, *near)
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if is_dataclass(value):
        return (type(value), *(_frozen(getattr(value, each.name)) for each in fields(value)))
    return _plain(value)


def _plain(value: Any) -> Hashable:
    """A column's value; those of JSON columns are told by their text."""
    return repr(value) if isinstance(value, dict | list) else value
