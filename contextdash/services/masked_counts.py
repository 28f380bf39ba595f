"""How many secrets were masked: counted in memory where it happens, written down a few at a time."""

from collections import Counter

from django.db import connection

from contextdash import clock, redaction
from contextdash.writer import write

_SQL = (
    "INSERT INTO masked_counts (kind, count, last_at) VALUES (%s, %s, %s) ON CONFLICT (kind) DO UPDATE"
    " SET count = masked_counts.count + excluded.count, last_at = excluded.last_at"
)


def write_counts() -> bool:
    """Add what this process has counted; False, since nothing is left then."""
    counts = redaction.take_counts()
    if counts:
        try:
            _add(counts=counts)
        except Exception:
            redaction.put_back(counts)
            raise
    return False


@write
def _add(*, counts: Counter[str]) -> None:
    at = connection.ops.adapt_datetimefield_value(clock.now())
    # In one order everywhere, so that on PostgreSQL no two processes wait for each other's row.
    rows = [(kind, count, at) for kind, count in sorted(counts.items())]
    with connection.cursor() as cursor:
        cursor.executemany(_SQL, rows)
