"""What people do with a session as a whole: pin, archive, delete and take that back."""

from datetime import timedelta

from django.db.models import F

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict
from contextdash.fields import text
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import Session, Tombstone

UNDO_FOR = timedelta(days=1)
"""How long a deleted session can be brought back."""
SLICE_ROWS = 500
"""Tombstones made final in one step."""

FAMILY_DEPTH = 5
"""How deep subagents of subagents are followed."""


@write
def pin_session(*, session: Session, pinned: bool, actor: Actor) -> Session:
    return _change(session, {"pinned": pinned}, actor)


@write
def archive_session(*, session: Session, archived: bool, actor: Actor) -> Session:
    """Lists leave an archived session out unless asked; archiving twice keeps the first time."""
    if archived == (session.archived_at is not None):
        return session
    return _change(session, {"archived_at": clock.now() if archived else None}, actor)


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
    changed = _change(session, {"deleted_at": at}, actor, why, expected_version)
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
    return _change(session, {"deleted_at": None}, actor, reason)


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


def _change(
    session: Session,
    values: dict[str, object],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> Session:
    changed = change_row(
        session,
        values=values,
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        version_field="metadata_version",
    )
    # Open pages of it look again. Its place in the lists stays: nothing happened in it.
    Session.objects.filter(key=session.key).update(ordinal=F("ordinal") + 1)
    return changed


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
