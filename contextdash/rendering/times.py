"""Times as the pages write them, in the reader's zone, always with the whole moment in ``title``."""

from datetime import UTC, datetime

from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from contextdash import clock
from contextdash.rendering.numbers import UNKNOWN, wait

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

type Moment = datetime | int | None
"""An aware datetime, or µs since 1970."""


def when(moment: Moment) -> SafeString | str:
    """``14:01`` today, ``Wed 25 Nov`` this week, else ``14 Oct``, with the year where it is another."""
    at = _local(moment)
    if at is None:
        return UNKNOWN
    today = timezone.localtime(clock.now()).date()
    days = (today - at.date()).days
    if days == 0:
        text = _clock(at)[:5]
    elif 0 < days < 7:
        text = f"{_DAYS[at.weekday()]} {at.day} {_MONTHS[at.month - 1]}"
    elif at.year == today.year:
        text = f"{at.day} {_MONTHS[at.month - 1]}"
    else:
        text = f"{at.day} {_MONTHS[at.month - 1]} {at.year}"
    return _element(at, text)


def clock_time(moment: Moment) -> SafeString | str:
    """``14:01:31``."""
    at = _local(moment)
    return UNKNOWN if at is None else _element(at, _clock(at))


def since(moment: Moment, *, ago: bool = False) -> SafeString | str:
    """How long ago: ``18m``, or ``18m ago``. The page keeps it true (static/js/app.js)."""
    at = _local(moment)
    if at is None:
        return UNKNOWN
    text = wait(clock.to_us(clock.now()) - clock.to_us(at))
    how = "ago" if ago else "wait"
    return _element(at, f"{text} ago" if ago else text, f' data-since="{how}"')


def spelled(at: datetime) -> str:
    """``Thu 26 Nov 2026, 14:01:31 CET``."""
    # Not by strftime, which is what most of a long list's time went into.
    day = f"{_DAYS[at.weekday()]} {at.day} {_MONTHS[at.month - 1]} {at.year:04}"
    return f"{day}, {_clock(at)} {at.tzname()}"


def _element(at: datetime, text: str, more: str = "") -> SafeString:
    made = f'<time datetime="{_machine(at)}" title="{spelled(at)}"{more}>{text}</time>'
    return mark_safe(made)  # noqa: S308 - digits and names of days, months and zones


def _clock(at: datetime) -> str:
    return at.isoformat()[11:19]


def _machine(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()[:19] + "Z"


def _local(moment: Moment) -> datetime | None:
    if moment is None or moment == "":
        return None
    at = clock.from_us(moment) if isinstance(moment, int) else moment
    try:
        return timezone.localtime(at)
    except OverflowError:  # the last hours of the year 9999, seen from the east
        return at
