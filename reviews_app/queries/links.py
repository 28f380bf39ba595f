"""What findings and decisions have to do with each other."""

from collections.abc import Sequence

from django.db.models import F

from reviews_app.models import Review
from reviews_app.queries.findings import heads
from sessions_app.models import Decision
from sessions_app.queries.texts import with_starts

LINKS = 100
CHOICE_CHARS = 200


def findings_of(decision_id: int) -> Sequence[Review]:
    """The open ones and the worst first."""
    rows = heads(Review.objects.filter(decisions__decision=decision_id))
    return list(rows.order_by(F("open_rank").asc(nulls_last=True), "severity_rank", "-ts", "-id")[:LINKS])


def decisions_of(review_id: int) -> Sequence[Decision]:
    """Newest first; ``choice_start`` holds CHOICE_CHARS and one more character."""
    rows = with_starts(
        Decision.objects.filter(findings__review=review_id), CHOICE_CHARS, "choice", "rationale"
    )
    return list(rows.order_by("-ts", "-id")[:LINKS])
