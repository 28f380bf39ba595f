"""Sprints: planned, started, closed; and the charts."""

from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from backlog_app import charts
from backlog_app.forms import NewSprintForm, SprintForm, sprint_initial
from backlog_app.models import Sprint
from backlog_app.queries import flow
from backlog_app.queries import sprints as queries
from backlog_app.queries import stories as story_queries
from backlog_app.queries.filters import Filters
from backlog_app.services import sprints
from contextdash.errors import Invalid, Refused
from contextdash.viewkit import actor_of, changes, whole_number

SPRINT_STORIES = 500


def sprint_list(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _plan(request)
    return _list_page(request, NewSprintForm(initial={"project": request.GET.get("project", "")}))


def sprint(request: HttpRequest, sprint_id: int) -> HttpResponse:
    row = queries.one(sprint_id)
    if request.method == "POST":
        return _change(request, row)
    return _sprint_page(request, row, SprintForm(initial=sprint_initial(row)))


@require_GET
def burndown(request: HttpRequest, sprint_id: int) -> HttpResponse:
    """The figure alone, which the board fetches after its cards."""
    row = queries.one(sprint_id)
    return render(request, "board/_burn.html", {"sprint": row, **_burn(row)})


@changes
def start(request: HttpRequest, sprint_id: int) -> HttpResponse:
    row = sprints.start_sprint(sprint_id=sprint_id, actor=actor_of(request))
    messages.success(request, f"{row.name} started")
    return redirect("sprint", sprint_id)


@changes
def close(request: HttpRequest, sprint_id: int) -> HttpResponse:
    raw = request.POST.get("move_to", "")
    if raw and whole_number(raw) is None:
        raise Invalid("move_to is not a sprint's number.", field="move_to")
    closing = sprints.close_sprint(
        sprint_id=sprint_id,
        actor=actor_of(request),
        move_to_id=int(raw) if raw else None,
        reason=request.POST.get("reason", ""),
    )
    moved = f", {closing.carried} unfinished moved on" if closing.carried else ", everything done"
    messages.success(request, f"{closing.sprint.name} closed{moved}")
    return redirect("sprint", sprint_id)


@require_GET
def flow_page(request: HttpRequest) -> HttpResponse:
    """Cumulative flow, velocity and times of a project or of all."""
    project = Filters.from_query(request.GET).project
    days = flow.cumulative(project=project)
    context = {
        "nav": "board",
        "days": days,
        "chart": charts.flow(days),
        "velocity": flow.velocity(project=project),
        "lead": flow.lead_times(project=project),
        "cycle": flow.cycle_times(project=project),
        "times_days": flow.TIMES_DAYS,
        "any": any(any(day.counts.values()) for day in days),
    }
    return render(request, "board/flow.html", context)


@changes
def _plan(request: HttpRequest) -> HttpResponse:
    form = NewSprintForm(request.POST)
    if form.is_valid():
        values = form.cleaned_data | {"project": form.cleaned_data["project"] or None}
        try:
            row = sprints.create_sprint(actor=actor_of(request), **values)
        except Refused as refusal:
            form.add_error(refusal.field if refusal.field in form.fields else None, refusal.detail)
        else:
            return redirect("sprint", row.pk)
    return _list_page(request, form, status=422)


@changes
def _change(request: HttpRequest, row: Sprint) -> HttpResponse:
    form = SprintForm(request.POST)
    version = request.POST.get("version", "")
    if form.is_valid():
        try:
            sprints.change_sprint(
                sprint_id=row.pk,
                values=form.cleaned_data,
                actor=actor_of(request),
                expected_version=whole_number(version),
            )
        except Refused as refusal:
            form.add_error(refusal.field if refusal.field in form.fields else None, refusal.detail)
        else:
            return redirect("sprint", row.pk)
    return _sprint_page(request, row, form, status=422)


def _list_page(request: HttpRequest, form: NewSprintForm, status: int = 200) -> HttpResponse:
    project = Filters.from_query(request.GET).project
    page = queries.newest(project=project, state="", limit=50, cursor=request.GET.get("cursor"))
    context = {
        "nav": "board",
        "form": form,
        "sprints": page.items,
        "next_url": f"?cursor={page.next}" if page.next else "",
        "open_form": status != 200 or not page.items,
    }
    return render(request, "board/sprints.html", context, status=status)


def _sprint_page(request: HttpRequest, row: Sprint, form: SprintForm, status: int = 200) -> HttpResponse:
    days = flow.cumulative(project="", sprint=row) if row.started_at else []
    stories, _ = story_queries.in_list(Filters(sprint=str(row.pk)), limit=SPRINT_STORIES, offset=0)
    context = {
        "nav": "board",
        "sprint": row,
        "form": form,
        "stories": stories,
        "flow_days": days,
        "flow_chart": charts.flow(days) if days else None,
        "lead": flow.lead_times(project="", sprint=row),
        "cycle": flow.cycle_times(project="", sprint=row),
        "others": [one for one in queries.joinable() if one.pk != row.pk],
        **_burn(row),
    }
    return render(request, "board/sprint.html", context, status=status)


def _burn(row: Sprint) -> dict[str, object]:
    burned = flow.burndown(row)
    if row.starts_on is None or not burned.days:
        return {"burned": None, "burn": None}
    days = [row.starts_on + timedelta(days=n) for n in range(burned.total_days)]
    return {"burned": burned, "burn": charts.burn(burned, days)}
