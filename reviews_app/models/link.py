from django.db import models

from reviews_app.models.review import Review
from sessions_app.models import Decision


class FindingDecision(models.Model):
    """A finding's tie to a decision: the one that it led to, or the one that it speaks against."""

    review = models.ForeignKey(Review, on_delete=models.DB_CASCADE, related_name="decisions", db_index=False)
    decision = models.ForeignKey(
        Decision, on_delete=models.DB_CASCADE, related_name="findings", db_index=False
    )
    created_at = models.DateTimeField()

    class Meta:
        db_table = "finding_decisions"
        ordering = ["id"]
        constraints = [
            # Also serves the decisions of a finding.
            models.UniqueConstraint(fields=["review", "decision"], name="one_link_per_finding_and_decision")
        ]
        # The findings of a decision.
        indexes = [models.Index(fields=["decision", "review"], name="findings_of_decision")]

    def __str__(self) -> str:
        return f"R-{self.review_id} D-{self.decision_id}"
