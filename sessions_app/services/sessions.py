"""Sessions as writers need them: found or made by id, told more about, changed, and their counters kept."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest

from contextdash import clock, ids
from contextdash.actor import Actor
from contextdash.cleaning import clean, one_line
from contextdash.errors import Conflict, Invalid
from contextdash.fields import optional_text, word
from contextdash.limits import HOST_CHARS, PLACE_CHARS, TITLE_CHARS
from contextdash.redaction import mask
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import (
    Project,
    Session,
    SessionCreateClaim,
    SessionState,
    Tombstone,
    Workspace,
)
from sessions_app.services import places
from sessions_app.services.claim_ids import claim_id
from sessions_app.services.labels import as_text, checked_labels, labels_of, replace_labels
from sessions_app.vocabulary import Activity

_WORD_CHARS = {
    "agent_name": 200,
    "client": 40,
    "host": HOST_CHARS,
    "provider": 100,
    "model": 200,
    "workspace": PLACE_CHARS,
    "branch": 255,
}
"""The short texts that a writer may tell about a session, each as long as its column."""

TOLD = frozenset({*_WORD_CHARS, "title", "user_request"})
CHANGEABLE = TOLD | {"project", "pinned", "archived", "labels"}


@write
def ensure_session(
    *,
    actor: Actor,
    session_id: str | None = None,
    project: Project | None = None,
    told: Mapping[str, str | None] | None = None,
    fingerprint: str | None = None,
) -> tuple[Session, bool]:
    """The session of that id, and whether it was made just now; without an id a new one is minted.

    What is told (fields of TOLD) fills what a session that exists does not know yet; nothing is overwritten,
    and a closed session stays closed. Without a project it gets the one that is known of its workspace.
    With the fingerprint of a request it is found only by the request that made it.

    Raises:
        Conflict: it was deleted, or made by another request (``identity_mismatch``).
        Invalid: the id is empty, a field is unknown or too long.
    """
    values = _told(told or {})
    raw_id = ids.mint() if session_id is None else session_id
    agent_name = values.get("agent_name") or "main"
    session, made = _found_or_made(session_id=raw_id, actor=actor, agent_name=agent_name)
    if fingerprint is not None:
        _claim(session, claim_id(fingerprint, "request_fingerprint"), made=made)
    fresh: dict[str, object] = {
        name: value for name, value in values.items() if value and not getattr(session, name)
    }
    if made and values.get("agent_name"):
        fresh["agent_name"] = agent_name
    if not session.title and "title" not in fresh and fresh.get("user_request"):
        fresh["title"] = one_line(str(fresh["user_request"]), TITLE_CHARS)
    if session.project_id is None:
        project = project or _project_at(
            host=session.host or values.get("host") or "",
            root=session.workspace or values.get("workspace") or "",
        )
        if project is not None:
            fresh["project"] = project
    if fresh:
        Session.objects.filter(key=session.key).update(**fresh, ordinal=F("ordinal") + 1)
        session.refresh_from_db()
    return session, made


@write
def change_session(
    *,
    session: Session,
    values: Mapping[str, object],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> Session:
    """Set fields of CHANGEABLE. ``project`` is a Project or None, ``pinned`` and ``archived`` are flags,
    ``labels`` a list that takes the place of the whole one.

    Raises:
        Invalid: another field is named, or a value is not acceptable.
        Stale: it is not at ``expected_version`` any more.
    """
    unknown = values.keys() - CHANGEABLE
    if unknown:
        name = min(unknown)
        raise Invalid(f"{name} of a session cannot be changed.", field=name)
    checked: dict[str, object] = dict(_told({name: values[name] for name in TOLD & values.keys()}))
    if "agent_name" in checked and not checked["agent_name"]:
        raise Invalid("agent_name must not be empty.", field="agent_name")
    for name in ("project", "pinned"):
        if name in values:
            checked[name] = values[name]
    if isinstance(project := values.get("project", session.project), Project | None):
        places.move(session, project)
    # Archiving twice keeps the first time.
    if "archived" in values and bool(values["archived"]) != (session.archived_at is not None):
        checked["archived_at"] = clock.now() if values["archived"] else None
    labels = checked_labels(values["labels"]) if "labels" in values else None
    return set_fields(
        session, checked, actor=actor, reason=reason, expected_version=expected_version, labels=labels
    )


def named_session(*, session_id: str, actor: Actor, agent_name: str = "main") -> Session:
    """The session of that id, made when it is unknown. Call it inside a write.

    Raises:
        Conflict: it was deleted.
        Invalid: the id is empty.
    """
    return _found_or_made(session_id=session_id, actor=actor, agent_name=agent_name)[0]


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


def set_fields(
    session: Session,
    values: Mapping[str, object],
    *,
    actor: Actor,
    reason: str,
    expected_version: int | None = None,
    labels: Sequence[str] | None = None,
) -> Session:
    """Set checked columns and labels, write the history, let open pages look again. Call it inside a write.

    Raises:
        Stale: it is not at ``expected_version`` any more.
    """
    before = session.metadata_version
    kept = labels_of(session) if labels is not None else []
    change_row(
        session,
        values=values,
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        version_field="metadata_version",
        unrecorded=frozenset({"activity", "activity_since_us", "waiting_for", "current_call"}),
        elsewhere={} if labels is None else {"labels": (as_text(kept), as_text(labels))},
    )
    if labels is not None and list(labels) != kept:
        replace_labels(session, labels)
    if session.metadata_version != before:
        # Open pages of it look again; its place in the lists stays, since nothing happened in it.
        Session.objects.filter(key=session.key).update(ordinal=F("ordinal") + 1)
        session.ordinal += 1
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


def _found_or_made(*, session_id: str, actor: Actor, agent_name: str) -> tuple[Session, bool]:
    if not session_id.strip():
        raise Invalid("session_id must not be empty.", field="session_id")
    stored_id, raw_id = ids.session_id(session_id)
    found = Session.objects.filter(id=stored_id).first()
    if Tombstone.objects.filter(session_id=stored_id).exists() or (found and found.deleted_at):
        raise Conflict(f"Session {stored_id} was deleted; its id is not used again.", code="deleted_session")
    if found is not None:
        return found, False
    # The digest was of the raw id; what is kept of it must be storable and tell no secret.
    external_id = mask(clean(raw_id))
    try:
        with transaction.atomic():
            made = create_session(
                session_id=stored_id, external_id=external_id, actor=actor, agent_name=agent_name
            )
    except IntegrityError:  # PostgreSQL: somebody else made it at this very moment
        return Session.objects.get(id=stored_id), False
    return made, True


def _claim(session: Session, fingerprint: str, *, made: bool) -> None:
    """The first request that asked for the id has it."""
    if made:
        SessionCreateClaim.objects.create(
            session_id=session.id, request_fingerprint=fingerprint, claimed_us=clock.now_us()
        )
        return
    claim = SessionCreateClaim.objects.filter(session_id=session.id).first()
    if claim is None or claim.request_fingerprint != fingerprint:
        raise Conflict(
            f"Session {session.id} was made by another request. Use a new id.",
            field="request_fingerprint",
            code="identity_mismatch",
        )


def _project_at(*, host: str, root: str) -> Project | None:
    """The project of a workspace; where hooks never told of it, the project that names the same root."""
    if not root:
        return None
    workspace = Workspace.objects.filter(host=host, root=root).select_related("project").first()
    if workspace is not None and workspace.project is not None:
        return workspace.project
    return Project.objects.filter(root=root).first()


def _told(values: Mapping[str, Any]) -> dict[str, str | None]:
    checked: dict[str, str | None] = {}
    for name, value in values.items():
        if name == "user_request":
            checked[name] = optional_text(value, name)
        elif name == "title":
            checked[name] = one_line(mask(clean(value or "")), TITLE_CHARS)
        elif name in _WORD_CHARS:
            checked[name] = word(value, name, chars=_WORD_CHARS[name], required=False)
        else:
            raise Invalid(f"{name} is no field of a session.", field=name)
    return checked
