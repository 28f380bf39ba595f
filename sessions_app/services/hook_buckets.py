"""Deliveries counted by client and event in quarters of an hour (UTC), for the Hooks page."""

# ruff: noqa: S608 - the text is made of our own names and of %s marks

from collections import Counter

from django.db import connection

QUARTER_US = 15 * 60 * 1_000_000

_FIELDS = ("accepted", "duplicate", "refused", "unknown")
_SQL = (
    "INSERT INTO hook_buckets (start_us, client, event, accepted, duplicate, refused, unknown, last_us)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (start_us, client, event) DO UPDATE SET "
    + ", ".join(f"{name} = hook_buckets.{name} + excluded.{name}" for name in _FIELDS)
    + ", last_us = CASE WHEN excluded.last_us > hook_buckets.last_us"
    " THEN excluded.last_us ELSE hook_buckets.last_us END"
)


class Counts:
    """What a batch adds to the buckets."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, str, str], Counter[str]] = {}
        self._last_us: dict[tuple[int, str, str], int] = {}

    def add(self, received_us: int, client: str, event: str, field: str) -> None:
        """One delivery more of ``field``: accepted, duplicate, refused or unknown."""
        key = (received_us - received_us % QUARTER_US, client, event)
        self._counts.setdefault(key, Counter())[field] += 1
        self._last_us[key] = max(received_us, self._last_us.get(key, 0))

    def rows(self) -> list[tuple[int | str, ...]]:
        # In one order everywhere, so that on PostgreSQL no two writers wait for each other's row.
        return [
            (*key, *(self._counts[key][name] for name in _FIELDS), self._last_us[key])
            for key in sorted(self._counts)
        ]


def add_counts(counts: Counts) -> None:
    """Add them, with one statement for all. Call it last in a write: everybody's deliveries meet here."""
    rows = counts.rows()
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_SQL, rows)
