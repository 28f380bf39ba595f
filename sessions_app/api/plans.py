"""Plans: ``POST plans`` snapshots, ``GET plans`` and ``GET plans/{id}`` read, ``PATCH`` moves the status."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema

from contextdash.actor import Actor
from contextdash.apikit import Body, Paging, PatchBody, allow, if_match, listed, once
from contextdash.clock import iso
from contextdash.limits import READ_RECENT_CHARS
from contextdash.models.token import Scope
from sessions_app.models import Plan
from sessions_app.queries import plans as queries
from sessions_app.queries.plan_diff import unified
from sessions_app.queries.sessions_api import session_id_of
from sessions_app.queries.texts import text_or_start
from sessions_app.services.belonging import project_of_slug, told_time
from sessions_app.services.plans import change_plan, snapshot_plan

router = Router(tags=["plans"])


class PlanIn(Body):
    session_id: str
    path: str
    body_md: str
    title: str | None = None
    """Without one it is the body's first heading, else the file's name."""
    created_by: str | None = "orchestrator"
    """Null or empty: the session's agent, else who calls."""
    status: str | None = None
    """proposed, approved, in_progress, done or superseded; another word is kept as sent."""
    project: str | None = None
    """A project's slug; without it the session's project."""
    ts: str | int | float | None = None


class PlanPatch(PatchBody):
    status: str | None = None
    title: str | None = None


class PlanFilters(Paging):
    session: str | None = None
    agent: str | None = None
    project: str | None = None
    path: str | None = None
    status: str | None = None


class PlanOut(Schema):
    id: int
    session_id: str
    project: str | None
    title: str
    path: str
    body_md: str
    status: str
    created_by: str
    number: int
    newest: bool
    task_count: int
    task_done: int
    ts: str
    version: int


class PlanList(Schema):
    items: list[PlanOut]
    next: str | None


def out(plan: Plan) -> dict[str, Any]:
    return {
        "id": plan.pk,
        "session_id": plan.session_id,
        "project": plan.project.slug if plan.project else None,
        "title": plan.title,
        "path": plan.path,
        "body_md": text_or_start(plan, "body_md", READ_RECENT_CHARS),
        "status": plan.status,
        "created_by": plan.created_by,
        "number": plan.number,
        "newest": plan.newest,
        "task_count": plan.task_count,
        "task_done": plan.task_done,
        "ts": iso(plan.ts),
        "version": plan.version,
    }


def create_plan(actor: Actor, payload: PlanIn) -> Plan:
    return snapshot_plan(
        session=payload.session_id,
        title=payload.title,
        path=payload.path,
        body=payload.body_md,
        created_by=payload.created_by or "",
        status=payload.status,
        project=project_of_slug(payload.project),
        at=told_time(payload.ts),
        actor=actor,
    )


@router.post("", response={201: PlanOut}, summary="Snapshot a plan")
def create(request: HttpRequest, payload: PlanIn) -> dict[str, Any]:
    """The answer is the plan's newest version: a new one only when the body differs from it."""
    actor = allow(request, Scope.WRITE)
    plan = once(request, actor, Plan, lambda: create_plan(actor, payload))
    return out(plan)


@router.get("", response=PlanList, summary="Plans, newest first")
def many(request: HttpRequest, filters: Query[PlanFilters]) -> dict[str, Any]:
    """Every version; ``body_md`` is cut after 10,000 characters and then ends with an ellipsis."""
    allow(request, Scope.READ)
    wanted = queries.Filters(
        session=session_id_of(filters.session),
        agent=filters.agent,
        project=filters.project,
        path=filters.path,
        status=[filters.status] if filters.status else (),
    )
    found = queries.plan_versions(wanted, limit=filters.limit, cursor=filters.cursor, chars=READ_RECENT_CHARS)
    return listed(found, out)


@router.get("/{int:plan_id}", response=PlanOut, summary="One version of a plan")
def one(request: HttpRequest, plan_id: int) -> dict[str, Any]:
    allow(request, Scope.READ)
    return out(queries.plan_of(plan_id))


@router.get("/{int:plan_id}/diff", summary="What changed since another version")
def diff(request: HttpRequest, plan_id: int, against: int | None = None) -> HttpResponse:
    """A unified diff from version ``against`` of this plan, else from the one before; empty without one."""
    allow(request, Scope.READ)
    plan = queries.plan_of(plan_id)
    number = plan.number - 1 if against is None else against
    earlier = queries.version_of(plan, number) if number or against is not None else plan
    return HttpResponse(unified(earlier, plan), content_type="text/x-diff; charset=utf-8")


@router.patch("/{int:plan_id}", response=PlanOut, summary="Change a plan's status or title")
def change(request: HttpRequest, plan_id: int, payload: PlanPatch) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    plan = change_plan(
        plan=queries.plan_of(plan_id),
        values=payload.values(),
        actor=actor,
        reason=payload.reason,
        expected_version=if_match(request),
    )
    return out(plan)
