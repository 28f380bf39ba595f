"""Findings and the gate in the JSON API, with the column names of the older system."""

import base64
import binascii
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Status

from contextdash import clock
from contextdash.actor import Actor
from contextdash.apikit import (
    JSON,
    Bearer,
    Body,
    Browser,
    Paging,
    PatchBody,
    allow,
    if_match,
    listed,
    once,
    once_told,
    once_told_slowly,
)
from contextdash.errors import Invalid
from contextdash.models.token import Scope
from reviews_app.models import Review
from reviews_app.queries import diffs, findings
from reviews_app.queries.findings import Filters, State
from reviews_app.sarif.reading import RESULTS
from reviews_app.sarif.writing import write_sarif
from reviews_app.services import gate, reviews
from reviews_app.services.sarif import import_sarif
from sessions_app.services.belonging import project_of_slug, told_time

router = Router(tags=["reviews"])
SARIF = JSON | {"application/sarif+json"}


class ReviewBody(Body):
    target: str
    severity: str
    finding: str
    suggested_fix: str | None = None
    code_context: str | None = Field(None, description="The lines or the hunk that the finding is about.")
    rule_id: str | None = None
    reviewer_agent: str | None = None
    diff_hash: str | None = None
    session_id: str | None = None
    project: str | None = Field(None, description="A project's slug; else the session's project.")
    ts: str | int | float | None = None


class ReviewPatch(PatchBody):
    target: str | None = None
    severity: str | None = None
    finding: str | None = None
    suggested_fix: str | None = None
    code_context: str | None = None
    reviewer_agent: str | None = None
    diff_hash: str | None = None
    resolution: str | None = Field(None, description="resolved, dismissed or reopened; each needs a reason.")


class BulkBody(Body):
    ids: list[int]
    resolution: str
    reason: str = ""


class ReviewFilters(Paging):
    session: str = ""
    agent: str = Field("", description="The reviewer.")
    project: str = ""
    severity: str = ""
    state: State = State.ALL
    target: str = Field("", description="A file, or a folder with all that is below it.")
    diff_hash: str = ""


class GateBody(Body):
    """One of ``diff_hash``, ``diff`` (its text) and ``diff_base64`` (its bytes)."""

    diff_hash: str | None = None
    diff: str | None = None
    diff_base64: str | None = None
    files: list[str] = Field([], description="With a hash: the files of the diff.", max_length=20_000)
    skip: str = Field(
        "", description="Why the diff is not to be judged, such as env-override.", max_length=200
    )
    window: str = Field("", description="Such as 30m, 2h or 7d; else what the server is set to, 2h.")
    session_id: str | None = None
    hook_name: str = Field(gate.HOOK_NAME, max_length=200)


def review_out(review: Review) -> dict[str, Any]:
    return {
        "id": review.pk,
        "session_id": review.session_id,
        "project_id": review.project_id,
        "target": review.target,
        "severity": review.severity,
        "severity_rank": review.severity_rank,
        "finding": review.finding,
        "suggested_fix": review.suggested_fix,
        "code_context": review.code_context,
        "rule_id": review.rule_id,
        "reviewer_agent": review.reviewer_agent,
        "diff_hash": review.diff_hash,
        "resolution": review.resolution,
        "resolved_at": clock.iso(review.resolved_at) if review.resolved_at else None,
        "ts": clock.iso(review.ts),
        "version": review.version,
    }


def verdict_out(verdict: diffs.Verdict) -> dict[str, Any]:
    return {
        "answer": verdict.answer.value,
        "passes": verdict.passes,
        "diff_hash": verdict.key,
        "reason": verdict.skip,
        "window": clock.window_text(verdict.window),
        "critical": verdict.critical,
        "high": verdict.high,
        "reviewed_at": clock.iso(verdict.reviewed_at) if verdict.reviewed_at else None,
        "fresh_until": clock.iso(verdict.fresh_until) if verdict.fresh_until else None,
        "reviews": [
            {
                "id": row.pk,
                "severity": row.severity,
                "target": row.target,
                "finding": row.head,  # type: ignore[attr-defined]  # annotated by the query
                "resolution": row.resolution,
                "reviewer_agent": row.reviewer_agent,
                "ts": clock.iso(row.ts),
            }
            for row in verdict.rows
        ],
    }


def create_review(actor: Actor, payload: ReviewBody) -> Review:
    return reviews.log_review(
        target=payload.target,
        severity=payload.severity,
        finding=payload.finding,
        suggested_fix=payload.suggested_fix,
        code_context=payload.code_context,
        rule_id=payload.rule_id,
        reviewer_agent=payload.reviewer_agent,
        diff_hash=payload.diff_hash,
        actor=actor,
        session=payload.session_id,
        project=project_of_slug(payload.project),
        at=told_time(payload.ts),
    )


@router.post("", response={201: dict[str, Any]}, summary="Log a review finding")
def create(request: HttpRequest, payload: ReviewBody) -> Status[dict[str, Any]]:
    actor = allow(request, Scope.WRITE)
    made = once(request, actor, Review, lambda: create_review(actor, payload))
    return Status(201, review_out(made))


@router.get("", response=dict[str, Any], summary="Findings, newest first")
def index(request: HttpRequest, query: Query[ReviewFilters]) -> dict[str, Any]:
    allow(request, Scope.READ)
    return listed(findings.newest(_filters(query), limit=query.limit, cursor=query.cursor), review_out)


