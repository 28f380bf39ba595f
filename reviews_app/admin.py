from typing import Any

from django.contrib import admin

from contextdash.adminkit import Corrections, ReadOnly, head, words
from reviews_app.models import FindingDecision, Resolution, Review, ReviewTally, Severity
from reviews_app.services.reviews import change_review


@admin.register(Review)
class ReviewAdmin(Corrections):
    list_display = ("id", "severity", "target", head("finding"), "reviewer_agent", "resolution", "ts")
    list_filter = (words("severity", Severity), words("resolution", Resolution))
    search_fields = ("target", "finding", "diff_key__startswith", "=session__id")
    heads = ("finding", "suggested_fix", "code_context")
    correctable = (
        "target",
        "severity",
        "finding",
        "suggested_fix",
        "code_context",
        "reviewer_agent",
        "diff_hash",
        "resolution",
    )

    def correct(self, row: Review, values: dict[str, Any], **told: Any) -> None:
        change_review(review=row, values=values, **told)


@admin.register(ReviewTally)
class ReviewTallyAdmin(ReadOnly):
    list_display = ("project", "reviewer_agent", "severity_rank", "resolution", "count")
    list_select_related = ("project",)
    search_fields = ("reviewer_agent",)


@admin.register(FindingDecision)
class FindingDecisionAdmin(ReadOnly):
    list_display = ("review_id", "decision_id", "created_at")
    search_fields = ("=review__id", "=decision__id")
