"""Times as the pages write them, in the reader's zone, always with the whole moment in ``title``."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from contextdash import clock
from contextdash.rendering.numbers import UNKNOWN, wait

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

REMEMBERED = 8192
"""Moments, about 3 MB."""

type Moment = datetime | int | None
"""An aware datetime, or µs since 1970."""


@dataclass(frozen=True, slots=True)
class _Told:
    """A moment in one zone: a function of nothing but both, and the same moments are shown on every page."""

    day: date
    clock: str
    attributes: str
    """Of its ``<time>``."""


def when(moment: Moment) -> SafeString | str:
    """``14:01`` today, ``Wed 25 Nov`` this week, else ``14 Oct``, with the year where it is another."""
    told = _told(moment)
    if told is None:
        return UNKNOWN
    day, today = told.day, timezone.localtime(clock.now()).date()
    days = (today - day).days
    if days == 0:
        text = told.clock[:5]
    elif 0 < days < 7:
        text = f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}"
    elif day.year == today.year:
        text = f"{day.day} {_MONTHS[day.month - 1]}"
    else:
        text = f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
    return _element(told, text)


def clock_time(moment: Moment) -> SafeString | str:
    """``14:01:31``."""
    told = _told(moment)
    return UNKNOWN if told is None else _element(told, told.clock)


def since(moment: Moment, *, ago: bool = False) -> SafeString | str:
    """How long ago: ``18m``, or ``18m ago``. The page keeps it true (static/js/app.js)."""
    told = _told(moment)
    if told is None:
        return UNKNOWN
    text = wait(clock.now_us() - _us(moment))
    how = "ago" if ago else "wait"
    return _element(told, f"{text} ago" if ago else text, f' data-since="{how}"')


def spelled(at: datetime) -> str:
    """``Thu 26 Nov 2026, 14:01:31 CET``."""
    # Not by strftime, which is what most of a long list's time went into.
    day = f"{_DAYS[at.weekday()]} {at.day} {_MONTHS[at.month - 1]} {at.year:04}"
    return f"{day}, {_clock(at)} {at.tzname()}"


def _element(told: _Told, text: str, more: str = "") -> SafeString:
    made = f"<time {told.attributes}{more}>{text}</time>"
    return mark_safe(made)  # noqa: S308 - digits and names of days, months and zones


def _clock(at: datetime) -> str:
    return at.isoformat()[11:19]


def _machine(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()[:19] + "Z"


def _told(moment: Moment) -> _Told | None:
    if moment is None or moment == "":
        return None
    return _in_zone(_us(moment) // 1_000_000, timezone.get_current_timezone())


def _us(moment: datetime | int | None) -> int:
    if isinstance(moment, datetime):
        return clock.to_us(moment)
    return max(0, min(moment or 0, clock.MAX_US))


@lru_cache(REMEMBERED)
def _in_zone(seconds: int, zone: tzinfo) -> _Told:
    at = clock.EPOCH + timedelta(seconds=seconds)
    with suppress(OverflowError):  # the last hours of the year 9999, seen from the east
        at = at.astimezone(zone)
    return _Told(at.date(), _clock(at), f'datetime="{_machine(at)}" title="{spelled(at)}"')
