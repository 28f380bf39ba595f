"""How rows of this app look in answers. Times are ISO 8601 with Z."""

from datetime import datetime
from typing import Any

from ninja import Schema

from contextdash import clock
from contextdash.cleaning import shorten
from contextdash.limits import READ_RECENT_CHARS, REQUEST_TEXT_CHARS
from sessions_app.api.usage_outs import UsageOut, usage_of_spent
from sessions_app.models import (
    AgentMessage,
    HookEvent,
    Project,
    Purge,
    Session,
    Workspace,
)
from sessions_app.queries.subagents import spent_with_subagents
from sessions_app.queries.usage import spent_by


class Counts(Schema):
    events: int
    turns: int
    tool_calls: int
    failed_tool_calls: int
    children: int
    compactions: int
    messages: int
    plans: int
    decisions: int
    mistakes: int
    reviews: int
    stories: int
    hook_events: int


class SessionOut(Schema):
    id: str
    external_id: str
    url: str
    project: str | None
    parent_id: str | None
    owner: str | None
    client: str
    agent_name: str
    agent_id: str
    provider: str
    model: str
    host: str
    workspace: str
    branch: str | None
    permission_mode: str
    title: str
    user_request: str | None
    started_at: str
    ended_at: str | None
    last_at: str
    status: str
    activity: str
    waiting_for: str
    current_call: str
    pinned: bool
    labels: list[str]
    archived_at: str | None
    deleted_at: str | None
    ordinal: int
    metadata_version: int
    counts: Counts
    usage: UsageOut
    usage_with_subagents: UsageOut | None
    """Left out, as null, in lists."""


class SessionList(Schema):
    items: list[SessionOut]
    next: str | None


class MessageOut(Schema):
    id: int
    session_id: str
    agent_name: str
    role: str
    target: str | None
    content: str
    ts: str
    acknowledged_at: str | None
    version: int


class MessageList(Schema):
    items: list[MessageOut]
    next: str | None


class HookEventItem(Schema):
    id: int
    session_id: str | None
    hook_name: str
    event_type: str
    outcome: str
    duration_ms: int
    ts: str


class HookEventOut(HookEventItem):
    payload_json: str | None


class HookEventList(Schema):
    items: list[HookEventItem]
    next: str | None


class ProjectOut(Schema):
    id: int
    name: str
    slug: str
    color: str
    position: int
    root: str
    remote: str
    created_at: str
    archived_at: str | None
    version: int


class ProjectList(Schema):
    items: list[ProjectOut]
    next: None


class WorkspaceOut(Schema):
    id: int
    host: str
    root: str
    project: str | None
    remote: str
    kind: str
    state: str
    label: str
    repo: str
    parent_id: int | None
    mechanism: str
    forked_at: str | None
    focused_at: str | None
    in_focus: bool
    created_at: str
    discarded_at: str | None
    version: int


class WorkspaceList(Schema):
    items: list[WorkspaceOut]
    next: None


class PurgeOut(Schema):
    id: int
    events_deleted: int
    reason: str
    started_at: str
    finished_at: str | None


def session_out(row: Session) -> dict[str, Any]:
    whole = usage_of_spent(spent_with_subagents(row))
    return {**_session(row, row.user_request), "usage_with_subagents": whole}


def session_item(row: Session) -> dict[str, Any]:
    """For lists: the request is cut at REQUEST_TEXT_CHARS; needs ``request_head``."""
    head: str | None = row.request_head  # type: ignore[attr-defined]  # annotated by the query
    return _session(row, None if head is None else shorten(head, REQUEST_TEXT_CHARS))


