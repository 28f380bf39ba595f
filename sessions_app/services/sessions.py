"""Sessions as writers need them: found or made by id, closed, and their counters kept."""

from django.db.models import F, Value
from django.db.models.functions import Greatest

from contextdash import clock, ids
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid
from sessions_app.models import Session, SessionState, Tombstone
from sessions_app.vocabulary import Activity


def named_session(*, session_id: str, actor: Actor, agent_name: str = "main") -> Session:
    """The session of that id, made when it is unknown. Call it inside a write.

    Raises:
        Conflict: it was deleted.
        Invalid: the id is empty.
    """
    if not session_id.strip():
        raise Invalid("session_id must not be empty.", field="session_id")
    stored_id, external_id = ids.session_id(session_id)
    found = Session.objects.filter(id=stored_id).first()
    if Tombstone.objects.filter(session_id=stored_id).exists() or (found and found.deleted_at):
        raise Conflict(f"Session {stored_id} was deleted; its id is not used again.", code="deleted_session")
    if found is not None:
        return found
    return create_session(session_id=stored_id, external_id=external_id, actor=actor, agent_name=agent_name)


def create_session(
    *, session_id: str, actor: Actor, external_id: str = "", agent_name: str = "main", **values: object
) -> Session:
    """A new session with its version 0. Call it inside a write."""
    at_us = clock.now_us()
    started = clock.from_us(at_us)
    session = Session.objects.create(
        id=session_id,
        external_id=external_id,
        agent_name=agent_name,
        owner=actor.user,
        started_at=started,
        started_us=at_us,
        last_us=at_us,
        activity=Activity.IDLE,
        activity_since_us=at_us,
        **values,
    )
    SessionState.objects.create(session=session, version=0, created_us=at_us)
    return session


def touch(session: Session, **counters: int) -> None:
    """Say that something was written to a session: its live version, its newest time, its counters.

    ``touch(session, message_count=1)`` adds one. Call it inside the write.
    """
    Session.objects.filter(key=session.key).update(
        ordinal=F("ordinal") + 1,
        last_us=Greatest(F("last_us"), Value(clock.now_us())),
        started_only=False,
        **{name: F(name) + by for name, by in counters.items()},
    )
