from django.db import models
from django.db.models import Q

from contextdash.limits import NAME_CHARS, SUMMARY_CHARS
from sessions_app.models.event import Event
from sessions_app.models.session import Session
from sessions_app.models.turn import Run
from sessions_app.vocabulary import CallState


class ToolCall(models.Model):
    """One tool operation: references to its events, a summary, sizes, state and times (µs, UTC)."""

    key = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, on_delete=models.DB_CASCADE, related_name="calls", db_index=False)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.DB_CASCADE, related_name="calls")
    call_id = models.CharField(max_length=200, help_text="The client's tool_use_id, else minted.")
    name = models.CharField(max_length=NAME_CHARS)
    state = models.CharField(max_length=20, default=CallState.PREPARED)
    summary = models.CharField(max_length=SUMMARY_CHARS, blank=True, default="")
    error = models.CharField(max_length=300, blank=True, default="", help_text="First line of a failure.")
    # No constraint: events leave by purge and retention, the summary of the call stays.
    call_event = models.ForeignKey(
        Event,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    result_event = models.ForeignKey(
        Event,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    child = models.ForeignKey(
        Session,
        null=True,
        blank=True,
        on_delete=models.DB_SET_NULL,
        db_index=False,
        related_name="spawned_by",
    )
    started_us = models.BigIntegerField()
    ended_us = models.BigIntegerField(null=True, blank=True)
    duration_us = models.BigIntegerField(
        null=True, blank=True, help_text="Unknown where the clocks disagree."
    )
    input_size = models.PositiveIntegerField(default=0, help_text="Bytes of JSON.")
    output_size = models.PositiveIntegerField(default=0, help_text="Bytes of JSON.")

    class Meta:
        db_table = "tool_calls"
        ordering = ["session", "started_us", "key"]
        constraints = [
            # Where the call and its result meet, in whatever order they come.
            models.UniqueConstraint(fields=["session", "call_id"], name="one_call_per_id"),
        ]
        indexes = [
            # The timeline of one session.
            models.Index(fields=["session", "started_us", "key"], name="calls_by_time"),
            # The call that spawned a session; few calls do.
            models.Index(fields=["child"], name="calls_of_child", condition=Q(child__isnull=False)),
            # Calls without a result, when a turn is interrupted or a session ends.
            models.Index(fields=["session"], name="calls_open", condition=Q(state="prepared")),
            # "Only failures" of a session.
            models.Index(fields=["session", "started_us"], name="calls_failed", condition=Q(state="failed")),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.summary}".strip()
