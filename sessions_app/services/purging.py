"""Erasing what a session's events hold, through the ledger's door: who, what and why are written first."""

from django.db.models import F

from contextdash import clock
from contextdash.actor import Actor
from contextdash.fields import text
from contextdash.writer import write
from sessions_app.models import Event, Purge, Session

SLICE_EVENTS = 500
"""Events erased in one transaction: some tens of milliseconds, so that writers do not wait."""


def purge_session(*, session: Session, actor: Actor, reason: str) -> Purge:
    """Erase every event of a session. Turns, summaries of calls and what events meant stay.

    A purge that was cut short is seen by its missing end; purging again erases the rest.

    Raises:
        Invalid: there is no reason.
    """
    purge = _open(session=session, actor=actor, reason=reason)
    while _erase_slice(purge=purge, session=session) == SLICE_EVENTS:
        pass
    return _close(purge=purge, session=session)


@write
def _open(*, session: Session, actor: Actor, reason: str) -> Purge:
    return Purge.objects.create(
        session_key=session.key,
        user=actor.user,
        token=actor.token,
        reason=text(reason, "reason"),
        started_at=clock.now(),
    )


@write
def _erase_slice(*, purge: Purge, session: Session) -> int:
    keys = list(Event.objects.filter(session=session).values_list("key", flat=True)[:SLICE_EVENTS])
    if not keys:
        return 0
    # Raw: what referred to an event stays and Django has nothing to collect.
    erased = Event.objects.filter(key__in=keys)._raw_delete(using="default")
    Purge.objects.filter(pk=purge.pk).update(events_deleted=F("events_deleted") + erased)
    return erased


@write
def _close(*, purge: Purge, session: Session) -> Purge:
    Purge.objects.filter(session_key=session.key, finished_at=None).update(finished_at=clock.now())
    Session.objects.filter(key=session.key).update(ordinal=F("ordinal") + 1)
    purge.refresh_from_db()
    return purge
