"""Plans: one entry a path, a rendered version, and what changed between two."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.errors import Refused
from contextdash.queries.history import history_of
from contextdash.viewkit import actor_of, changes, refused_field, whole_number
from sessions_app.forms_memory import PlanForm
from sessions_app.models import Plan
from sessions_app.queries import plans as queries
from sessions_app.queries.offered import offered_sessions
from sessions_app.queries.session import find_session
from sessions_app.queries.text_diff import Diff, compare
from sessions_app.services.plans import change_plan, snapshot_plan
from sessions_app.views.listing import address, by_day, choices, cleared, given_reason, paging, reading
from sessions_app.vocabulary import PlanStatus

PAGE_ROWS = 50


@require_GET
def plan_list(request: HttpRequest) -> HttpResponse:
    version = queries.list_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    query = request.GET
    filters = queries.Filters(
        project=query.get("project") or None,
        session=query.get("session") or None,
        agent=query.get("agent") or None,
        status=[state for state in query.getlist("state") if state],
        text=query.get("q", "").strip()[:200] or None,
    )
    found = queries.plan_list(filters, limit=PAGE_ROWS, cursor=query.get("cursor"))
    context = {
        "nav": "plans",
        "days": by_day(found.items, lambda plan: plan.ts),
        "filters": filters,
        "filtered": any(query.get(name) for name in ("session", "agent", "state", "q")),
        "states": [(value, value in filters.status) for value in PlanStatus.values],
        "agents": choices(
            query, "agent", [("", "Anyone"), *((name, name) for name in queries.agents(filters.project))]
        ),
        "clear_url": cleared(query),
        **paging(query, found.next),
    }
    return live.respond(request, "plans/list.html", context, version=version, fragment="live")


@require_GET
def plan_page(request: HttpRequest, pk: int) -> HttpResponse:
    """``against=N`` compares with version N, ``side=1`` side by side; ``all=1`` shows a long text whole."""
    version = queries.list_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    query = request.GET
    plan = queries.plan_of(pk)
    versions = queries.versions_of(plan)
    other, diff = _comparison(plan, query.get("against", ""))
    context = {
        "nav": "plans",
        "plan": plan,
        "versions": versions,
        "previous": plan.number - 1,
        "reading": reading(plan.body_md, query),
        "other": other,
        "diff": diff,
        "side": query.get("side") == "1",
        "statuses": PlanStatus.choices,
        "history": history_of("plans", plan.pk),
        "inline_url": address(query, side=None),
        "side_url": address(query, side="1"),
        "text_url": address(query, against=None, side=None),
        "live_url": address(query),
    }
    return live.respond(request, "plans/page.html", context, version=version, fragment="live")


@require_GET
def plan_new(request: HttpRequest) -> HttpResponse:
    """``of``: the plan that gets a new version."""
    of = whole_number(request.GET.get("of", ""))
    if of is None:
        names = ("path", "session", "project")
        told = {name: request.GET[name] for name in names if request.GET.get(name)}
        return _new(request, PlanForm(initial=told))
    plan = queries.plan_of(of)
    newest = queries.versions_of(plan)[0]
    initial: dict[str, Any] = {
        "path": plan.path,
        "title": plan.title,
        "body_md": plan.body_md,
        "status": newest.status,
        "session": plan.session_id,
        "project": plan.project.slug if plan.project else "",
        "seen": newest.number,
    }
    return _new(request, PlanForm(initial=initial), plan)


@changes
def plan_write(request: HttpRequest) -> HttpResponse:
    """A plan in the person's own name; of a known path a new version, when its text is another."""
    form = PlanForm(request.POST)
    if form.is_valid():
        told, actor = form.cleaned_data, actor_of(request)
        try:
            plan = snapshot_plan(
                session=find_session(told["session"]),
                title=told["title"] or None,
                path=told["path"],
                # Browsers send CRLF for every line end, which would make another text of it.
                body=told["body_md"].replace("\r\n", "\n"),
                created_by=actor.name,
                status=told["status"],
                project=told["project"],
                newest_seen=told["seen"],
                actor=actor,
            )
        except Refused as refused:
            form.add_error(refused_field(refused, form.fields, otherwise="session"), refused.detail)
        else:
            return redirect("plan", plan.pk)
    return _new(request, form, status=422)


def _new(request: HttpRequest, form: PlanForm, plan: Plan | None = None, status: int = 200) -> HttpResponse:
    context = {
        "nav": "plans",
        "form": form,
        "plan": plan,
        "following": (form.initial.get("seen") or 0) + 1,
        "lists": {"sessions": offered_sessions()},
        "action": reverse("plan_write"),
        "back": reverse("plan", args=[plan.pk]) if plan else reverse("plans"),
    }
    return render(request, "plans/new.html", context, status=status)


@changes
def plan_status(request: HttpRequest, pk: int) -> HttpResponse:
    change_plan(
        plan=queries.plan_of(pk),
        values={"status": request.POST.get("status", "")},
        actor=actor_of(request),
        reason=given_reason(request),
    )
    return redirect("plan", pk)


def _comparison(plan: Plan, against: str) -> tuple[Plan | None, Diff | None]:
    """The version to compare with and what changed since (or, where it is newer, until) it."""
    if not (against.isascii() and against.isdigit() and len(against) < 10) or int(against) == plan.number:
        return None, None
    other = queries.version_of(plan, int(against))
    older, newer = (other, plan) if other.number < plan.number else (plan, other)
    return other, compare(older.body_md, newer.body_md)
