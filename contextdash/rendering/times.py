"""Times as the pages write them, in the reader's zone, always with the whole moment in ``title``."""

from datetime import datetime

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from contextdash import clock
from contextdash.rendering.numbers import UNKNOWN, wait

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
        text = at.strftime("%H:%M")
    elif 0 < days < 7:
        text = f"{at:%a} {at.day} {at:%b}"
    elif at.year == today.year:
        text = f"{at.day} {at:%b}"
    else:
        text = f"{at.day} {at:%b} {at.year}"
    return _element(at, text)


def clock_time(moment: Moment) -> SafeString | str:
    """``14:01:31``."""
    at = _local(moment)
    return UNKNOWN if at is None else _element(at, at.strftime("%H:%M:%S"))


def since(moment: Moment, *, ago: bool = False) -> SafeString | str:
    """How long ago: ``18m``, or ``18m ago``. The page keeps it true (static/js/app.js)."""
    at = _local(moment)
    if at is None:
        return UNKNOWN
    text = wait(clock.to_us(clock.now()) - clock.to_us(at))
    return format_html(
        '<time datetime="{}" title="{}" data-since="{}">{}</time>',
        _machine(at),
        spelled(at),
        "ago" if ago else "wait",
        f"{text} ago" if ago else text,
    )


def spelled(at: datetime) -> str:
    """``Thu 26 Nov 2026, 14:01:31 CET``."""
    return f"{at:%a} {at.day} {at:%b} {at.year:04}, {at:%H:%M:%S %Z}"


def _element(at: datetime, text: str) -> SafeString:
    return format_html('<time datetime="{}" title="{}">{}</time>', _machine(at), spelled(at), text)


def _machine(at: datetime) -> str:
    return clock.iso(at)[:19] + "Z"


def _local(moment: Moment) -> datetime | None:
    if moment is None or moment == "":
        return None
    at = clock.from_us(moment) if isinstance(moment, int) else moment
    try:
        return timezone.localtime(at)
    except OverflowError:  # the last hours of the year 9999, seen from the east
        return at
