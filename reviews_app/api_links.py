"""The decisions that a finding is tied to."""

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema, Status

from contextdash.apikit import Body, allow, once
from contextdash.models.token import Scope
from reviews_app.models import Review
from reviews_app.models.link import FindingDecision
from reviews_app.queries import findings, links
from reviews_app.services.links import link_decision, unlink_decision
from sessions_app.queries.decisions import decision_of
from sessions_app.queries.texts import text_or_start

router = Router(tags=["reviews"])


class LinkIn(Body):
    decision_id: int
    reason: str = ""


class LinkedDecision(Schema):
    id: int
    topic: str
    choice: str
    status: str


class LinkedDecisions(Schema):
    items: list[LinkedDecision]
    next: str | None


@router.get("/{int:review_id}/decisions", response=LinkedDecisions, summary="The decisions of a finding")
def decisions(request: HttpRequest, review_id: int) -> dict[str, Any]:
    """Newest first, at most 100; choices are cut after 200 characters."""
    allow(request, Scope.READ)
    return _linked(findings.finding_of(review_id))


@router.post("/{int:review_id}/decisions", response={201: LinkedDecisions}, summary="Link a decision")
def link(request: HttpRequest, review_id: int, payload: LinkIn) -> Status[Any]:
    """Twice is once."""
    actor = allow(request, Scope.WRITE)
    review, decision = findings.finding_of(review_id), decision_of(payload.decision_id)
    once(
        request,
        actor,
        FindingDecision,
        lambda: link_decision(review=review, decision=decision, actor=actor, reason=payload.reason),
    )
    return Status(201, _linked(review))


@router.delete(
    "/{int:review_id}/decisions/{int:decision_id}", response={204: None}, summary="Unlink a decision"
)
def unlink(request: HttpRequest, review_id: int, decision_id: int, reason: str = "") -> Status[None]:
    actor = allow(request, Scope.WRITE)
    review, decision = findings.finding_of(review_id), decision_of(decision_id)
    unlink_decision(review=review, decision=decision, actor=actor, reason=reason)
    return Status(204, None)


def _linked(review: Review) -> dict[str, Any]:
    items = [
        {
            "id": row.pk,
            "topic": row.topic,
            "choice": text_or_start(row, "choice", links.CHOICE_CHARS),
            "status": row.status,
        }
        for row in links.decisions_of(review.pk)
    ]
    return {"items": items, "next": None}
