from django.db import models

from contextdash.limits import NAME_CHARS
from sessions_app.models.session import Session


class HookEvent(models.Model):
    """What a hook script or the gate reports of itself."""

    session = models.ForeignKey(
        Session,
        to_field="id",
        db_column="session_id",
        null=True,
        blank=True,
        on_delete=models.DB_SET_NULL,
        related_name="hook_events",
    )
    hook_name = models.CharField(max_length=NAME_CHARS)
    event_type = models.CharField(max_length=NAME_CHARS)
    outcome = models.CharField(max_length=40)
    duration_ms = models.BigIntegerField(default=0)
    payload_json = models.TextField(null=True, blank=True)
    ts = models.DateTimeField()

    class Meta:
        db_table = "hook_events"
        ordering = ["-ts", "-id"]
        indexes = [
            # A session's hooks panel and timeline.
            models.Index(fields=["session", "ts", "id"], name="hook_events_of_session"),
            # The last failures and the durations of one hook.
            models.Index(fields=["hook_name", "-ts", "-id"], name="hook_events_of_hook"),
            # The newest reports of all hooks.
            models.Index(fields=["-ts", "-id"], name="hook_events_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.hook_name} {self.outcome}"

    @property
    def duration_us(self) -> int | None:
        """None where it was not told, or by a wrong clock."""
        return self.duration_ms * 1000 if self.duration_ms > 0 else None


class HookBucket(models.Model):
    """Deliveries of 15 minutes (UTC) by client and event: what the Hooks page counts."""

    start_us = models.BigIntegerField()
    client = models.CharField(max_length=40)
    event = models.CharField(max_length=NAME_CHARS)
    accepted = models.PositiveIntegerField(default=0)
    duplicate = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    unknown = models.PositiveIntegerField(default=0, help_text="Accepted, though the event is not known.")
    last_us = models.BigIntegerField(default=0, help_text="The newest delivery.")

    class Meta:
        db_table = "hook_buckets"
        ordering = ["-start_us", "client", "event"]
        constraints = [
            models.UniqueConstraint(fields=["start_us", "client", "event"], name="one_bucket_per_quarter")
        ]
        indexes = [
            # Last delivery per client.
            models.Index(fields=["client", "-start_us"], name="hook_buckets_of_client"),
        ]

    def __str__(self) -> str:
        return f"{self.client} {self.event}"


class Quarantined(models.Model):
    """A body that could not be stored, and why; its first 64 KiB are kept to look at."""

    source = models.CharField(max_length=20)
    client = models.CharField(max_length=40, blank=True, default="")
    event = models.CharField(max_length=NAME_CHARS, blank=True, default="")
    session_id = models.CharField(max_length=128, blank=True, default="")
    reason = models.CharField(max_length=60, help_text="malformed, conflict, deleted_session, too_large…")
    detail = models.TextField(blank=True, default="")
    body = models.BinaryField(blank=True)
    body_size = models.PositiveBigIntegerField(default=0)
    import_source = models.ForeignKey(
        "sessions_app.ImportSource",
        null=True,
        blank=True,
        on_delete=models.DB_CASCADE,
        related_name="quarantined",
        db_index=False,
        help_text="The file that it is a line of.",
    )
    at = models.DateTimeField()

    class Meta:
        db_table = "quarantined"
        ordering = ["-id"]
        verbose_name_plural = "quarantined"
        indexes = [
            models.Index(fields=["-at"], name="quarantined_newest"),
            # The lines of one file.
            models.Index(
                fields=["import_source", "id"],
                name="quarantined_of_file",
                condition=models.Q(import_source__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"[:200]


class SpoolReport(models.Model):
    """What the hook client of one person's machine said of its spool when it last emptied some of it."""

    host = models.CharField(max_length=255, blank=True, default="")
    user_name = models.CharField(max_length=255, blank=True, default="", help_text="On that machine.")
    waiting = models.PositiveIntegerField(help_text="Still undelivered after that delivery.")
    dropped = models.PositiveIntegerField(default=0, help_text="Lost so far because the spool was full.")
    at_us = models.BigIntegerField()

    class Meta:
        db_table = "spool_reports"
        ordering = ["-at_us", "-id"]
        constraints = [models.UniqueConstraint(fields=["host", "user_name"], name="one_report_per_spool")]

    def __str__(self) -> str:
        return f"{self.waiting} wait on {self.host}"
