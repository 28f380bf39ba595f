"""The dense list: bulk edit, many at once, CSV in and out."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from backlog_app import csv_text
from backlog_app.forms import BulkForm, first_error
from backlog_app.queries import board as boards
from backlog_app.queries import stories as queries
from backlog_app.queries.filters import Filters, current_sprint
from backlog_app.services import bulk
from backlog_app.views.board import chips
from contextdash import live
from contextdash.errors import Invalid
from contextdash.limits import BODY_BYTES
from contextdash.viewkit import actor_of, changes, whole_number

PAGE_ROWS = 100
REFUSED_SHOWN = 5


@require_GET
def backlog_list(request: HttpRequest) -> HttpResponse:
    version = boards.version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    by = Filters.from_query(request.GET)
    raw = request.GET.get("page", "1")
    number = int(raw) if raw.isascii() and raw.isdigit() and 0 < len(raw) < 7 else 1
    rows, more = queries.in_list(by, limit=PAGE_ROWS, offset=max(0, number - 1) * PAGE_ROWS)
    places = queries.indexes(rows)
    agents = boards.known_agents(by.project)
    context = {
        "nav": "board",
        "by": by,
        "rows": [(row, places[row.pk]) for row in rows],
        "chips": [chip for chip in chips(by, agents) if chip["name"] != "lane"],
        "agents": agents,
        "bulk": BulkForm(),
        "address": f"{reverse('backlog_list')}?{by.address()}&page={number}",
        "next_url": f"?{by.address()}&page={number + 1}" if more else "",
        "query": by.address(),
        "sprint": current_sprint(by.project),
    }
    return live.respond(request, "board/list.html", context, version=version, fragment="live")


@changes
def change_many(request: HttpRequest) -> HttpResponse:
    versions = dict(_numbered(raw) for raw in request.POST.getlist("story")[: PAGE_ROWS * 2])
    form = BulkForm(request.POST)
    if not form.is_valid():
        raise Invalid(first_error(form))
    values = {"delete": True} if "delete" in request.POST else form.values()
    if not versions or not values:
        messages.error(request, "Tick stories and choose what to change.")
        return _back(request)
    outcome = bulk.change_many(
        versions=versions, values=values, actor=actor_of(request), reason=form.cleaned_data["reason"]
    )
    _tell(request, outcome, "Story")
    return _back(request)


@changes
def paste(request: HttpRequest) -> HttpResponse:
    by = Filters.from_query(request.GET)
    sprint = current_sprint(by.project) if request.POST.get("sprint") else None
    outcome = bulk.add_lines(
        text=request.POST.get("lines", ""),
        actor=actor_of(request),
        project=by.project or None,
        sprint_id=None if sprint is None else sprint.pk,
    )
    _tell(request, outcome, "Line")
    return _back(request)


@require_GET
def export(request: HttpRequest) -> HttpResponse:
    by = Filters.from_query(request.GET)
    response = HttpResponse(csv_text.written(queries.for_csv(by)), content_type="text/csv; charset=utf-8")
    name = f"stories-{by.project or 'all'}-{timezone.localdate():%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{_file_name(name)}"'
    return response


@changes
def take(request: HttpRequest) -> HttpResponse:
    upload = request.FILES.get("file")
    if upload is None:
        raise Invalid("Choose a CSV file.", field="file")
    lines = csv_text.read(upload.read(BODY_BYTES + 1))
    _tell(request, bulk.take_csv(lines=lines, actor=actor_of(request)), "Line")
    return _back(request)


def _tell(request: HttpRequest, outcome: bulk.Outcome, noun: str) -> None:
    parts = [f"{len(outcome.added)} added"] if outcome.added else []
    parts += [f"{len(outcome.changed)} changed"] if outcome.changed else []
    parts += [f"{outcome.same} as before"] if outcome.same else []
    if parts:
        messages.success(request, ", ".join(parts))
    for number, why in outcome.refused[:REFUSED_SHOWN]:
        messages.error(request, f"{noun} {number}: {why}")
    if len(outcome.refused) > REFUSED_SHOWN:
        messages.error(request, f"and {len(outcome.refused) - REFUSED_SHOWN} more were refused")


def _back(request: HttpRequest) -> HttpResponse:
    query = Filters.from_query(request.GET).address()
    return redirect(f"{reverse('backlog_list')}?{query}" if query else reverse("backlog_list"))


def _numbered(raw: str) -> tuple[int, int]:
    """``214:3`` is story 214 as of version 3."""
    number, _, version = raw.partition(":")
    story_id, seen = whole_number(number), whole_number(version)
    if story_id is None or seen is None:
        raise Invalid("The list has changed. Look at it again and repeat the change.")
    return story_id, seen


def _file_name(name: str) -> str:
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "-" for char in name)
