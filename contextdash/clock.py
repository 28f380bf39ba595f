"""One clock and one parser for every time that comes from outside.

Inside, high-volume tables hold integer microseconds since 1970 (UTC); people's nouns hold aware datetimes.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from time import time_ns

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_US = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z, the last moment datetime can hold

_ISO = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<h>\d{2}):(?P<m>\d{2})(?::(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?)?"
    r"\s*(?P<zone>[Zz]|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?",
    re.ASCII,
)
_USUAL = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
"""Of the forms below the one that the library reads alike, five times as fast: every line of a transcript."""
_NUMBER = re.compile(r"-?\d{1,19}(?:\.\d{1,9})?", re.ASCII)
_WINDOW = re.compile(r"(\d{1,6})([smhd])", re.ASCII)
_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def now() -> datetime:
    return datetime.now(UTC)


def now_us() -> int:
    """Microseconds since 1970, UTC."""
    return time_ns() // 1000


def to_us(moment: datetime) -> int:
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def from_us(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=max(0, min(us, MAX_US)))


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with six fraction digits and ``Z``, the form the API answers with."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_us(value: object) -> int | None:
    """Microseconds since 1970 of a time as any client writes it, or None when it is not one.

    Knows ISO 8601 with 0 to 9 fraction digits, an offset or none (then UTC), a space for the ``T``, a date
    alone, leap second ``:60`` (read as the next second), and epoch seconds or milliseconds as number or text.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_number(float(value)) if isinstance(value, float) else _from_int(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _USUAL.fullmatch(text):
        try:
            us = to_us(datetime.fromisoformat(text))
            return us if 0 <= us <= MAX_US else None
        except (ValueError, OverflowError):
            pass  # a leap second, or no time at all
    if _NUMBER.fullmatch(text):
        return _from_int(int(text)) if "." not in text else _from_number(float(text))
    found = _ISO.fullmatch(text)
    return _from_iso(found) if found else None


def parse_time(value: object) -> datetime | None:
    us = parse_us(value)
    return None if us is None else from_us(us)


def parse_window(text: str) -> timedelta | None:
    """A length of time such as ``90s``, ``30m``, ``2h`` or ``7d``; None when it is not one."""
    found = _WINDOW.fullmatch(text.strip())
    if not found:
        return None
    return timedelta(seconds=int(found[1]) * _UNIT[found[2]])


def window_text(window: timedelta) -> str:
    """The length as ``parse_window`` reads it: ``90s``, ``30m``, ``2h``, ``7d``."""
    seconds = round(window.total_seconds())
    for unit, length in reversed(_UNIT.items()):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def window_words(window: timedelta) -> str:
    """The length for people: ``2 hours``, ``30 minutes``."""
    text = window_text(window)
    count, name = int(text[:-1]), {"s": "second", "m": "minute", "h": "hour", "d": "day"}[text[-1]]
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _from_int(number: int) -> int | None:
    # Seconds until the year 5138, milliseconds from 1973: no client means anything else by such numbers.
    if not 0 <= number <= MAX_US:
        return None
    if number < 10**11:
        return number * 1_000_000
    if number < 10**14:
        return number * 1000
    return number


def _from_number(number: float) -> int | None:
    if not 0 <= number < 10**14:  # also refuses NaN and infinity
        return None
    return round(number * 1_000_000) if number < 10**11 else round(number * 1000)


def _from_iso(found: re.Match[str]) -> int | None:
    second = int(found["s"] or 0)
    if second > 60:
        return None
    try:
        day = datetime.fromisoformat(found["date"]).replace(tzinfo=_zone(found["zone"]))
        moment = day.replace(hour=int(found["h"] or 0), minute=int(found["m"] or 0))
        us = to_us(moment)
    except (ValueError, OverflowError):
        return None
    fraction = int((found["f"] or "0").ljust(9, "0")[:6])
    us += second * 1_000_000 + fraction
    return us if 0 <= us <= MAX_US else None


def _zone(text: str | None) -> timezone:
    if not text or text in "Zz":
        return UTC
    sign = -1 if text[0] == "-" else 1
    digits = text[1:].replace(":", "").ljust(4, "0")
    return timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))
