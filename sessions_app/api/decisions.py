"""Decisions: ``POST decisions`` logs, ``GET`` reads the log or one, ``PATCH`` changes with a reason."""

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from contextdash.actor import Actor
from contextdash.apikit import Body, Paging, PatchBody, all_listed, allow, if_match, listed, once, once_told
from contextdash.clock import iso
from contextdash.limits import READ_RECENT_CHARS
from contextdash.models.token import Scope
from sessions_app.models import Decision
from sessions_app.queries import adr
from sessions_app.queries import decisions as queries
from sessions_app.queries.sessions_api import session_id_of
from sessions_app.queries.texts import text_or_start
from sessions_app.related import relations
from sessions_app.services.belonging import project_of_slug, told_time
from sessions_app.services.decisions import change_decision, log_decision, settle_conflict
from sessions_app.vocabulary import DecisionStatus

router = Router(tags=["decisions"])


class DecisionIn(Body):
    topic: str
    choice: str
    rationale: str = ""
    agent_name: str | None = "orchestrator"
    """Null or empty: the session's agent, else who calls."""
    session_id: str | None = None
    project: str | None = None
    """A project's slug; without it the session's project."""
    supersedes: int | None = None
    """The id of the decision whose place this one takes."""
    status: str | None = None
    """stands, conflict or superseded; another word is kept as sent."""
    ts: str | int | float | None = None


class DecisionPatch(PatchBody):
    topic: str | None = None
    choice: str | None = None
    rationale: str | None = None
    agent_name: str | None = None
    status: str | None = None
    superseded_by: int | None = None
    """The id of the decision that took its place; this sets the status as well."""


class SettleIn(Body):
    others: list[int] = Field(max_length=50)
    """What contradicts it; these are superseded by it."""
    reason: str


class DecisionWanted(Schema):
    session: str | None = None
    agent: str | None = None
    project: str | None = None
    topic: str | None = None
    status: str | None = None


class DecisionFilters(Paging, DecisionWanted):
    pass


class ExportFilters(DecisionWanted):
    format: Literal["zip", "md"] = "zip"


class DecisionOut(Schema):
    id: int
    session_id: str | None
    project: str | None
    topic: str
    choice: str
    rationale: str
    agent_name: str
    status: str
    superseded_by: int | None
    ts: str
    version: int


class LinkOut(Schema):
    kind: str
    """finding or story."""
    ref: str
    title: str
    state: str


class DecisionDetail(DecisionOut):
    links: list[LinkOut]
    """Findings and stories that are tied to it."""
    possible_conflicts: list[int]
    """While it holds, others that stand on its topic and project; a person says whether they contradict."""


class DecisionList(Schema):
    items: list[DecisionOut]
    next: str | None


def out(decision: Decision) -> dict[str, Any]:
    return {
        "id": decision.pk,
        "session_id": decision.session_id,
        "project": decision.project.slug if decision.project else None,
        "topic": decision.topic,
        "choice": text_or_start(decision, "choice", READ_RECENT_CHARS),
        "rationale": text_or_start(decision, "rationale", READ_RECENT_CHARS),
        "agent_name": decision.agent_name,
        "status": decision.status,
        "superseded_by": decision.superseded_by_id,
        "ts": iso(decision.ts),
        "version": decision.version,
    }


def _wanted(filters: DecisionWanted) -> queries.Filters:
    return queries.Filters(
        session=session_id_of(filters.session),
        agent=filters.agent,
        project=filters.project,
        topic=filters.topic,
        status=[filters.status] if filters.status else (),
    )


def detail(decision: Decision) -> dict[str, Any]:
    holds = decision.status in (DecisionStatus.STANDS, DecisionStatus.CONFLICT)
    others = [other.pk for other in queries.possible_conflicts(decision)] if holds else []
    links = [
        {"kind": group.kind, "ref": thing.ref, "title": thing.title, "state": thing.state}
        for group in relations.of("decision", decision.pk)
        for thing in group.things
    ]
    return {**out(decision), "links": links, "possible_conflicts": others}


def create_decision(actor: Actor, payload: DecisionIn) -> Decision:
    return log_decision(
        session=payload.session_id,
        project=project_of_slug(payload.project),
        topic=payload.topic,
        choice=payload.choice,
        rationale=payload.rationale,
        agent_name=payload.agent_name or "",
        supersedes=payload.supersedes,
        status=payload.status,
        at=told_time(payload.ts),
        actor=actor,
    )


@router.post("", response={201: DecisionDetail}, summary="Log a decision")
def create(request: HttpRequest, payload: DecisionIn) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    decision = once(request, actor, Decision, lambda: create_decision(actor, payload))
    return detail(decision)


@router.get("", response=DecisionList, summary="The decision log, newest first")
def many(request: HttpRequest, filters: Query[DecisionFilters]) -> dict[str, Any]:
    """Long texts are cut after 10,000 characters and then end with an ellipsis."""
    allow(request, Scope.READ)
    found = queries.decision_log(
        _wanted(filters), limit=filters.limit, cursor=filters.cursor, chars=READ_RECENT_CHARS
    )
    return listed(found, out)


@router.get("/export", summary="The log as Markdown ADR files in a zip")
def export(request: HttpRequest, filters: Query[ExportFilters]) -> HttpResponse:
    """The newest 5,000 that the filters let through; ``format=md`` gives one Markdown text instead."""
    allow(request, Scope.READ)
    decisions = adr.exported(_wanted(filters))
    if filters.format == "md":
        return HttpResponse(adr.as_page(decisions), content_type="text/markdown; charset=utf-8")
    return HttpResponse(adr.as_zip(decisions), content_type="application/zip")


@router.get("/{int:decision_id}", response=DecisionDetail, summary="One decision")
def one(request: HttpRequest, decision_id: int) -> dict[str, Any]:
    allow(request, Scope.READ)
    return detail(queries.decision_of(decision_id))


@router.get("/{int:decision_id}/record", summary="One decision as a Markdown ADR")
def record(request: HttpRequest, decision_id: int) -> HttpResponse:
    allow(request, Scope.READ)
    text = adr.as_record(queries.decision_of(decision_id))
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")


@router.post("/{int:decision_id}/settle", response=DecisionList, summary="Settle a contradiction")
def settle(request: HttpRequest, decision_id: int, payload: SettleIn) -> dict[str, Any]:
    """This one stands, the others are superseded by it: all of it, or nothing."""
    actor = allow(request, Scope.WRITE)
    keep = queries.decision_of(decision_id)
    decisions = [keep, *(queries.decision_of(pk) for pk in payload.others)]

    def act() -> int:
        settle_conflict(decisions=decisions, keep=keep, actor=actor, reason=payload.reason)
        return keep.pk

    once_told(request, actor, "decisions", act)
    return all_listed([queries.decision_of(decision.pk) for decision in decisions], out)


@router.patch("/{int:decision_id}", response=DecisionDetail, summary="Change a decision")
def change(request: HttpRequest, decision_id: int, payload: DecisionPatch) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    decision = change_decision(
        decision=queries.decision_of(decision_id),
        values=payload.values(),
        actor=actor,
        reason=payload.reason,
        expected_version=if_match(request),
    )
    return detail(decision)
