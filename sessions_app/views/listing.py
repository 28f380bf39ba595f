"""What list pages share: addresses with a filter changed, choices of a filter, rows by day."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone

from contextdash.cleaning import cut_bytes
from contextdash.errors import Invalid
from contextdash.limits import KIB

FIRST_PART_BYTES = 100 * KIB
"""How much of a long text a page renders; "show all" brings the rest unrendered."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a filter, and the address of the page with it."""

    value: str
    label: str
    chosen: bool
    url: str = ""


@dataclass(frozen=True, slots=True)
class Day[T]:
    """The rows of one day of the reader's zone."""

    day: date
    title: str
    rows: Sequence[T]


def address(query: QueryDict, **changed: str | None) -> str:
    """This page's address with some parameters set or, where None, left out."""
    kept = [
        (name, value)
        for name, values in query.lists()
        if name != "v" and name not in changed
        for value in values
    ]
    return "?" + urlencode(kept + [(name, value) for name, value in changed.items() if value is not None])


def cleared(query: QueryDict) -> str:
    """The address of the list with nothing but its project."""
    return address(query, **dict.fromkeys((name for name in query if name != "project"), None))


def choices(query: QueryDict, name: str, known: Iterable[tuple[str, str]]) -> list[Choice]:
    """The values of one filter as links that go to the list's first page; a given stranger comes last."""
    given = query.get(name, "")
    offered = dict(known)
    if given and given not in offered:
        offered[given] = given
    return [
        Choice(value, label, value == given, address(query, cursor=None, **{name: value or None}))
        for value, label in offered.items()
    ]


def by_day[T](rows: Iterable[T], moment: Callable[[T], datetime]) -> list[Day[T]]:
    today = timezone.localdate()
    days: list[Day[T]] = []
    for row in rows:
        day = timezone.localdate(moment(row))
        if not days or days[-1].day != day:
            days.append(Day(day, _title(day, today), []))
        days[-1].rows.append(row)  # type: ignore[attr-defined]  # a list, made two lines above
    return days


def paging(query: QueryDict, following: str | None) -> dict[str, Any]:
    """What ``memory/_pager.html`` needs."""
    return {
        "next_url": address(query, cursor=following) if following else None,
        "first_url": address(query, cursor=None) if query.get("cursor") else None,
        "live_url": address(query),
    }


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as a page shows it: rendered, or of a long one the first part, or all of it unrendered."""

    text: str
    size: int
    """Bytes of the whole text."""
    cut: bool
    whole: bool
    """A long text in full: shown as it is, since rendering it would take seconds."""
    all_url: str


def reading(text: str, query: QueryDict) -> Reading:
    """``all=1`` asks for the whole of a long text."""
    size = len(text.encode("utf-8", "surrogatepass"))
    is_long = size > FIRST_PART_BYTES
    whole = is_long and query.get("all") == "1"
    cut = is_long and not whole
    shown = cut_bytes(text, FIRST_PART_BYTES) if cut else text
    return Reading(shown, size, cut, whole, address(query, all="1"))


def download(content: str | bytes, name: str) -> HttpResponse:
    """A file to keep; ``name`` is one of ours, ASCII without quotes."""
    kind = "application/zip" if isinstance(content, bytes) else "text/markdown; charset=utf-8"
    response = HttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def given_reason(request: HttpRequest) -> str:
    """
    Raises:
        Invalid: there is none.
    """
    reason = request.POST.get("reason", "").strip()
    if not reason:
        raise Invalid("Say why, in a few words.", field="reason")
    return reason


def _title(day: date, today: date) -> str:
    back = (today - day).days
    if back in (0, 1):
        return ("Today", "Yesterday")[back]
    title = f"{day:%A} {day.day} {day:%B}"
    return title if day.year == today.year else f"{title} {day.year}"
