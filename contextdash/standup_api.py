"""``GET standup``: who does what, as a page, a pasted text or the older system's two shapes tell it.

Like ``contextdash/api.py`` it sees every app.
"""

from typing import Any, Literal

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from backlog_app.models import BacklogItem
from contextdash import clock
from contextdash.apikit import allow
from contextdash.middleware import zone_named
from contextdash.models.token import Scope
from contextdash.pages import standup_shapes as shapes
from contextdash.pages.standup import site_of, time_range
from contextdash.pages.standup_read import SECTIONS, Line, Person, standup
from contextdash.pages.standup_text import as_markdown
from sessions_app.models import Session
from sessions_app.queries.sessions_api import find_session

router = Router(tags=["standup"])


class StandupQuery(Schema):
    shape: Literal["people", "workflow", "digest"] = "people"
    window: str = ""
    """How far back: ``24h`` unless told, at most 31 days."""
    begin: str = Field("", alias="from")
    end: str = Field("", alias="to")
    project: str | None = None
    session: str = "latest"
    """Of the digest: an id, a beginning that only one id has, or ``latest``."""


@router.get("", summary="Who does what, and what holds it up")
def read(request: HttpRequest, query: Query[StandupQuery]) -> dict[str, Any]:
    """``markdown`` is the whole as a text to paste; the rest depends on ``shape``."""
    actor = allow(request, Scope.READ)
    with timezone.override(zone_named(actor.user.time_zone if actor.user else "")):
        match query.shape:
            case "workflow":
                return _workflow(shapes.workflow(query.project))
            case "digest":
                return _digest(shapes.digest(find_session(query.session)))
            case _:
                return _people(request, query)


def _people(request: HttpRequest, query: StandupQuery) -> dict[str, Any]:
    begin, end = time_range(query.window, query.begin, query.end)
    told = standup(begin=begin, end=end, project=query.project)
    return {
        "shape": "people",
        "from": clock.iso(told.begin),
        "to": clock.iso(told.end),
        "people": [_person(person) for person in told.people],
        "counts": told.counts,
        "cut": told.cut,
        "markdown": as_markdown(told, site_of(request)),
    }


def _person(person: Person) -> dict[str, Any]:
    sections = {key: [_line(row) for row in person.sections.get(key, ())] for key in SECTIONS}
    return {"name": person.name or None, "sessions": person.sessions, "errored": person.errored, **sections}


def _line(row: Line) -> dict[str, Any]:
    return {
        "number": row.number or None,
        "title": row.title,
        "note": row.note or None,
        "at": clock.iso(row.at),
        "url": row.url,
    }


def _workflow(told: shapes.Workflow) -> dict[str, Any]:
    return {
        "shape": "workflow",
        "backlog": [_story(row) for row in told.stories],
        "sessions": [_session(row) for row in told.sessions],
        "markdown": shapes.workflow_markdown(told),
    }


def _digest(told: shapes.Digest) -> dict[str, Any]:
    return {
        "shape": "digest",
        "session": _session(told.session),
        "at": clock.iso(told.at),
        **{name: [_item(item) for item in told.section(name)] for name in shapes.SECTIONS},
        "backlog": [_item(item) for item in told.items],
        "waiting_on_decision": list(told.undecided),
        "markdown": shapes.digest_markdown(told),
    }


def _item(item: shapes.Item) -> dict[str, Any]:
    active = item.last_activity
    return {
        **_story(item.story),
        "ts": clock.iso(item.story.ts),
        "last_activity": clock.iso(active) if active else None,
        "flags": list(item.flags),
    }


def _story(row: BacklogItem) -> dict[str, Any]:
    return {
        "id": row.pk,
        "status": row.status,
        "assigned_agent": row.assigned_agent,
        "priority": row.priority,
        "story": shapes.story_line(row),
    }


def _session(row: Session) -> dict[str, Any]:
    ended = clock.iso(row.ended_at) if row.ended_at else None
    return {
        "id": row.id,
        "started_at": clock.iso(row.started_at),
        "ended_at": ended,
        "status": row.status,
        "user_request": shapes.request_line(row),
        "workspace": row.workspace,
        "branch": row.branch,
    }
