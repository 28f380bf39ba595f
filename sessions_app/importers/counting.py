"""What readers remember of a file, bounded: a hostile file fills no memory."""

from collections.abc import Mapping
from typing import Any

from contextdash.limits import TOKENS_OF_CALL

LISTED = 500
"""How many of a kind (files, commands, addresses, types) are remembered of one file."""


def count(facts: dict[str, Any], name: str, key: str) -> None:
    counts = facts.setdefault(name, {})
    if key in counts or len(counts) < LISTED:
        counts[key] = counts.get(key, 0) + 1


def listed(facts: dict[str, Any], name: str, value: str) -> None:
    """Remember a value once."""
    known = facts.setdefault(name, [])
    if value and value not in known and len(known) < LISTED:
        known.append(value)


def remember(state: dict[str, Any], name: str, key: str, value: object) -> None:
    """Keep until its result comes; the oldest give way, some never get one."""
    kept = state.setdefault(name, {})
    kept[key] = value
    while len(kept) > LISTED:
        del kept[next(iter(kept))]


def tokens(body: Mapping[str, Any], key: str) -> int:
    """A number of tokens; 0 where there is none that can be believed."""
    value = body.get(key)
    if value is None or not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if 0 <= value <= TOKENS_OF_CALL else 0
