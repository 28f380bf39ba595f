"""A finding and a decision are tied, or cut apart, from the page of either."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from contextdash.errors import Invalid, NotFound
from contextdash.viewkit import actor_of, changes, next_address, whole_number
from reviews_app.models import Review
from reviews_app.queries import findings
from reviews_app.services import links
from sessions_app.models import Decision
from sessions_app.queries.decisions import decision_of


@changes
def link(request: HttpRequest) -> HttpResponse:
    """``finding`` or ``decision`` is the page's own; ``ref`` names the other."""
    review, decision = _both(request)
    links.link_decision(review=review, decision=decision, actor=actor_of(request))
    return redirect(next_address(request, otherwise=reverse("review", args=[review.pk])))


@changes
def unlink(request: HttpRequest) -> HttpResponse:
    review, decision = _both(request)
    links.unlink_decision(review=review, decision=decision, actor=actor_of(request))
    return redirect(next_address(request, otherwise=reverse("review", args=[review.pk])))


def _both(request: HttpRequest) -> tuple[Review, Decision]:
    told = request.POST
    finding = _number(told.get("finding") or told.get("ref", ""), "R-")
    review = findings.finding(finding)
    if review is None:
        raise NotFound(f"There is no finding R-{finding}.")
    return review, decision_of(_number(told.get("decision") or told.get("ref", ""), "D-"))


def _number(text: str, mark: str) -> int:
    number = whole_number(text.strip().upper().removeprefix(mark))
    if number is None:
        raise Invalid(f"Name it by its number, such as {mark}12.", field="ref")
    return number
