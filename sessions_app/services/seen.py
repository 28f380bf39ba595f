"""What a person has seen of sessions: marks that only move on."""

from collections.abc import Mapping

from django.db import connection

from contextdash import clock
from contextdash.models import User
from contextdash.writer import write
from sessions_app.models import Session

_SQL = """
    INSERT INTO seen_marks (user_id, session_id, seen_us, listed_us, at_us) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (user_id, session_id) DO UPDATE SET
        seen_us = CASE WHEN excluded.seen_us > seen_marks.seen_us
            THEN excluded.seen_us ELSE seen_marks.seen_us END,
        listed_us = CASE WHEN excluded.listed_us > seen_marks.listed_us
            THEN excluded.listed_us ELSE seen_marks.listed_us END,
        at_us = excluded.at_us
"""


@write
def see_timeline(*, user: User, session: Session, up_to_us: int) -> None:
    """The rows of a timeline up to a moment were on the person's screen."""
    now_us = clock.now_us()
    _mark([(user.pk, session.key, min(up_to_us, now_us), 0, now_us)])


@write
def see_rows(*, user: User, last_us: Mapping[int, int]) -> None:
    """Rows of the list were on the person's screen: by key the last event that each told.

    Unknown keys are left out. What lies in the future has not been seen, so that a wrong clock hides nothing.
    """
    now_us = clock.now_us()
    known = Session.objects.filter(key__in=last_us).order_by("key").values_list("key", flat=True)
    _mark([(user.pk, key, 0, min(last_us[key], now_us), now_us) for key in known])


def _mark(rows: list[tuple[int, int, int, int, int]]) -> None:
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_SQL, rows)
