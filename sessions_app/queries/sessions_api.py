"""Sessions as programs read them: by id, prefix or ``latest``, with their turns, events and calls."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Substr

from contextdash import ids
from contextdash.decoding import decode_json
from contextdash.errors import Conflict, Malformed, NotFound
from contextdash.limits import REQUEST_TEXT_CHARS
from contextdash.models import User
from contextdash.paging import Page, page
from sessions_app.models import Event, Project, Session, ToolCall, Turn, Workspace, WorkspaceFocus
from sessions_app.queries.sessions import SessionFilter, filtered

PREFIX_CHARS = 4
"""The shortest beginning of an id that is looked for."""

EXACT = {"status", "activity", "host", "workspace"}
"""Columns that the list of sessions is filtered by as they are."""

PROJECT_ROWS = 1000
"""The most projects or workspaces that one answer lists."""


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """An event and its decoded payload; None and ``cut`` where that is too large to send along."""

    event: Event
    payload: Any
    cut: bool


def session_page(
    wanted: SessionFilter, *, exactly: Mapping[str, str], limit: int, cursor: str | None
) -> Page[Session]:
    """Newest activity first; ``exactly`` holds values of columns in EXACT.

    ``request_head`` holds REQUEST_TEXT_CHARS and one more character.
    """
    rows = (
        filtered(wanted)
        .filter(**exactly)
        .select_related("project", "owner", "parent")
        .prefetch_related("labels")
        .annotate(request_head=Substr("user_request", 1, REQUEST_TEXT_CHARS + 1))
        .defer("user_request")
    )
    return page(rows, limit=limit, cursor=cursor, time_field="last_us", id_field="key")


def owner_named(username: str | None) -> User | None:
    """Raises NotFound for a name that nobody has."""
    if not username:
        return None
    found = User.objects.filter(username=username).first()
    if found is None:
        raise NotFound(f"There is nobody called {username!r}.")
    return found


def find_session(reference: str) -> Session:
    """The session of an id, of the only id that begins so, or the newest one for ``latest``.

    Raises:
        NotFound: there is none, or it was deleted.
        Conflict: several ids begin so.
    """
    rows = Session.objects.select_related("project", "owner", "parent").filter(deleted_at=None)
    if reference == "latest":
        newest = rows.order_by("-last_us", "-key").first()
        if newest is None:
            raise NotFound("There is no session yet.")
        return newest
    stored_id, _ = ids.session_id(reference)
    exact = rows.filter(id=stored_id).first()
    if exact is not None:
        return exact
    alike = list(_beginning_with(rows, reference)[:3]) if len(reference) >= PREFIX_CHARS else []
    if len(alike) > 1:
        raise Conflict(f"Several sessions begin with {reference}. Send more of the id.", code="ambiguous")
    if not alike:
        raise NotFound(f"There is no session {reference[:128]}.")
    return alike[0]


def any_session(session_id: str) -> Session:
    """The session of exactly that id, deleted or not: what is to be erased is named in full.

    Raises:
        NotFound: there is none.
    """
    found = Session.objects.filter(id=ids.session_id(session_id)[0]).first()
    if found is None:
        raise NotFound(f"There is no session {session_id[:128]}.")
    return found


def session_id_of(reference: str | None) -> str | None:
    """The id that a list's ``session`` filter means; None without one. Nobody's id finds no rows."""
    if not reference:
        return None
    try:
        return find_session(reference).id
    except NotFound:
        return ids.session_id(reference)[0]


def turn_page(session: Session, *, limit: int, cursor: str | None) -> Page[Turn]:
    """Newest first, each with its runs."""
    rows = Turn.objects.filter(session=session).select_related("session").prefetch_related("runs")
    return page(rows, limit=limit, cursor=cursor, time_field="started_us", id_field="key")


def turn(key: int, *, deleted: bool = False) -> Turn:
    """Raises NotFound for one that is not there; ``deleted``: also of a session that was."""
    rows = Turn.objects.select_related("session").prefetch_related("runs")
    found = rows.filter(key=key).first()
    if found is None or (found.session.deleted_at is not None and not deleted):
        raise NotFound(f"There is no turn {key}.")
    return found


def call_page(session: Session, *, state: str | None, limit: int, cursor: str | None) -> Page[ToolCall]:
    """Newest first."""
    rows = ToolCall.objects.filter(session=session).select_related("child", "run")
    if state:
        rows = rows.filter(state=state)
    return page(rows, limit=limit, cursor=cursor, time_field="started_us", id_field="key")


def event(session: Session, ordinal: int) -> ReadEvent:
    """One event with its whole payload. Raises NotFound for one that is not there."""
    found = Event.objects.select_related("run").filter(session=session, ordinal=ordinal).first()
    if found is None:
        raise NotFound(f"There is no event {ordinal} in this session.")
    return ReadEvent(found, payload_value(found.payload), False)


def projects(*, archived: bool = False) -> Sequence[Project]:
    """In the order that people chose; archived ones only where they are asked for."""
    rows = Project.objects.all() if archived else Project.objects.filter(archived_at=None)
    return list(rows.order_by("position", "pk")[:PROJECT_ROWS])


def project(reference: str) -> Project:
    """The project of a slug or number. Raises NotFound for one that is not there."""
    found = Project.objects.filter(slug=reference).first()
    if found is None and reference.isascii() and reference.isdigit() and len(reference) < 19:
        found = Project.objects.filter(pk=int(reference)).first()
    if found is None:
        raise NotFound(f"There is no project {reference!r}.")
    return found


def workspaces(
    project_slug: str | None, *, repo: str | None = None, state: str | None = None
) -> Sequence[Workspace]:
    """Newest first."""
    rows = _workspaces()
    if project_slug:
        rows = rows.filter(project__slug=project_slug)
    if repo:
        rows = rows.filter(repo=repo)
    if state:
        rows = rows.filter(state=state)
    return list(rows.order_by("-created_at", "-pk")[:PROJECT_ROWS])


def workspace(key: int) -> Workspace:
    """Raises NotFound for one that is not there."""
    found = _workspaces().filter(pk=key).first()
    if found is None:
        raise NotFound(f"There is no workspace {key}.")
    return found


def _workspaces() -> QuerySet[Workspace]:
    """Each with ``in_focus``."""
    focus = WorkspaceFocus.objects.filter(workspace=OuterRef("pk"))
    return Workspace.objects.select_related("project").annotate(in_focus=Exists(focus))


def _beginning_with(rows: QuerySet[Session], prefix: str) -> QuerySet[Session]:
    found = rows.filter(id__startswith=prefix)
    if connection.vendor == "sqlite":
        # LIKE uses no index there; the range does. On PostgreSQL it is the other way round.
        found = found.filter(id__gte=prefix, id__lt=prefix + "\U0010ffff")
    return found


def payload_value(raw: bytes | memoryview) -> Any:
    """The decoded body; an event whose bytes were never JSON is text."""
    body = zlib.decompress(bytes(raw))
    try:
        return decode_json(body)
    except Malformed:
        return body.decode("utf-8", "replace")
