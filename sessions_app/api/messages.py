"""Messages between agents."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from contextdash.actor import Actor
from contextdash.apikit import Body, Paging, PatchBody, allow, if_match, listed, once
from contextdash.limits import PAGE_ROWS
from contextdash.models.token import Scope
from sessions_app.api.outs import MessageList, MessageOut, handoff_item, message_item, message_out
from sessions_app.models import AgentMessage
from sessions_app.queries import handoffs
from sessions_app.queries import messages as queries
from sessions_app.queries.inject import injected_context
from sessions_app.queries.sessions_api import session_id_of
from sessions_app.services.belonging import told_time
from sessions_app.services.messages import change_message, write_message

router = Router(tags=["messages"])


class MessageIn(Body):
    session_id: str
    agent_name: str
    role: str
    content: str | None = None
    target: str | None = None
    ts: str | int | float | None = None


class MessagePatch(PatchBody):
    role: str = ""
    target: str | None = None
    acknowledged: bool = False


class MessageQuery(Paging):
    session: str | None = None
    agent: str | None = None
    project: str | None = None


class InboxQuery(Schema):
    target: str | None = None
    project: str | None = None
    stream: bool = False
    """Whether a later word of the target in another session of the same work stream is an answer."""


class InboxOut(Schema):
    items: list[MessageOut]
    hidden: int
    """How many older ones wait behind them."""
    targets: dict[str, int]
    """For whom how many wait, of the whole inbox."""


class InjectQuery(Schema):
    session: str
    agent: str | None = None
    limit: int = Field(20, ge=1, le=PAGE_ROWS)


def create_message(actor: Actor, payload: MessageIn) -> AgentMessage:
    return write_message(
        session_id=payload.session_id,
        agent_name=payload.agent_name,
        role=payload.role,
        content=payload.content or "",
        target=payload.target,
        at=told_time(payload.ts),
        actor=actor,
    )


@router.post("", response={201: MessageOut}, summary="Write a message")
def post_message(request: HttpRequest, payload: MessageIn) -> Any:
    """A session that nobody knows is made as that id."""
    actor = allow(request, Scope.WRITE)
    return message_out(once(request, actor, AgentMessage, lambda: create_message(actor, payload)))


@router.get("", response=MessageList, summary="The newest messages, oldest first")
def messages(request: HttpRequest, query: Query[MessageQuery]) -> Any:
    """Each is cut after 10,000 characters; ``next`` leads to older ones."""
    allow(request, Scope.READ)
    found = queries.recent_messages(
        session_id=session_id_of(query.session),
        agent=query.agent,
        project=query.project,
        limit=query.limit,
        cursor=query.cursor,
    )
    return listed(found, message_item)


@router.get("/inbox", response=InboxOut, summary="Hand-offs that wait, newest first")
def inbox(request: HttpRequest, query: Query[InboxQuery]) -> Any:
    """Those with a target that wrote nothing later, not acknowledged; each is cut after 300 characters."""
    allow(request, Scope.READ)
    box = handoffs.inbox(project=query.project, target=query.target, in_streams=query.stream)
    return {
        "items": [handoff_item(row) for row in box.handoffs],
        "hidden": box.hidden,
        "targets": dict(box.targets),
    }


@router.get("/inject", summary="The newest messages as text for an agent's context")
def inject(request: HttpRequest, query: Query[InjectQuery]) -> HttpResponse:
    """Markdown, oldest message first, each cut after 400 characters; empty when there is none."""
    allow(request, Scope.READ)
    session_id = session_id_of(query.session) or ""
    text = injected_context(session_id=session_id, agent=query.agent, limit=query.limit)
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")


@router.get("/{int:message_id}", response=MessageOut, summary="One message, whole")
def message(request: HttpRequest, message_id: int) -> Any:
    allow(request, Scope.READ)
    return message_out(queries.message(message_id))


@router.patch("/{int:message_id}", response=MessageOut, summary="Acknowledge or correct a message")
def change(request: HttpRequest, message_id: int, payload: MessagePatch) -> Any:
    """``acknowledged``, ``role`` and ``target``; what was said stays."""
    actor = allow(request, Scope.WRITE)
    changed = change_message(
        message=queries.message(message_id),
        values=payload.values(),
        actor=actor,
        reason=payload.reason,
        expected_version=if_match(request),
    )
    return message_out(changed)
