"""Projects and workspaces."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from contextdash import clock
from contextdash.apikit import Body, Key, PatchBody, all_listed, allow, if_match, once
from contextdash.limits import ORDERED_SESSIONS
from contextdash.models.token import Scope
from sessions_app.api.outs import (
    ProjectList,
    ProjectOut,
    WorkspaceList,
    WorkspaceOut,
    project_out,
    workspace_out,
)
from sessions_app.models import Project, Workspace
from sessions_app.queries import places as places_queries
from sessions_app.queries import sessions_api as queries
from sessions_app.services.belonging import project_of_slug, told_time
from sessions_app.services.projects import (
    change_project,
    create_project,
    delete_project,
    order_sessions,
)
from sessions_app.services.workspaces import change_workspace, focus_workspace, tell_workspace

router = Router(tags=["projects"])

type Moment = str | int | float | None


class ProjectIn(Body):
    name: str
    slug: str = ""
    color: str = ""
    root: str = ""
    remote: str = ""


class ProjectPatch(PatchBody):
    name: str = ""
    color: str = ""
    root: str = ""
    remote: str = ""
    archived: bool = False
    position: int = Field(0, ge=0, lt=2**31, description="Its place among all projects, from 0.")


class ProjectQuery(Schema):
    archived: bool = Field(False, description="Archived ones as well.")


class OrderIn(Body):
    sessions: list[str] = Field(
        max_length=ORDERED_SESSIONS, description="Ids; the others follow as they were."
    )
    reason: str = ""


class OrderOut(Schema):
    project: str
    sessions: list[str]


class WorkspaceQuery(Schema):
    project: str | None = None
    repo: str | None = None
    state: str | None = None


class WorkspacePatch(PatchBody):
    kind: str = ""
    state: str = ""
    label: str = ""
    repo: str = ""
    mechanism: str = ""
    project: str | None = None
    parent_id: Key | None = None
    forked_at: Moment = None


class WorkspaceIn(Body):
    root: str
    host: str = ""
    kind: str | None = None
    state: str | None = None
    label: str | None = None
    repo: str | None = None
    mechanism: str | None = None
    project: str | None = None
    parent_id: Key | None = None
    forked_at: Moment = None
    created_at: Moment = None


@router.get("projects", response=ProjectList, summary="Projects, in the order that people chose")
def projects(request: HttpRequest, query: Query[ProjectQuery]) -> Any:
    allow(request, Scope.READ)
    return all_listed(queries.projects(archived=query.archived), project_out)


@router.post("projects", response={201: ProjectOut}, summary="Make a project")
def post_project(request: HttpRequest, payload: ProjectIn) -> Any:
    actor = allow(request, Scope.WRITE)
    project = once(request, actor, Project, lambda: create_project(actor=actor, **payload.model_dump()))
    return project_out(project)


@router.get("projects/{project}", response=ProjectOut, summary="One project, by slug or number")
def project(request: HttpRequest, project: str) -> Any:
    allow(request, Scope.READ)
    return project_out(queries.project(project))


@router.patch("projects/{project}", response=ProjectOut, summary="Change a project")
def change(request: HttpRequest, project: str, payload: ProjectPatch) -> Any:
    """``position`` moves it there; the others make room."""
    actor = allow(request, Scope.WRITE)
    changed = change_project(
        project=queries.project(project),
        values=payload.values(),
        actor=actor,
        reason=payload.reason,
        expected_version=if_match(request),
    )
    return project_out(changed)


@router.delete("projects/{project}", response={204: None}, summary="Delete a project")
def delete(request: HttpRequest, project: str, reason: str = "") -> Status[None]:
    """Its sessions, decisions, mistakes, findings and stories stay, in no project."""
    actor = allow(request, Scope.WRITE)
    delete_project(
        project=queries.project(project), actor=actor, reason=reason, expected_version=if_match(request)
    )
    return Status(204, None)


@router.get(
    "projects/{project}/order", response=OrderOut, summary="A project's sessions in the order people chose"
)
def order(request: HttpRequest, project: str) -> Any:
    allow(request, Scope.READ)
    return _order_out(queries.project(project))


@router.put("projects/{project}/order", response=OrderOut, summary="Order a project's sessions")
def put_order(request: HttpRequest, project: str, payload: OrderIn) -> Any:
    """These first; the others follow as they were. A session in no project joins; one of another never."""
    actor = allow(request, Scope.WRITE)
    found = queries.project(project)
    sessions = places_queries.named_sessions(payload.sessions)
    order_sessions(project=found, sessions=sessions, actor=actor, reason=payload.reason)
    return _order_out(found)


@router.get("workspaces", response=WorkspaceList, summary="Places on disk where agents work, newest first")
def workspaces(request: HttpRequest, query: Query[WorkspaceQuery]) -> Any:
    allow(request, Scope.READ)
    return all_listed(queries.workspaces(query.project, repo=query.repo, state=query.state), workspace_out)


@router.post("workspaces", response={200: WorkspaceOut, 201: WorkspaceOut}, summary="Tell of a workspace")
def post_workspace(request: HttpRequest, payload: WorkspaceIn) -> Status[Any]:
    """The workspace of that host and folder, made where it is unknown; what is told of it is set."""
    actor = allow(request, Scope.WRITE)
    told = payload.model_dump(exclude={"root", "host", "created_at"}, exclude_none=True)
    created = told_time(payload.created_at, "created_at")
    made = False

    def create() -> Workspace:
        nonlocal made
        place, made = tell_workspace(
            root=payload.root,
            host=payload.host,
            values=_values(told),
            created_us=None if created is None else clock.to_us(created),
            actor=actor,
        )
        return place

    place = once(request, actor, Workspace, create)
    return Status(201 if made else 200, workspace_out(queries.workspace(place.pk)))


@router.get("workspaces/{workspace_id}", response=WorkspaceOut, summary="One workspace")
def workspace(request: HttpRequest, workspace_id: int) -> Any:
    allow(request, Scope.READ)
    return workspace_out(queries.workspace(workspace_id))


@router.patch("workspaces/{workspace_id}", response=WorkspaceOut, summary="Change a workspace")
def patch_workspace(request: HttpRequest, workspace_id: int, payload: WorkspacePatch) -> Any:
    actor = allow(request, Scope.WRITE)
    change_workspace(
        workspace=queries.workspace(workspace_id),
        values=_values(payload.values()),
        reason=payload.reason,
        expected_version=if_match(request),
        actor=actor,
    )
    return workspace_out(queries.workspace(workspace_id))


@router.put("workspaces/{workspace_id}/focus", response=WorkspaceOut, summary="Put a workspace into focus")
def focus(request: HttpRequest, workspace_id: int) -> Any:
    """The one of its repository on its host; another one loses the focus."""
    actor = allow(request, Scope.WRITE)
    focus_workspace(workspace=queries.workspace(workspace_id), actor=actor)
    return workspace_out(queries.workspace(workspace_id))


def _values(told: dict[str, Any]) -> dict[str, Any]:
    """Fields of a body as the service names them."""
    values = dict(told)
    if "project" in values:
        values["project"] = project_of_slug(values["project"])
    if "parent_id" in values:
        parent = values.pop("parent_id")
        values["parent"] = None if parent is None else queries.workspace(parent)
    if "forked_at" in values:
        at = told_time(values.pop("forked_at"), "forked_at")
        values["forked_us"] = None if at is None else clock.to_us(at)
    return values


def _order_out(project: Project) -> dict[str, Any]:
    return {"project": project.slug, "sessions": places_queries.ordered_ids(project)}
