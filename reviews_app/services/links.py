"""Findings are tied to decisions, with a line in the history of both."""

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import NotFound
from contextdash.services.changing import record
from contextdash.writer import write
from reviews_app.models import Review
from reviews_app.models.link import FindingDecision
from reviews_app.services.tally import count_in, count_out
from sessions_app.models import Decision


@write
def link_decision(*, review: Review, decision: Decision, actor: Actor, reason: str = "") -> FindingDecision:
    """Tie a finding to a decision; twice is once."""
    made, new = FindingDecision.objects.get_or_create(
        review=review, decision=decision, defaults={"created_at": clock.now()}
    )
    if new:
        _told(review, decision, actor, reason, linked=True)
    return made


@write
def unlink_decision(*, review: Review, decision: Decision, actor: Actor, reason: str = "") -> None:
    """
    Raises:
        NotFound: they are not linked.
    """
    gone, _ = FindingDecision.objects.filter(review=review, decision=decision).delete()
    if not gone:
        raise NotFound(f"R-{review.pk} is not linked to D-{decision.pk}.")
    _told(review, decision, actor, reason, linked=False)


def _told(review: Review, decision: Decision, actor: Actor, reason: str, *, linked: bool) -> None:
    for noun, row, field, other in (
        ("reviews", review.pk, "decision", f"D-{decision.pk}"),
        ("decisions", decision.pk, "finding", f"R-{review.pk}"),
    ):
        old, new = (None, other) if linked else (other, None)
        record(noun=noun, row_id=row, field=field, old=old, new=new, actor=actor, reason=reason)
    # Pages of findings ask the tallies whether anything is new.
    count_out(review)
    count_in(review)
