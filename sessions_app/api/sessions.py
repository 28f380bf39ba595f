"""Sessions: ensured, closed, listed, changed, hidden, purged."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Status
from pydantic import Field

from contextdash.actor import Actor
from contextdash.apikit import (
    Body,
    Paging,
    PatchBody,
    all_listed,
    allow,
    if_match,
    listed,
    once,
    once_told,
    required_if_match,
)
from contextdash.limits import LABELS, PAGE_ROWS
from contextdash.models.token import Scope
from sessions_app.api.found import readable
from sessions_app.api.outs import PurgeOut, SessionList, SessionOut, purge_out, session_item, session_out
from sessions_app.export.answer import answer
from sessions_app.models import Purge, Session
from sessions_app.queries import sessions_api as queries
from sessions_app.queries.sessions import SessionFilter
from sessions_app.services.belonging import project_of_slug
from sessions_app.services.ending import close_session, delete_session, undelete_session
from sessions_app.services.many_sessions import Seen, archive_sessions, delete_sessions
from sessions_app.services.purging import drive_on, open_purges
from sessions_app.services.sessions import TOLD, change_session, ensure_session
from sessions_app.vocabulary import SessionStatus

router = Router(tags=["sessions"])

PURGE_SECONDS = 2.0
"""How long the answer to a purge waits for its end."""


class EnsureIn(Body):
    session_id: str | None = Field(None, description="Left out, a new id is minted.")
    user_request: str | None = None
    title: str | None = None
    branch: str | None = None
    workspace: str | None = None
    agent_name: str | None = None
    client: str | None = None
    host: str | None = None
    provider: str | None = None
    model: str | None = None
    project: str | None = Field(None, description="A project's slug.")
    request_fingerprint: str | None = Field(
        None, description="Of the request that makes the session: no other request finds it then."
    )


class CloseIn(Body):
    status: str = SessionStatus.CLOSED
    reason: str = ""


class ReasonIn(Body):
    reason: str


class UndeleteIn(Body):
    reason: str = ""


class SeenIn(Body):
    id: str
    metadata_version: int


class ManyIn(Body):
    sessions: list[SeenIn] = Field(min_length=1, max_length=PAGE_ROWS)
    reason: str = ""


class ArchiveIn(ManyIn):
    archived: bool = True


class SessionPatch(PatchBody):
    title: str = ""
    user_request: str | None = None
    branch: str | None = None
    workspace: str = ""
    agent_name: str = ""
    client: str = ""
    host: str = ""
    provider: str = ""
    model: str = ""
    project: str | None = None
    pinned: bool = False
    archived: bool = False
    labels: list[str] = Field([], description="They take the place of the whole list.")


class SessionQuery(Paging):
    project: str | None = None
    agent: str | None = None
    client: str | None = None
    owner: str | None = Field(None, description="A username.")
    status: str | None = None
    activity: str | None = None
    branch: str | None = None
    label: list[str] = Field([], max_length=LABELS, description="It has all of these.")
    host: str | None = None
    workspace: str | None = None
    q: str = Field("", max_length=500, description="In the title or request, or the beginning of an id.")


def ensured(actor: Actor, payload: EnsureIn) -> tuple[Session, bool]:
    told = {name: value for name, value in payload.model_dump(include=set(TOLD)).items() if value is not None}
    project = project_of_slug(payload.project)
    return ensure_session(
        actor=actor,
        session_id=payload.session_id,
        project=project,
        told=told,
        fingerprint=payload.request_fingerprint,
    )


@router.post("/ensure", response={200: SessionOut, 201: SessionOut}, summary="Find or make a session")
def ensure(request: HttpRequest, payload: EnsureIn) -> Status[Any]:
    """The session of that id, made when it is unknown; what is told fills what was not known yet."""
    actor = allow(request, Scope.WRITE)
    made = False

    def create() -> Session:
        nonlocal made
        session, made = ensured(actor, payload)
        return session

    session = once(request, actor, Session, create)
    return Status(201 if made else 200, session_out(session))


@router.post("/archive", response=SessionList, summary="Archive sessions")
def archive(request: HttpRequest, payload: ArchiveIn) -> Any:
    """All or none: each must be at the version that is told. What is archived already is left alone."""
    actor = allow(request, Scope.WRITE)

    def act() -> list[str]:
        seen = [Seen(queries.find_session(one.id), one.metadata_version) for one in payload.sessions]
        done = archive_sessions(seen=seen, archived=payload.archived, actor=actor, reason=payload.reason)
        return [session.id for session in done]

    told = once_told(request, actor, "sessions", act)
    return all_listed([queries.any_session(session_id) for session_id in told], session_out)


@router.post("/delete", response={204: None}, summary="Delete sessions")
def delete_many(request: HttpRequest, payload: ManyIn) -> Status[None]:
    """All or none, as ``DELETE`` does with one; each must be at the version that is told."""
    actor = allow(request, Scope.WRITE)

    def act() -> None:
        seen = [Seen(queries.any_session(one.id), one.metadata_version) for one in payload.sessions]
        delete_sessions(seen=seen, actor=actor, reason=payload.reason)

    once_told(request, actor, "sessions", act)
    return Status(204, None)


@router.get("", response=SessionList, summary="Sessions, newest activity first")
def sessions(request: HttpRequest, query: Query[SessionQuery]) -> Any:
    """Subagents' sessions are included; long requests are cut after 2,000 characters."""
    allow(request, Scope.READ)
    wanted = SessionFilter(
        project=query.project,
        agents=(query.agent,) if query.agent else (),
        clients=(query.client,) if query.client else (),
        owner=queries.owner_named(query.owner),
        branch=query.branch or "",
        labels=tuple(query.label),
        text=query.q,
        children=True,
    )
    found = queries.session_page(
        wanted,
        exactly=query.model_dump(include=queries.EXACT, exclude_none=True),
        limit=query.limit,
        cursor=query.cursor,
    )
    return listed(found, session_item)


