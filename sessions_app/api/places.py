"""Projects and workspaces."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from contextdash.apikit import Body, PatchBody, all_listed, allow, if_match, once
from contextdash.models.token import Scope
from sessions_app.api.outs import ProjectList, ProjectOut, WorkspaceList, project_out, workspace_out
from sessions_app.models import Project
from sessions_app.queries import sessions_api as queries
from sessions_app.services.projects import change_project, create_project

router = Router(tags=["projects"])


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
    position: int = Field(0, ge=0, lt=2**31)


class WorkspaceQuery(Schema):
    project: str | None = None


@router.get("projects", response=ProjectList, summary="Projects, in the order that people chose")
def projects(request: HttpRequest) -> Any:
    allow(request, Scope.READ)
    return all_listed(queries.projects(), project_out)


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
    actor = allow(request, Scope.WRITE)
    changed = change_project(
        project=queries.project(project),
        values=payload.values(),
        actor=actor,
        reason=payload.reason,
        expected_version=if_match(request),
    )
    return project_out(changed)


@router.get("workspaces", response=WorkspaceList, summary="Places on disk where agents work")
def workspaces(request: HttpRequest, query: Query[WorkspaceQuery]) -> Any:
    allow(request, Scope.READ)
    return all_listed(queries.workspaces(query.project), workspace_out)
