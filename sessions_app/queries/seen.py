"""What a person has seen of sessions, and what is new to them."""

from collections.abc import Collection, Mapping

from django.db.models import Max
from django.db.models.functions import Greatest

from contextdash import clock
from contextdash.models import User
from sessions_app.models import SeenMark, Session
from sessions_app.queries.sessions import SessionRow


def timeline_seen_us(user: User, session: Session) -> int | None:
    """Up to where they saw this session's timeline; None when they never did."""
    marks = SeenMark.objects.filter(user=user, session=session, seen_us__gt=0)
    return marks.values_list("seen_us", flat=True).first()


def unseen_keys(user: User, sessions: Collection[SessionRow]) -> frozenset[int]:
    """Of these sessions the keys of those that changed since the person saw them, or since they joined."""
    joined_us = clock.to_us(user.date_joined)
    later = {session.key: session.last_us for session in sessions if session.last_us > joined_us}
    if not later:
        return frozenset()
    marks = SeenMark.objects.filter(user=user, session__in=later)
    seen = dict(marks.values_list("session_id", Greatest("seen_us", "listed_us")))
    return frozenset(key for key, last_us in later.items() if last_us > seen.get(key, 0))


def last_looks() -> Mapping[int, int]:
    """When each person looked at sessions last (µs), by their number."""
    rows = SeenMark.objects.order_by().values("user_id").annotate(newest=Max("at_us"))
    return {row["user_id"]: row["newest"] for row in rows}
