"""Mistakes: what recurs, one mistake, recorded and corrected by people."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.errors import Refused
from contextdash.queries.history import history_of
from contextdash.viewkit import actor_of, changes
from sessions_app.forms_memory import MistakeEditForm, MistakeForm
from sessions_app.models import Mistake
from sessions_app.queries import mistakes as queries
from sessions_app.queries.lessons import lesson
from sessions_app.services import mistakes as services
from sessions_app.services.mistakes import lesson_path
from sessions_app.views.listing import address, by_day, choices, cleared, download, paging
from sessions_app.vocabulary import MistakeCategory

PAGE_ROWS = 30
FIELDS = ("summary", "category", "agent_name", "root_cause", "fix", "lesson_md", "lesson_file")


@require_GET
def mistake_list(request: HttpRequest) -> HttpResponse:
    version = queries.list_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    query = request.GET
    filters = queries.Filters(
        project=query.get("project") or None,
        session=query.get("session") or None,
        agent=query.get("agent") or None,
        category=query.get("category") or None,
        cause=query.get("cause") or None,
        text=query.get("q", "").strip()[:200] or None,
        without_lesson=query.get("lesson") == "none",
    )
    found = queries.mistake_list(
        filters, limit=PAGE_ROWS, cursor=query.get("cursor"), chars=queries.ENTRY_CHARS
    )
    overview = queries.overview(filters.project)
    highest = max(1, *(week.count for week in overview.weeks))
    names = ("session", "agent", "category", "cause", "q", "lesson")
    context = {
        "nav": "mistakes",
        "days": by_day(found.items, lambda mistake: mistake.ts),
        "overview": overview,
        "overview_of": queries.OVERVIEW_OF,
        "highest": highest,
        "bars": [
            {"x": at * 10 + 1, "y": 100 - 100 * week.count // highest, "height": 100 * week.count // highest}
            for at, week in enumerate(overview.weeks)
        ],
        "categories": [
            (category, address(query, category=category.name, cursor=None))
            for category in overview.categories
        ],
        "causes": [(cause, address(query, cause=cause.key, cursor=None)) for cause in overview.causes],
        "cause": next((cause for cause in overview.causes if cause.key == filters.cause), None),
        "all_url": address(query, category=None, cursor=None),
        "lesson_url": address(query, lesson=None if filters.without_lesson else "none", cursor=None),
        "agents": choices(query, "agent", [("", "Anyone"), *((name, name) for name in overview.agents)]),
        "filters": filters,
        "filtered": any(query.get(name) for name in names),
        "clear_url": cleared(query),
        **paging(query, found.next),
    }
    return live.respond(request, "mistakes/list.html", context, version=version, fragment="live")


@require_GET
def mistake_page(request: HttpRequest, pk: int) -> HttpResponse:
    version = queries.list_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    mistake = queries.mistake_of(pk)
    context = {
        "nav": "mistakes",
        "mistake": mistake,
        "same": queries.same_cause(mistake),
        "history": history_of("mistakes", mistake.pk),
        "live_url": address(request.GET),
    }
    return live.respond(request, "mistakes/page.html", context, version=version, fragment="live")


@require_GET
def mistake_lesson(request: HttpRequest, pk: int) -> HttpResponse:
    mistake = queries.mistake_of(pk)
    return download(lesson(mistake), lesson_path(mistake.summary, mistake.ts).rpartition("/")[2])


@require_GET
def mistake_new(request: HttpRequest) -> HttpResponse:
    names = ("summary", "category", "agent_name", "project", "session", "root_cause")
    initial = {name: request.GET[name] for name in names if request.GET.get(name)}
    return _new(request, MistakeForm(initial={"agent_name": actor_of(request).name, **initial}))


@changes
def mistake_record(request: HttpRequest) -> HttpResponse:
    form = MistakeForm(request.POST)
    if form.is_valid():
        told = form.cleaned_data
        try:
            mistake = services.log_mistake(
                agent_name=told["agent_name"],
                summary=told["summary"],
                category=told["category"],
                root_cause=told["root_cause"] or None,
                fix=told["fix"] or None,
                lesson_file=told["lesson_file"] or None,
                lesson_md=told["lesson_md"] or None,
                project=told["project"],
                session=told["session"] or None,
                actor=actor_of(request),
            )
        except Refused as refused:
            form.add_error(refused.field if refused.field in form.fields else None, refused.detail)
        else:
            return redirect("mistake", mistake.pk)
    return _new(request, form, status=422)


@require_GET
def mistake_edit(request: HttpRequest, pk: int) -> HttpResponse:
    mistake = queries.mistake_of(pk)
    initial = {name: getattr(mistake, name) for name in (*FIELDS, "version")}
    return _edit(request, mistake, MistakeEditForm(initial=initial))


@changes
def mistake_change(request: HttpRequest, pk: int) -> HttpResponse:
    mistake = queries.mistake_of(pk)
    form = MistakeEditForm(request.POST)
    if form.is_valid():
        told = form.cleaned_data
        values = {name: told[name] for name in FIELDS}
        for name in ("root_cause", "fix", "lesson_md", "lesson_file"):
            values[name] = values[name] or None
        try:
            services.change_mistake(
                mistake=mistake,
                values=values,
                actor=actor_of(request),
                reason=told["reason"],
                expected_version=told["version"],
            )
        except Refused as refused:
            form.add_error(refused.field if refused.field in form.fields else None, refused.detail)
        else:
            return redirect("mistake", pk)
    return _edit(request, mistake, form, status=422)


def _new(request: HttpRequest, form: MistakeForm, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {"nav": "mistakes", "form": form, "categories": MistakeCategory.values}
    return render(request, "mistakes/form.html", context, status=status)


def _edit(request: HttpRequest, mistake: Mistake, form: MistakeEditForm, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {
        "nav": "mistakes",
        "form": form,
        "mistake": mistake,
        "categories": MistakeCategory.values,
    }
    return render(request, "mistakes/form.html", context, status=status)
