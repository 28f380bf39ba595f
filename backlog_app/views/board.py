"""The board itself, its history and its limits."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from backlog_app.forms import LimitsForm, first_error
from backlog_app.models import BacklogItem, StoryStatus
from backlog_app.queries import board as queries
from backlog_app.queries import history, sprints
from backlog_app.queries.filters import UNASSIGNED, Filters
from backlog_app.services.moving import claim_next
from backlog_app.services.sprints import set_limit
from contextdash import live
from contextdash.errors import Invalid
from contextdash.viewkit import actor_of, changes, whole_number

HISTORY_LINES = 100
PRIORITIES = ("1", "2", "3", "4", "5")


@require_GET
def board(request: HttpRequest) -> HttpResponse:
    version = queries.version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    by = Filters.from_query(request.GET)
    drawn = queries.draw(by)
    address = f"{reverse('board')}?{by.address()}"
    context = {
        "nav": "board",
        "by": by,
        "board": drawn,
        "facts": queries.sprint_facts(by),
        "chips": chips(by, drawn.agents),
        "address": address,
        "nothing": drawn.empty
        and not by.narrowed
        and not BacklogItem.objects.filter(deleted_at=None).exists(),
        "deleted": _deleted(request.GET.get("undo", "")),
        "query": f"?{urlencode({'project': by.project})}" if by.project else "",
    }
    return live.respond(request, "board/board.html", context, version=version, fragment="live")


@require_GET
def moves(request: HttpRequest) -> HttpResponse:
    """Who moved what, newest first."""
    before = whole_number(request.GET.get("before", ""))
    entries, following = history.of_board(limit=HISTORY_LINES, before_id=before)
    next_url = f"?before={following}" if following else ""
    return render(request, "board/moves.html", {"nav": "board", "entries": entries, "next_url": next_url})


@changes
def claim(request: HttpRequest) -> HttpResponse:
    """The next ready story, in progress in the person's name."""
    project = request.POST.get("project", "")[:100]
    actor = actor_of(request)
    row = claim_next(agent=actor.name, project=project or None, actor=actor)
    messages.success(request, f"S-{row.pk} is yours")
    return redirect("story", row.pk)


def limits(request: HttpRequest) -> HttpResponse:
    """How many stories a column should hold, of the project in the address or of all."""
    if request.method == "POST":
        return _set_limits(request)
    project = request.GET.get("project", "")[:100]
    form = LimitsForm(initial=sprints.wip_limits(project))
    return render(request, "board/limits.html", {"nav": "board", "form": form, "project": project})


@changes
def _set_limits(request: HttpRequest) -> HttpResponse:
    project = request.GET.get("project", "")[:100]
    form = LimitsForm(request.POST)
    if not form.is_valid():
        raise Invalid(first_error(form))
    for status, stories in form.cleaned_data.items():
        set_limit(status=status, stories=stories, project=project or None, actor=actor_of(request))
    messages.success(request, "Limits saved")
    return redirect(f"{reverse('board')}?{urlencode({'project': project})}" if project else "board")


def chips(by: Filters, agents: object) -> list[dict[str, object]]:
    """The filter menus: each with its choices as addresses."""
    columns = [(status, label) for status, label in StoryStatus.choices]
    named = [(one.pk, one.name) for one in sprints.joinable(project=by.project)]
    return [
        _chip(by, "agent", "Agent", [(name, "nobody" if name == UNASSIGNED else name) for name in agents]),  # type: ignore[attr-defined]
        _chip(by, "priority", "Priority", [(value, f"P{value}") for value in PRIORITIES]),
        _chip(by, "sprint", "Sprint", [("current", "current"), ("none", "none"), *named]),
        _chip(by, "lane", "Lanes", [("agent", "by agent"), ("priority", "by priority")], none="none"),
        _chip(by, "moved", "Changed", [("today", "within a day")]),
        _chip(by, "status", "Column", [*columns, ("other", "Other")]),
    ]


def _chip(
    by: Filters, name: str, title: str, choices: list[tuple[object, str]], none: str = "any"
) -> dict[str, object]:
    now = getattr(by, name)
    words = {str(value): label for value, label in choices}
    return {
        "name": name,
        "title": title,
        "value": now,
        "now": words.get(now, now) or none,
        "on": bool(now),
        "none": none,
        "clear": by.address(**{name: ""}),
        "choices": [
            {"label": label, "query": by.address(**{name: str(value)}), "chosen": str(value) == now}
            for value, label in choices
        ],
    }


def _deleted(raw: str) -> BacklogItem | None:
    """The story that was just deleted and can be brought back."""
    number = whole_number(raw)
    return BacklogItem.objects.filter(pk=number or 0, deleted_at__isnull=False).first()
