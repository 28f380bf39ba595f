"""A stand-up as Markdown, to be pasted where the team talks."""

import re
from datetime import datetime
from functools import lru_cache

from django.utils import timezone

from contextdash.pages.standup_read import REMEMBERED, Line, Standup
from contextdash.rendering.ansi import plain

NOBODY = "Nobody yet"
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~])")


def heading(told: Standup) -> str:
    """``Stand-up, Mon 30 Nov 09:00 to Tue 1 Dec 09:00 (UTC)``, in the reader's zone."""
    return f"Stand-up, {_moment(told.begin)} to {_moment(told.end)} ({timezone.localtime(told.end):%Z})"


def as_markdown(told: Standup, site: str = "") -> str:
    """Whole; ``site`` (``https://…``) makes links of the numbers."""
    lines = [f"# {heading(told)}", ""]
    for person in told.telling:
        lines += [f"## {escaped(person.name) or NOBODY}", ""]
        if person.sessions:
            errored = f", {person.errored} ended in an error" if person.errored else ""
            lines += [f"{person.sessions} session{'s' if person.sessions > 1 else ''}{errored}", ""]
        for _, title, rows in person.told:
            lines += [f"**{title}**", "", *(_item(row, site) for row in rows), ""]
    if told.quiet:
        names = ", ".join(f"{escaped(person.name)} ({person.sessions})" for person in told.quiet)
        lines += [f"Only sessions: {names}", ""]
    if not told.people:
        lines += ["Nothing was reported.", ""]
    if told.cut:
        lines += ["There is more than is listed here.", ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Agents' words as words: they begin no link and no markup."""
    return _SPECIAL.sub(r"\\\1", plain(text))


@lru_cache(REMEMBERED)
def _item(row: Line, site: str) -> str:
    number = f"[{row.number}]({site}{row.url}) " if site and row.number else f"{row.number} ".lstrip()
    note = f" ({escaped(row.note)})" if row.note else ""
    return f"- {number}{escaped(row.title)}{note}"


def _moment(at: datetime) -> str:
    here = timezone.localtime(at)
    return f"{here:%a} {here.day} {here:%b %H:%M}"
