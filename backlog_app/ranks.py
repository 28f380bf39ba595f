"""Rank keys: text that orders a column, with room for another key between any two.

A key is the digits of a fraction between 0 and 1, without a zero at its end. Digits alone, because they are
what every collation of SQLite and PostgreSQL sorts alike. A key at an end of the column is a whole step from
its neighbour, so that appending does not make keys longer; only insertions between two neighbours do.
"""

HEAD = 8
"""How many digits a key has until insertions between neighbours make it longer."""
SCALE = 10**HEAD
STEP = 1000
LONGEST = 40
"""A column in which a key would become longer is spread out anew."""


def between(low: str, high: str | None) -> str:
    """A key above ``low`` (empty: the beginning) and below ``high`` (None: the end)."""
    if high is None:
        head = _head(low) if low else SCALE // 2 - STEP
        return _key(head + STEP) if head + STEP < SCALE else _middle(low, None)
    if not low and _head(high) > STEP:
        return _key(_head(high) - STEP)
    return _middle(low, high)


def spread(count: int) -> list[str]:
    """``count`` keys in order, as far apart as they fit."""
    width = max(HEAD, len(str(count)) + 4)
    gap = 10**width // (count + 1)
    return [f"{gap * n:0{width}d}".rstrip("0") for n in range(1, count + 1)]


def _head(key: str) -> int:
    return int(key[:HEAD].ljust(HEAD, "0"))


def _key(head: int) -> str:
    return f"{head:0{HEAD}d}".rstrip("0")


def _middle(low: str, high: str | None) -> str:
    """The middle of two keys, cut to the fewest digits that are still above ``low``."""
    digits = max(len(low), len(high or "")) + 1
    floor = int(low.ljust(digits, "0"))
    ceiling = int(high.ljust(digits, "0")) if high is not None else 10**digits
    middle = f"{(floor + ceiling) // 2:0{digits}d}"
    for length in range(1, digits):
        if middle[:length].rstrip("0") > low:
            return middle[:length].rstrip("0")
    return middle.rstrip("0")
