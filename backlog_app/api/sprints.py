"""Sprints: plan, read, change, start, close."""

from datetime import date
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Status

from backlog_app.api.outs import burndown_out, sprint_out
from backlog_app.models import Sprint
from backlog_app.queries import flow
from backlog_app.queries import sprints as queries
from backlog_app.services import sprints
from contextdash.apikit import Body, Paging, PatchBody, allow, if_match, listed, once, once_told
from contextdash.models.token import Scope

router = Router(tags=["sprints"])
SPRINT = "/{int:sprint_id}"


class SprintBody(Body):
    name: str
    goal: str = ""
    project: str | None = None
    starts_on: date | None = None
    ends_on: date | None = None


class SprintPatch(PatchBody):
    name: str | None = None
    goal: str | None = None
    starts_on: date | None = None
    ends_on: date | None = None


class SprintFilters(Paging):
    project: str = ""
    state: str = ""


class StartBody(Body):
    reason: str = ""


class CloseBody(Body):
    move_to: int | None = None
    reason: str = ""


@router.post("", response={201: dict[str, Any]}, summary="Plan a sprint")
def create(request: HttpRequest, payload: SprintBody) -> Status[dict[str, Any]]:
    actor = allow(request, Scope.WRITE)
    values = payload.model_dump()
    made = once(request, actor, Sprint, lambda: sprints.create_sprint(actor=actor, **values))
    return Status(201, sprint_out(made))


@router.get("", response=dict[str, Any], summary="Sprints, newest first")
def index(request: HttpRequest, query: Query[SprintFilters]) -> dict[str, Any]:
    allow(request, Scope.READ)
    found = queries.newest(project=query.project, state=query.state, limit=query.limit, cursor=query.cursor)
    return listed(found, sprint_out)


@router.get(SPRINT, response=dict[str, Any], summary="One sprint with its burn-down")
def one(request: HttpRequest, sprint_id: int) -> dict[str, Any]:
    allow(request, Scope.READ)
    sprint = queries.one(sprint_id)
    return {**sprint_out(sprint), "burndown": burndown_out(flow.burndown(sprint))}


@router.patch(SPRINT, response=dict[str, Any], summary="Change a sprint")
def change(request: HttpRequest, sprint_id: int, payload: SprintPatch) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    changed = sprints.change_sprint(
        sprint_id=sprint_id,
        values=payload.values(),
        actor=actor,
        reason=payload.reason,
        expected_version=if_match(request),
    )
    return sprint_out(changed)


@router.post(SPRINT + "/start", response=dict[str, Any], summary="Start a sprint")
def start(request: HttpRequest, sprint_id: int, payload: StartBody) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    seen = if_match(request)
    started = once(
        request,
        actor,
        Sprint,
        lambda: sprints.start_sprint(
            sprint_id=sprint_id, actor=actor, reason=payload.reason, expected_version=seen
        ),
    )
    return sprint_out(started)


@router.post(SPRINT + "/close", response=dict[str, Any], summary="Close a sprint")
def close(request: HttpRequest, sprint_id: int, payload: CloseBody) -> dict[str, Any]:
    """Unfinished stories go to ``move_to``, or to no sprint; ``carried`` counts them."""
    actor = allow(request, Scope.WRITE)
    seen = if_match(request)

    def act() -> int:
        return sprints.close_sprint(
            sprint_id=sprint_id,
            actor=actor,
            move_to_id=payload.move_to,
            reason=payload.reason,
            expected_version=seen,
        ).carried

    carried = once_told(request, actor, "sprints", act)
    return {**sprint_out(queries.one(sprint_id)), "carried": carried}
