"""Plans: one entry a path, a rendered version, and what changed between two."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.queries.history import history_of
from contextdash.viewkit import actor_of, changes
from sessions_app.models import Plan
from sessions_app.queries import plans as queries
from sessions_app.queries.text_diff import Diff, compare
from sessions_app.services.plans import change_plan
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
