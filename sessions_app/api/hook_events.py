"""What hook scripts and the gate report of themselves."""

import json
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import Field

from contextdash.actor import Actor
from contextdash.apikit import Body, Paging, allow, listed, once
from contextdash.models.token import Scope
from sessions_app.api.outs import HookEventList, HookEventOut, hook_event_item, hook_event_out
from sessions_app.models import HookEvent
from sessions_app.queries import hook_events as queries
from sessions_app.queries.sessions_api import session_id_of
from sessions_app.services.belonging import told_time
from sessions_app.services.hook_events import log_hook_event

router = Router(tags=["hook events"])


class HookEventIn(Body):
    session_id: str | None = Field(None, description="Blank or null: of no session.")
    hook_name: str
    event_type: str
    outcome: str = Field(description="ok, warn, fail, skip; another word is kept.")
    duration_ms: int = Field(0, ge=0, lt=2**53)
    payload_json: Any = Field(None, description="A text is kept as it is, anything else as JSON.")
    ts: str | int | float | None = None


class HookEventQuery(Paging):
    session: str | None = None
    project: str | None = None
    hook: str | None = None
    event_type: str | None = None
    outcome: str | None = None


def create_hook_event(actor: Actor, payload: HookEventIn) -> HookEvent:
    told = payload.payload_json
    if told is not None and not isinstance(told, str):
        told = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return log_hook_event(
        session_id=payload.session_id,
        hook_name=payload.hook_name,
        event_type=payload.event_type,
        outcome=payload.outcome,
        duration_ms=payload.duration_ms,
        payload_json=told,
        at=told_time(payload.ts),
        actor=actor,
    )


@router.post("", response={201: HookEventOut}, summary="Report how a hook script went")
def post_hook_event(request: HttpRequest, payload: HookEventIn) -> Any:
    actor = allow(request, Scope.WRITE)
    return hook_event_out(once(request, actor, HookEvent, lambda: create_hook_event(actor, payload)))


@router.get("", response=HookEventList, summary="Reports of hook scripts, newest first")
def hook_events(request: HttpRequest, query: Query[HookEventQuery]) -> Any:
    """Without their payloads."""
    allow(request, Scope.READ)
    found = queries.hook_event_page(
        session_id=session_id_of(query.session),
        project=query.project,
        hook=query.hook,
        event_type=query.event_type,
        outcome=query.outcome,
        limit=query.limit,
        cursor=query.cursor,
    )
    return listed(found, hook_event_item)


@router.get("/{int:event_id}", response=HookEventOut, summary="One report of a hook script")
def hook_event(request: HttpRequest, event_id: int) -> Any:
    allow(request, Scope.READ)
    return hook_event_out(queries.hook_event(event_id))