@router.get("/fresh", response=dict[str, Any], summary="Was this diff reviewed within the window?")
def fresh(request: HttpRequest, diff_hash: str, window: str = "") -> dict[str, Any]:
    """Any finding with the hash counts, of any session and severity. The gate is the stricter question."""
    allow(request, Scope.READ)
    found = diffs.fresh_review(diff_hash, window=gate.window_of(window))
    return {"fresh": found is not None, "review": None if found is None else review_out(found)}


@router.post("/gate", response=dict[str, Any], summary="May this diff be committed?")
def ask(request: HttpRequest, payload: GateBody) -> dict[str, Any]:
    """``fresh`` and ``skipped`` pass; ``blocked``, ``stale`` and ``unknown`` do not. Each answer is a row of
    hook_events."""
    actor = allow(request, Scope.WRITE)
    asked, window = _asked(payload), gate.window_of(payload.window)

    def act() -> dict[str, Any]:
        verdict = gate.ask_gate(
            asked=asked,
            window=window,
            actor=actor,
            session_id=payload.session_id,
            hook_name=payload.hook_name,
        )
        return verdict_out(verdict)

    return dict(once_told(request, actor, "gate", act))


@router.post("/bulk", response=dict[str, Any], summary="Resolve, dismiss or reopen findings together")
def bulk(request: HttpRequest, payload: BulkBody) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)

    def act() -> dict[str, Any]:
        outcome = reviews.set_resolution_of_many(
            ids=payload.ids, to=payload.resolution, actor=actor, reason=payload.reason
        )
        return {
            "changed": [review.pk for review in outcome.changed],
            "refused": [
                {"id": pk, "error": error.code, "detail": error.detail} for pk, error in outcome.refused
            ],
        }

    told = once_told(request, actor, "reviews", act)
    rows = Review.objects.in_bulk(told["changed"])
    return {
        "items": [review_out(rows[pk]) for pk in told["changed"] if pk in rows],
        "refused": told["refused"],
    }


@router.get("/sarif", summary="Findings as a SARIF 2.1.0 log")
def export_sarif(request: HttpRequest, query: Query[ReviewFilters]) -> HttpResponse:
    """The filters of the list; at most 5,000 findings, the worst first."""
    allow(request, Scope.READ)
    rows, reasons = findings.for_export(_filters(query), limit=RESULTS)
    return HttpResponse(write_sarif(rows, reasons), content_type="application/sarif+json")


@router.post(
    "/sarif",
    response=dict[str, Any],
    auth=[Bearer(SARIF), Browser(SARIF)],
    summary="Import a SARIF 2.1.0 log",
)
def take_sarif(
    request: HttpRequest,
    session_id: str | None = None,
    project: str | None = None,
    diff_hash: str | None = None,
) -> dict[str, Any]:
    """Each result once, however often it is sent. An invalid log imports nothing and is told the path of its
    first error."""
    actor = allow(request, Scope.WRITE)

    def act() -> dict[str, Any]:
        outcome = import_sarif(
            raw=request.body,
            actor=actor,
            session=session_id or None,
            project=project_of_slug(project),
            diff_hash=diff_hash or None,
        )
        return {"added": [review.pk for review in outcome.added], "known": outcome.known}

    return dict(once_told_slowly(request, actor, "reviews", act))


@router.get("/{int:review_id}", response=dict[str, Any], summary="One finding with its history")
def one(request: HttpRequest, review_id: int) -> dict[str, Any]:
    allow(request, Scope.READ)
    review = findings.finding_of(review_id)
    changes = [
        {
            "field": change.field,
            "old": change.old,
            "new": change.new,
            "by": change.token.name if change.token else change.user.get_username() if change.user else None,
            "reason": change.reason,
            "at": clock.iso(change.at),
        }
        for change in findings.history(review)
    ]
    return {**review_out(review), "history": changes}


@router.patch("/{int:review_id}", response=dict[str, Any], summary="Correct, resolve, dismiss or reopen")
def change(request: HttpRequest, review_id: int, payload: ReviewPatch) -> dict[str, Any]:
    actor = allow(request, Scope.WRITE)
    changed = reviews.change_review(
        review=findings.finding_of(review_id),
        values=payload.values(),
        actor=actor,
        reason=payload.reason,
        expected_version=if_match(request),
    )
    return review_out(changed)


def _filters(query: ReviewFilters) -> Filters:
    severity = findings.rank_of_name(query.severity) if query.severity else None
    if query.severity and severity is None:
        raise Invalid("severity is Critical, High, Medium, Low, Info or Other.", field="severity")
    return Filters(
        state=query.state,
        severity=severity,
        file=query.target,
        diff=query.diff_hash,
        reviewer=query.agent,
        session=query.session,
        project=query.project,
    )


def _asked(payload: GateBody) -> gate.Asked:
    given = [value for value in (payload.diff_hash, payload.diff, payload.diff_base64) if value is not None]
    if len(given) != 1:
        raise Invalid("Send one of diff_hash, diff and diff_base64.", field="diff_hash")
    if payload.diff_hash is not None:
        return gate.asked_by_hash(payload.diff_hash, files=payload.files, skip=payload.skip)
    if payload.diff is not None:
        return gate.asked_by_diff(payload.diff.encode("utf-8", "replace"))
    try:
        raw = base64.b64decode(payload.diff_base64 or "", validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("diff_base64 is not base64.", field="diff_base64") from None
    return gate.asked_by_diff(raw)