def _session(row: Session, request: str | None) -> dict[str, Any]:
    return {
        "id": row.id,
        "external_id": row.external_id,
        "url": f"/sessions/{row.id}/",
        "project": row.project.slug if row.project else None,
        "parent_id": row.parent.id if row.parent else None,
        "owner": row.owner.get_username() if row.owner else None,
        "client": row.client,
        "agent_name": row.agent_name,
        "agent_id": row.agent_id,
        "provider": row.provider,
        "model": row.model,
        "host": row.host,
        "workspace": row.workspace,
        "branch": row.branch,
        "permission_mode": row.permission_mode,
        "title": row.title,
        "user_request": request,
        "started_at": clock.iso(row.started_at),
        "ended_at": _time(row.ended_at),
        "last_at": clock.iso(clock.from_us(row.last_us)),
        "status": row.status,
        "activity": row.activity,
        "waiting_for": row.waiting_for,
        "current_call": row.current_call,
        "pinned": row.pinned,
        "labels": [label.label for label in row.labels.all()],
        "archived_at": _time(row.archived_at),
        "deleted_at": _time(row.deleted_at),
        "ordinal": row.ordinal,
        "metadata_version": row.metadata_version,
        "counts": {
            "events": row.event_count,
            "turns": row.turn_count,
            "tool_calls": row.call_count,
            "failed_tool_calls": row.failed_count,
            "children": row.child_count,
            "compactions": row.compaction_count,
            "messages": row.message_count,
            "plans": row.plan_count,
            "decisions": row.decision_count,
            "mistakes": row.mistake_count,
            "reviews": row.review_count,
            "stories": row.story_count,
            "hook_events": row.hook_count,
        },
        "usage": usage_of_spent(spent_by(row)),
        "usage_with_subagents": None,
    }


def message_out(row: AgentMessage) -> dict[str, Any]:
    return _message(row, row.content)


def message_item(row: AgentMessage) -> dict[str, Any]:
    """For lists: the content is cut at READ_RECENT_CHARS; needs ``content_head``."""
    head: str = row.content_head  # type: ignore[attr-defined]  # annotated by the query
    return _message(row, shorten(head, READ_RECENT_CHARS))


def handoff_item(row: AgentMessage) -> dict[str, Any]:
    """For the inbox, which reads 300 characters and one more as ``content_start``."""
    start: str = row.content_start  # type: ignore[attr-defined]  # annotated by the query
    return _message(row, shorten(start, 300))


def _message(row: AgentMessage, content: str) -> dict[str, Any]:
    return {
        "id": row.pk,
        "session_id": row.session_id,
        "agent_name": row.agent_name,
        "role": row.role,
        "target": row.target,
        "content": content,
        "ts": clock.iso(row.ts),
        "acknowledged_at": _time(row.acknowledged_at),
        "version": row.version,
    }


def hook_event_item(row: HookEvent) -> dict[str, Any]:
    return {
        "id": row.pk,
        "session_id": row.session_id,
        "hook_name": row.hook_name,
        "event_type": row.event_type,
        "outcome": row.outcome,
        "duration_ms": row.duration_ms,
        "ts": clock.iso(row.ts),
    }


def hook_event_out(row: HookEvent) -> dict[str, Any]:
    return {**hook_event_item(row), "payload_json": row.payload_json}


def project_out(row: Project) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "slug": row.slug,
        "color": row.color,
        "position": row.position,
        "root": row.root,
        "remote": row.remote,
        "created_at": clock.iso(row.created_at),
        "archived_at": _time(row.archived_at),
        "version": row.version,
    }


def workspace_out(row: Workspace) -> dict[str, Any]:
    return {
        "id": row.pk,
        "host": row.host,
        "root": row.root,
        "project": row.project.slug if row.project else None,
        "remote": row.remote,
        "kind": row.kind,
        "state": row.state,
        "label": row.label,
        "repo": row.repo,
        "parent_id": row.parent_id,
        "mechanism": row.mechanism,
        "forked_at": _us(row.forked_us),
        "focused_at": _us(row.focused_us),
        "in_focus": row.in_focus,  # type: ignore[attr-defined]  # annotated by the query
        "created_at": clock.iso(row.created_at),
        "discarded_at": _time(row.discarded_at),
        "version": row.version,
    }


def purge_out(row: Purge) -> dict[str, Any]:
    return {
        "id": row.pk,
        "events_deleted": row.events_deleted,
        "reason": row.reason,
        "started_at": clock.iso(row.started_at),
        "finished_at": _time(row.finished_at),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else clock.iso(moment)


def _us(us: int | None) -> str | None:
    return None if us is None else clock.iso(clock.from_us(us))
