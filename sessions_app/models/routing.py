from django.db import models

from contextdash.limits import NAME_CHARS
from sessions_app.models.usage import Iteration


class RoutingEvent(models.Model):
    """What happened on the way to the model that answered: a retry, another provider, another model."""

    key = models.BigAutoField(primary_key=True)
    iteration = models.ForeignKey(
        Iteration, on_delete=models.DB_CASCADE, related_name="routing", db_index=False
    )
    position = models.PositiveIntegerField(help_text="Within the model call, from 0.")
    type = models.CharField(max_length=NAME_CHARS, help_text="llm.routing/provider-retry…")
    provider = models.CharField(max_length=100, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    from_provider = models.CharField(max_length=100, blank=True, default="")
    from_model = models.CharField(max_length=200, blank=True, default="")
    to_provider = models.CharField(max_length=100, blank=True, default="")
    to_model = models.CharField(max_length=200, blank=True, default="")
    status = models.IntegerField(null=True, blank=True, help_text="Of the answer over HTTP.")
    reason = models.CharField(max_length=NAME_CHARS, blank=True, default="")
    error = models.TextField(blank=True, default="")
    attempt = models.PositiveIntegerField(null=True, blank=True)
    delay_ms = models.PositiveBigIntegerField(null=True, blank=True)
    elapsed_ms = models.PositiveBigIntegerField(null=True, blank=True)
    at_us = models.BigIntegerField(null=True, blank=True, help_text="When it happened, if told.")
    data = models.JSONField(default=dict, blank=True, help_text="All else that was sent of it.")
    created_us = models.BigIntegerField()

    class Meta:
        db_table = "routing_events"
        ordering = ["iteration", "position"]
        constraints = [
            models.UniqueConstraint(fields=["iteration", "position"], name="one_routing_event_per_position"),
        ]

    def __str__(self) -> str:
        return self.type
