"""A unified diff as tables: added, removed, line numbers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from contextdash.rendering.ansi import plain

DIFF_LINES = 5_000
"""The most lines of a diff that are drawn; the reader is told how many follow."""

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_HEADERS = (
    "diff --git ",
    "index ",
    "new file",
    "deleted file",
    "old mode",
    "new mode",
    "similarity ",
    "rename ",
)


@dataclass(slots=True)
class _Place:
    """Where in both files the next line is, and how many lines of each the hunk still has."""

    old: int = 0
    new: int = 0
    old_left: int = 0
    new_left: int = 0

    @property
    def inside(self) -> bool:
        return self.old_left > 0 or self.new_left > 0


def unified_diff(text: str) -> SafeString:
    """Safe HTML of a diff: one table of class ``diff`` per file."""
    lines = plain(text).removesuffix("\n").split("\n")
    made: list[str] = []
    open_table = False
    for kind, body in _rows(lines[:DIFF_LINES]):
        if kind == "file" or not open_table:
            made.append("</tbody></table>" if open_table else "")
            caption = f'<caption class="mono" dir="ltr">{escape(body)}</caption>' if kind == "file" else ""
            made.append(f'<table class="diff">{caption}<tbody>')
            open_table = True
        if kind != "file":
            made.append(body)
    made.append("</tbody></table>" if open_table else "")
    if len(lines) > DIFF_LINES:
        made.append(f'<p class="meta">{len(lines) - DIFF_LINES:,} more lines are not shown.</p>')
    return mark_safe("".join(made))  # noqa: S308 - every cell is escaped


def _rows(lines: list[str]) -> Iterator[tuple[str, str]]:
    place = _Place()
    for index, line in enumerate(lines):
        if not place.inside:
            hunk = _HUNK.match(line)
            if hunk:
                place = _Place(int(hunk[1]), int(hunk[3]), int(hunk[2] or 1), int(hunk[4] or 1))
                yield "row", _row("hunk", "", "", hunk[5])
                continue
            # A removed line that begins with two dashes looks the same, but no name of a file follows it.
            follows = lines[index + 1] if index + 1 < len(lines) else ""
            heads = line.startswith("--- ") and follows.startswith("+++ ")
            if line.startswith(_HEADERS) or heads:
                continue
            if line.startswith("+++ "):
                yield "file", line[4:].split("\t")[0].removeprefix("b/")
                continue
        yield "row", _line(line, place)


def _line(line: str, place: _Place) -> str:
    sign, rest = line[:1], line[1:]
    if sign == "+":
        number, place.new, place.new_left = place.new, place.new + 1, place.new_left - 1
        return _row("add", _number(number), "+", rest)
    if sign == "-":
        number, place.old, place.old_left = place.old, place.old + 1, place.old_left - 1
        return _row("del", _number(number), "-", rest)
    if sign == "\\":
        return _row("hunk", "", "", rest.strip())
    number, place.new, place.old = place.new, place.new + 1, place.old + 1
    place.old_left, place.new_left = place.old_left - 1, place.new_left - 1
    return _row("", _number(number), "", rest if sign == " " else line)


def _number(number: int) -> str:
    return str(number) if number else ""


def _row(kind: str, number: str, sign: str, body: str) -> str:
    css = f' class="{kind}"' if kind else ""
    return f'<tr{css}><td class="ln">{number}</td><td class="sg">{sign}</td><td>{escape(body)}</td></tr>'
