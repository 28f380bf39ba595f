"""How sessions end: closed with all that is open in them, deleted, brought back."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Value
from django.db.models.functions import Coalesce

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict
from contextdash.fields import text, word
from contextdash.writer import write
from sessions_app.models import Run, Session, Tombstone, ToolCall, Turn
from sessions_app.services.sessions import set_fields
from sessions_app.vocabulary import Activity, CallState, RunStatus, SessionStatus

UNDO_FOR = timedelta(days=1)
"""How long a deleted session can be brought back."""
SLICE_ROWS = 500
"""Tombstones made final in one step."""

FAMILY_DEPTH = 5
"""How deep subagents of subagents are followed."""


@write
def close_session(
    *, session: Session, actor: Actor, status: str = SessionStatus.CLOSED, reason: str = ""
) -> Session:
    """End a session: what is open in it is interrupted, its subagents end with it.

    Closing twice keeps the first end; another status is taken over.

    Raises:
        Invalid: the status is empty or too long.
        Stale: somebody changed the session in the meantime.
    """
    at = clock.now()
    values: dict[str, object] = {"status": word(status, "status", chars=40)}
    if session.ended_at is None:
        values["ended_at"] = at
    if session.activity != Activity.ENDED:
        values |= _at_rest(at)
    changed = set_fields(session, values, actor=actor, reason=reason)
    children = Session.objects.filter(key__in=[child.key for child in descendants(session)])
    children.exclude(activity=Activity.ENDED).update(
        **_at_rest(at),
        status=SessionStatus.CLOSED,
        ended_at=Coalesce("ended_at", Value(at)),
        ordinal=F("ordinal") + 1,
    )
    _interrupt_work([session.key, *children.values_list("key", flat=True)], clock.to_us(at))
    return changed


@write
def delete_session(
    *, session: Session, actor: Actor, reason: str, expected_version: int | None = None
) -> Session:
    """Hide a session and its subagents, and refuse their ids from now on.

    Decisions, mistakes, findings and stories stay. Deleting twice keeps the first time.

    Raises:
        Invalid: no reason.
        Stale: it is not at ``expected_version`` any more.
    """
    why = text(reason, "reason")
    if session.deleted_at is not None:
        return session
    at = clock.now()
    changed = set_fields(
        session, {"deleted_at": at}, actor=actor, reason=why, expected_version=expected_version
    )
    children = [child for child in descendants(session) if child.deleted_at is None]
    Session.objects.filter(key__in=[child.key for child in children]).update(deleted_at=at)
    for gone in [session, *children]:
        Tombstone.objects.update_or_create(
            session_id=gone.id,
            defaults={"deleted_at": at, "user": actor.user, "token": actor.token, "reason": why},
        )
    return changed


@write
def undelete_session(*, session: Session, actor: Actor, reason: str = "") -> Session:
    """Bring a deleted session back, with the subagents that went with it.

    Raises:
        Conflict: it was deleted longer than UNDO_FOR ago.
    """
    at = session.deleted_at
    if at is None:
        return session
    final = Tombstone.objects.filter(session_id=session.id).exclude(final_at=None).exists()
    if final or clock.now() - at > UNDO_FOR:
        raise Conflict("It was deleted more than a day ago and stays so.", code="undo_expired")
    children = [child for child in descendants(session) if child.deleted_at == at]
    Tombstone.objects.filter(session_id__in=[session.id, *(child.id for child in children)]).delete()
    Session.objects.filter(key__in=[child.key for child in children]).update(deleted_at=None)
    return set_fields(session, {"deleted_at": None}, actor=actor, reason=reason)


@write
def end_undo() -> bool:
    """The background's step: what was deleted longer than UNDO_FOR ago stays deleted, whatever a clock says.

    Its row, its tombstone and the bytes of its events stay: bytes leave by purge only. True while more is
    left.
    """
    over = Tombstone.objects.filter(final_at=None, deleted_at__lt=clock.now() - UNDO_FOR)
    keys = list(over.order_by("deleted_at").values_list("pk", flat=True)[:SLICE_ROWS])
    Tombstone.objects.filter(pk__in=keys).update(final_at=clock.now())
    return len(keys) == SLICE_ROWS


def _at_rest(at: datetime) -> dict[str, Any]:
    return {
        "activity": Activity.ENDED,
        "activity_since_us": clock.to_us(at),
        "waiting_for": "",
        "current_call": "",
    }


def _interrupt_work(session_keys: list[int], at_us: int) -> None:
    """End turns, runs and calls that are open: nobody works on them any more."""
    runs = Run.objects.filter(session__in=session_keys, status=RunStatus.RUNNING)
    Turn.objects.filter(key__in=runs.values("turn")).update(ended_us=at_us)
    runs.update(status=RunStatus.INTERRUPTED, ended_us=at_us)
    calls = ToolCall.objects.filter(session__in=session_keys, state=CallState.PREPARED)
    calls.update(state=CallState.INTERRUPTED, ended_us=at_us)


def descendants(session: Session) -> list[Session]:
    """Its subagents and theirs, without their texts."""
    found: list[Session] = []
    level = [session.key]
    for _ in range(FAMILY_DEPTH):
        children = list(Session.objects.filter(parent__in=level).only("key", "id", "deleted_at"))
        if not children:
            break
        found += children
        level = [child.key for child in children]
    return found
