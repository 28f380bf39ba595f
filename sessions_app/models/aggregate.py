"""What extensions of agents keep: small documents under a key, changed by compare-and-swap."""

from django.db import models

from contextdash.limits import AGGREGATE_KEY_CHARS, NAME_CHARS, SCOPE_CHARS
from sessions_app.models.session import Session


class Aggregate(models.Model):
    """One document of an extension. ``version`` counts its changes. Times in µs, UTC."""

    extension = models.CharField(max_length=NAME_CHARS)
    kind = models.CharField(max_length=NAME_CHARS)
    aggregate_key = models.CharField(max_length=AGGREGATE_KEY_CHARS)
    scope = models.CharField(
        max_length=SCOPE_CHARS, default="global", help_text="What it belongs to: global, session:id, run:7…"
    )
    session = models.ForeignKey(
        Session,
        null=True,
        blank=True,
        on_delete=models.DB_CASCADE,
        related_name="aggregates",
        help_text="The session that its scope lies in.",
    )
    index_data = models.JSONField(null=True, blank=True, help_text="What it is looked for by.")
    content = models.JSONField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    created_us = models.BigIntegerField()
    updated_us = models.BigIntegerField()

    class Meta:
        db_table = "aggregates"
        ordering = ["-updated_us", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["extension", "kind", "aggregate_key", "scope"], name="one_aggregate_per_key"
            ),
        ]
        indexes = [
            # The list of an extension, newest update first.
            models.Index(fields=["extension", "-updated_us", "-id"], name="aggregates_of_extension"),
        ]

    def __str__(self) -> str:
        return f"{self.extension} {self.kind} {self.aggregate_key}"
