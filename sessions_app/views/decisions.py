"""The decision log, one decision, and what people say about them."""

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.errors import Invalid, Refused
from contextdash.queries.history import history_of
from contextdash.viewkit import actor_of, changes
from sessions_app.forms_memory import DecisionForm
from sessions_app.models import Decision
from sessions_app.queries import adr
from sessions_app.queries import decisions as queries
from sessions_app.services import decisions as services
from sessions_app.views.listing import address, by_day, choices, cleared, download, given_reason, paging
from sessions_app.vocabulary import DecisionStatus

PAGE_ROWS = 30
SPANS = (("", "Any time"), ("7d", "Last 7 days"), ("30d", "Last 30 days"))


@require_GET
def decision_list(request: HttpRequest) -> HttpResponse:
    version = queries.log_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    query = request.GET
    project = query.get("project") or None
    filters = _filters(query)
    found = queries.decision_log(
        filters, limit=PAGE_ROWS, cursor=query.get("cursor"), chars=queries.ENTRY_CHARS
    )
    chains = queries.chains(found.items)
    rows = [(decision, chains.get(decision.pk, [])) for decision in found.items]
    filtered = any(query.get(name) for name in ("session", "agent", "topic", "state", "q", "since"))
    facets = queries.facets(project)
    context = {
        "nav": "decisions",
        "days": by_day(rows, lambda row: row[0].ts),
        "rows": rows,
        "contradictions": [] if query.get("cursor") else queries.contradictions(project),
        "topics": [(topic, address(query, topic=topic.name, cursor=None)) for topic in facets.topics],
        "topics_of": queries.TOPICS_OF,
        "counted": sum(topic.count for topic in facets.topics),
        "all_url": address(query, topic=None, cursor=None),
        "filters": filters,
        "filtered": filtered,
        "clear_url": cleared(query),
        "export_query": address(query, cursor=None),
        "agents": choices(query, "agent", [("", "Anyone"), *((name, name) for name in facets.agents)]),
        "states": [(value, value in filters.status) for value in DecisionStatus.values],
        "spans": choices(query, "since", SPANS),
        **paging(query, found.next),
    }
    return live.respond(request, "decisions/list.html", context, version=version, fragment="live")


@require_GET
def decision_page(request: HttpRequest, pk: int) -> HttpResponse:
    version = queries.log_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    decision = queries.decision_of(pk)
    context = {
        "nav": "decisions",
        "decision": decision,
        "chain": queries.chains([decision], steps=50).get(decision.pk, []),
        "others": queries.possible_conflicts(decision) if _holds(decision) else [],
        "history": history_of("decisions", decision.pk),
        "live_url": address(request.GET),
    }
    return live.respond(request, "decisions/page.html", context, version=version, fragment="live")


@require_GET
def decision_export(request: HttpRequest) -> HttpResponse:
    """What the log's filters let through: a zip of records, or with ``format=md`` one Markdown text."""
    decisions = adr.exported(_filters(request.GET))
    if request.GET.get("format") == "md":
        return download(adr.as_page(decisions), "decisions.md")
    return download(adr.as_zip(decisions), "decisions.zip")


@require_GET
def decision_record_file(request: HttpRequest, pk: int) -> HttpResponse:
    decision = queries.decision_of(pk)
    return download(adr.as_record(decision), adr.file_name(decision))


@require_GET
def decision_new(request: HttpRequest) -> HttpResponse:
    initial = {name: request.GET.get(name, "") for name in ("topic", "project", "session", "supersedes")}
    return _form(request, DecisionForm(initial=initial))


@changes
def decision_record(request: HttpRequest) -> HttpResponse:
    form = DecisionForm(request.POST)
    if form.is_valid():
        told = form.cleaned_data
        try:
            decision = services.log_decision(
                topic=told["topic"],
                choice=told["choice"],
                rationale=told["rationale"],
                supersedes=told["supersedes"],
                project=told["project"],
                session=told["session"] or None,
                agent_name=actor_of(request).name,
                actor=actor_of(request),
            )
        except Refused as refused:
            form.add_error(refused.field if refused.field in form.fields else None, refused.detail)
        else:
            return redirect("decision", decision.pk)
    return _form(request, form, status=422)


@changes
def decision_mark(request: HttpRequest, pk: int) -> HttpResponse:
    """``status`` of this one; ``by`` names its successor, ``other`` what it contradicts."""
    decision = queries.decision_of(pk)
    actor, reason = actor_of(request), given_reason(request)
    if request.POST.get("by"):
        later = queries.decision_of(_number(request.POST["by"], "by"))
        services.supersede(earlier=decision, later=later, actor=actor, reason=reason)
    elif request.POST.get("other"):
        other = queries.decision_of(_number(request.POST["other"], "other"))
        services.mark_conflict(decisions=[decision, other], actor=actor, reason=reason)
    else:
        status = request.POST.get("status", "")
        services.change_decision(decision=decision, values={"status": status}, actor=actor, reason=reason)
    return redirect("decision", pk)


@changes
def decision_settle(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep this one; ``others``, numbers parted by commas, are superseded by it."""
    keep = queries.decision_of(pk)
    others = _decisions(request.POST.get("others", ""))
    services.settle_conflict(
        decisions=[keep, *others], keep=keep, actor=actor_of(request), reason=given_reason(request)
    )
    return redirect(f"{reverse('decisions')}#d-{pk}")


@changes
def decision_all_stand(request: HttpRequest) -> HttpResponse:
    """``ids``, numbers parted by commas, do not contradict each other after all."""
    services.settle_conflict(
        decisions=_decisions(request.POST.get("ids", "")),
        keep=None,
        actor=actor_of(request),
        reason=given_reason(request),
    )
    return redirect("decisions")


def _filters(query: QueryDict) -> queries.Filters:
    return queries.Filters(
        project=query.get("project") or None,
        session=query.get("session") or None,
        agent=query.get("agent") or None,
        topic=query.get("topic") or None,
        status=[state for state in query.getlist("state") if state],
        text=query.get("q", "").strip()[:200] or None,
        since=query.get("since") or None,
    )


def _form(request: HttpRequest, form: DecisionForm, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {"nav": "decisions", "form": form, "topics": queries.facets(None).topics[:100]}
    return render(request, "decisions/new.html", context, status=status)


def _holds(decision: Decision) -> bool:
    return decision.status in (DecisionStatus.STANDS, DecisionStatus.CONFLICT)


def _number(text: str, field: str) -> int:
    digits = text.strip().upper().removeprefix("D-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise Invalid(f"{field} must be the number of a decision.", field=field)
    return int(digits)


def _decisions(ids: str) -> list[Decision]:
    return [queries.decision_of(_number(part, "ids")) for part in ids.split(",")[:50] if part.strip()]
