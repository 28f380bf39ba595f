"""Projects as people arrange them: made, renamed, coloured, ordered, archived, deleted."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from contextdash.errors import Invalid, Refused
from contextdash.pages.forms_projects import COLORS, ProjectForm
from contextdash.pages.settings import area
from contextdash.queries.history import history_of
from contextdash.rendering.numbers import number
from contextdash.viewkit import actor_of, changes, whole_number
from sessions_app.models import Project
from sessions_app.queries import places as queries
from sessions_app.queries.sessions_api import find_session
from sessions_app.queries.sessions_api import project as project_named
from sessions_app.services.projects import (
    change_project,
    create_project,
    delete_project,
    order_projects,
    order_sessions,
)
from sessions_app.services.sessions import change_session
from sessions_app.views.listing import given_reason

DELETING = (
    "Sessions in it: {}. They and all decisions, mistakes, findings and stories stay, in no project."
    " This cannot be undone."
)


@require_GET
def projects(request: HttpRequest) -> HttpResponse:
    return _list(request, ProjectForm())


@changes
def project_new(request: HttpRequest) -> HttpResponse:
    form = ProjectForm(request.POST)
    if not form.is_valid():
        return _list(request, form, status=422)
    try:
        made = create_project(actor=actor_of(request), **form.values())
    except Refused as refused:
        form.add_error(refused.field if refused.field in form.fields else None, refused.detail)
        return _list(request, form, status=refused.status)
    messages.success(request, f"{made.name} is the last of the projects.")
    return redirect("project", made.slug)


@changes
def project_order(request: HttpRequest) -> HttpResponse:
    """``order`` names all that are shown, as they are to stand; or ``move`` names one, ``by`` says where."""
    shown = [one.project for one in queries.listed(archived=False)]
    by_slug = {project.slug: project for project in shown}
    wanted = _wanted(request, [project.slug for project in shown])
    order_projects(projects=[by_slug[slug] for slug in wanted if slug in by_slug], actor=actor_of(request))
    return _moved(request, redirect("projects"))


@require_GET
def project(request: HttpRequest, slug: str) -> HttpResponse:
    found = project_named(slug)
    return _one(request, found, ProjectForm(initial=ProjectForm.initial_of(found)))


@changes
def project_change(request: HttpRequest, slug: str) -> HttpResponse:
    found = project_named(slug)
    form = ProjectForm(request.POST)
    if not form.is_valid():
        return _one(request, found, form, status=422)
    version = whole_number(request.POST.get("version", ""))
    try:
        change_project(
            project=found,
            values=form.values(),
            actor=actor_of(request),
            expected_version=version,
        )
    except Refused as refused:
        form.add_error(refused.field if refused.field in form.fields else None, refused.detail)
        return _one(request, found, form, status=refused.status)
    messages.success(request, "Changed.")
    return redirect("project", slug)


@changes
def project_archive(request: HttpRequest, slug: str) -> HttpResponse:
    """``archived`` is 0 or 1."""
    archived = request.POST.get("archived") == "1"
    found = project_named(slug)
    change_project(project=found, values={"archived": archived}, actor=actor_of(request))
    told = "is archived; its sessions stay where they are." if archived else "is back among the projects."
    messages.success(request, f"{found.name} {told}")
    return redirect("projects")


@changes
def project_delete(request: HttpRequest, slug: str) -> HttpResponse:
    found = project_named(slug)
    delete_project(project=found, actor=actor_of(request), reason=given_reason(request))
    messages.success(request, f"{found.name} is deleted. What was in it is in no project now.")
    return redirect("projects")


@changes
def project_sessions(request: HttpRequest, slug: str) -> HttpResponse:
    """As ``project_order``, of the sessions of one."""
    found = project_named(slug)
    shown = queries.ordered(found, queries.SHOWN)
    by_id = {session.id: session for session in shown}
    wanted = _wanted(request, [session.id for session in shown])
    order_sessions(
        project=found, sessions=[by_id[one] for one in wanted if one in by_id], actor=actor_of(request)
    )
    return _moved(request, redirect("project", slug))


@changes
def project_add(request: HttpRequest, slug: str) -> HttpResponse:
    """A session that is in no project joins, at the end."""
    found = project_named(slug)
    told = request.POST.get("session", "").strip()
    try:
        session = find_session(told)
        if session.project_id not in (None, found.pk):
            raise Invalid("It is in another project. Take it out of there first.")
        change_session(session=session, values={"project": found}, actor=actor_of(request))
    except Refused as refused:
        messages.error(request, refused.detail)
    else:
        messages.success(request, f"{session} is the last of {found.name}.")
    return redirect("project", slug)


@changes
def project_remove(request: HttpRequest, slug: str) -> HttpResponse:
    """A session leaves; those behind it move up."""
    found = project_named(slug)
    session = find_session(request.POST.get("session", ""))
    if session.project_id == found.pk:
        change_session(session=session, values={"project": None}, actor=actor_of(request))
        messages.success(request, f"{session} is in no project now.")
    return redirect("project", slug)


def _wanted(request: HttpRequest, shown: list[str]) -> list[str]:
    told = request.POST.getlist("order")
    if told:
        return told
    moved, by = request.POST.get("move", ""), request.POST.get("by", "")
    if moved not in shown:
        return []
    place = shown.index(moved)
    shown.remove(moved)
    where = {"up": place - 1, "down": place + 1, "first": 0}.get(by, place)
    shown.insert(max(0, where), moved)
    return shown


def _moved(request: HttpRequest, otherwise: HttpResponse) -> HttpResponse:
    """The script that dragged a row shows it there already."""
    return HttpResponse(status=204) if request.POST.get("bare") else otherwise


def _list(request: HttpRequest, form: ProjectForm, *, status: int = 200) -> HttpResponse:
    context = {
        **area(request, "projects"),
        "listed": queries.listed(archived=False),
        "archived": queries.listed(archived=True),
        "order_url": reverse("project_order"),
        "form": form,
    }
    return render(request, "projects/list.html", context, status=status)


def _one(request: HttpRequest, found: Project, form: ProjectForm, *, status: int = 200) -> HttpResponse:
    sessions = queries.ordered(found)
    count = len(sessions)
    context: dict[str, Any] = {
        **area(request, "projects"),
        "project": found,
        "form": form,
        "sessions": sessions[: queries.SHOWN],
        "session_count": count,
        "color": queries.drawable(found.color),
        "order_url": reverse("project_sessions", args=[found.slug]),
        "delete_text": DELETING.format(number(count)),
        "history": history_of("projects", found.pk),
        "colors": COLORS,
    }
    return render(request, "projects/project.html", context, status=status)
