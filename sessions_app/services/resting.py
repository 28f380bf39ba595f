"""Sessions that nothing but history tells of: transcripts and telemetry say what was, not that it is over."""

from contextdash import clock
from contextdash.clock import from_us
from contextdash.writer import write
from sessions_app.models import Session
from sessions_app.vocabulary import Activity, SessionStatus

RESTS_AFTER_US = 3600 * 1_000_000
"""A session whose hooks are not heard counts as ended when its last record is so old."""
AT_ONCE = 200


@write
def end_resting() -> bool:
    """True while more of them may be left."""
    resting = Session.objects.filter(
        activity=Activity.IDLE,
        activity_since_us=0,  # no hook has moved it
        status=SessionStatus.ACTIVE,
        started_only=False,
        deleted_at=None,
        last_us__lt=clock.now_us() - RESTS_AFTER_US,
    )
    found = list(resting.only("key", "last_us", "ordinal")[:AT_ONCE])
    for session in found:
        session.activity = Activity.ENDED
        session.ended_at = from_us(session.last_us)
        session.ordinal += 1
    Session.objects.bulk_update(found, ["activity", "ended_at", "ordinal"])
    return len(found) == AT_ONCE