@router.get("/{session_id}", response=SessionOut, summary="One session")
def session(request: HttpRequest, session_id: str) -> Any:
    """By id, by a beginning that only one id has, or ``latest``. A deleted one for owners, scope admin."""
    actor = allow(request, Scope.READ)
    return session_out(readable(actor, session_id))


@router.patch("/{session_id}", response=SessionOut, summary="Change a session")
def change(request: HttpRequest, session_id: str, payload: SessionPatch) -> Any:
    """Set what is sent. ``If-Match: metadata_version`` is required."""
    actor = allow(request, Scope.WRITE)
    version = required_if_match(request, "metadata_version")
    values = payload.values()
    if "project" in values:
        values["project"] = project_of_slug(values["project"])
    changed = change_session(
        session=queries.find_session(session_id),
        values=values,
        actor=actor,
        reason=payload.reason,
        expected_version=version,
    )
    return session_out(changed)


@router.post("/{session_id}/close", response=SessionOut, summary="Close a session")
def close(request: HttpRequest, session_id: str, payload: CloseIn | None = None) -> Any:
    """Closing twice keeps the first end."""
    actor = allow(request, Scope.WRITE)
    wanted = payload or CloseIn()

    def create() -> Session:
        session = queries.find_session(session_id)
        return close_session(session=session, actor=actor, status=wanted.status, reason=wanted.reason)

    return session_out(once(request, actor, Session, create))


@router.delete("/{session_id}", response={204: None}, summary="Delete a session")
def delete(request: HttpRequest, session_id: str, reason: str = "") -> Status[None]:
    """Hide a session and its subagents and refuse their ids; decisions, mistakes, findings, stories stay.
    With ``If-Match`` only at that ``metadata_version``.
    """
    actor = allow(request, Scope.WRITE)
    session = queries.find_session(session_id)
    delete_session(session=session, actor=actor, reason=reason, expected_version=if_match(request))
    return Status(204, None)


@router.post("/{session_id}/undelete", response=SessionOut, summary="Bring a deleted session back")
def undelete(request: HttpRequest, session_id: str, payload: UndeleteIn | None = None) -> Any:
    """By its whole id, within a day, with the subagents that went with it; 409 ``undo_expired`` later."""
    actor = allow(request, Scope.WRITE)
    reason = payload.reason if payload else ""

    def create() -> Session:
        return undelete_session(session=queries.any_session(session_id), actor=actor, reason=reason)

    return session_out(once(request, actor, Session, create))


@router.get("/{session_id}/export", summary="A session as a file")
def export(request: HttpRequest, session_id: str, format: str = "json") -> Any:  # noqa: A002 - its name outside
    """The session and its subagents, streamed: ``format=json`` with every payload, ``format=md`` to read."""
    actor = allow(request, Scope.READ)
    return answer(readable(actor, session_id), format)


@router.post("/{session_id}/purge", response=PurgeOut, summary="Erase a session's events")
def purge(request: HttpRequest, session_id: str, payload: ReasonIn) -> Any:
    """Erase what the events of the session and its subagents hold; who, what and why are kept. For owners,
    scope admin. What takes long goes on after the answer: ``finished_at`` is null then.
    """
    actor = allow(request, Scope.ADMIN)

    def create() -> Purge:
        return open_purges(session=queries.any_session(session_id), actor=actor, reason=payload.reason)[0]

    return purge_out(drive_on(once(request, actor, Purge, create), seconds=PURGE_SECONDS))
