"""What hook clients say of their spools: how much still waits on each machine."""

from django.db import connection

from contextdash.cleaning import clean, one_line
from contextdash.writer import write

_SQL = (
    "INSERT INTO spool_reports (host, user_name, waiting, dropped, at_us) VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (host, user_name) DO UPDATE SET waiting = excluded.waiting, dropped = excluded.dropped,"
    " at_us = excluded.at_us WHERE spool_reports.at_us <= excluded.at_us"
)
MOST = 2**31 - 1


@write
def report_spool(*, host: str, user_name: str, waiting: int, dropped: int, at_us: int) -> None:
    """Keep the newest word of a machine; ``at_us`` is when it was received."""
    with connection.cursor() as cursor:
        cursor.execute(
            _SQL,
            [
                one_line(clean(host), 255),
                one_line(clean(user_name), 255),
                min(waiting, MOST),
                min(dropped, MOST),
                at_us,
            ],
        )
