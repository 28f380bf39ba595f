"""The counts that pages show, moved in the transaction of the write that changes them."""

from django.db.models import F

from reviews_app.models import Review, ReviewTally


def count_in(review: Review) -> None:
    """One more finding of this kind. Call it inside the write."""
    _move(review, 1)


def count_out(review: Review) -> None:
    """One less; call it before the row changes, and ``count_in`` after."""
    _move(review, -1)


def _move(review: Review, by: int) -> None:
    kind = {
        "project_id": review.project_id,
        "reviewer_agent": review.reviewer_agent,
        "severity_rank": review.severity_rank,
        "resolution": review.resolution,
    }
    # By key, so that of two rows for the same kind only one moves.
    known = ReviewTally.objects.filter(**kind).order_by("id").values_list("id", flat=True).first()
    if known is None:
        ReviewTally.objects.create(**kind, count=by, writes=1)
    else:
        ReviewTally.objects.filter(id=known).update(count=F("count") + by, writes=F("writes") + 1)
