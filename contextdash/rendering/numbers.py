"""Figures as the pages write them: units attached, unknown is a dash."""

UNKNOWN = "—"
_SIZES = ("B", "KB", "MB", "GB", "TB")


def duration(us: int | None) -> str:
    """µs as ``380ms``, ``1.2s``, ``2m 41s``, ``3h 02m`` or ``2d 04h``; a negative length is unknown."""
    if us is None or us < 0:
        return UNKNOWN
    if us < 999_500:
        return f"{round(us / 1000)}ms" if us >= 1000 or us == 0 else "<1ms"
    if us < 59_950_000:
        return f"{us / 1_000_000:.1f}s"
    seconds = round(us / 1_000_000)
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02}s"
    return _hours(seconds // 60)


def wait(us: int) -> str:
    """How long something has been waiting, from µs: ``42s``, ``18m``, ``1h 12m``, ``2d``."""
    seconds = max(0, us) // 1_000_000
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 86_400:
        return f"{seconds // 3600}h {seconds // 60 % 60:02}m"
    return f"{seconds // 86_400:,}d"


def number(value: float | None) -> str:
    """``1,204``; a fraction keeps one digit."""
    if value is None:
        return UNKNOWN
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def compact(value: int | None) -> str:
    """Three significant digits: ``999``, ``72.1k``, ``720k``, ``1.84M``."""
    if value is None:
        return UNKNOWN
    if abs(value) < 1000:
        return str(value)
    scaled, unit = float(value), ""
    for unit in ("k", "M", "B", "T"):
        scaled /= 1000
        if abs(scaled) < 999.5 or unit == "T":
            break
    digits = max(0, 3 - len(str(int(abs(scaled)))))
    text = f"{scaled:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + unit


def money(micro: int | None) -> str:
    """Micro-dollars as dollars: ``$0.04``, ``$1,204``; below a cent ``<$0.01``; unknown is never 0."""
    if micro is None:
        return UNKNOWN
    if 0 < micro < 10_000:
        return "<$0.01"
    dollars = micro / 1_000_000
    return f"${dollars:,.0f}" if dollars >= 1000 else f"${dollars:,.2f}"


def size(value: int | None) -> str:
    """Bytes: ``412 B``, ``1.2 KB``, ``16 MB``; a KB has 1,024."""
    if value is None:
        return UNKNOWN
    scaled, unit = float(value), 0
    while abs(scaled) >= 1024 and unit < len(_SIZES) - 1:
        scaled /= 1024
        unit += 1
    text = f"{scaled:,.1f}".removesuffix(".0") if unit and abs(scaled) < 100 else f"{scaled:,.0f}"
    return f"{text} {_SIZES[unit]}"


def _hours(minutes: int) -> str:
    if minutes < 1440:
        return f"{minutes // 60}h {minutes % 60:02}m"
    return f"{minutes // 1440:,}d {minutes // 60 % 24:02}h"
