"""Where two values of JSON differ first."""

from collections.abc import Mapping
from typing import Any


def first_difference(mine: Any, other: Any) -> str:
    """The path of the first field that differs; empty where only masked text does."""
    if isinstance(mine, Mapping) and isinstance(other, Mapping):
        for key in sorted({*mine, *other}):
            if key not in mine or key not in other:
                return str(key)
            if mine[key] != other[key]:
                return ".".join(part for part in (str(key), first_difference(mine[key], other[key])) if part)
    return ""
