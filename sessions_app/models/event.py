from django.conf import settings
from django.db import models
from django.db.models import Q

from contextdash.limits import NAME_CHARS
from sessions_app.models.session import Session
from sessions_app.models.turn import Run


class Event(models.Model):
    """One immutable observation by one source. Times in µs, UTC.

    The only place where tool input and output are stored. No path changes a row: a correction is a new
    event, and only the purge door deletes (``sessions_app.ledger_guard``).
    """

    key = models.BigAutoField(primary_key=True)
    # Of session and run the constraints below are the index: each further one is another page to write.
    session = models.ForeignKey(Session, on_delete=models.DB_CASCADE, related_name="events", db_index=False)
    run = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.DB_CASCADE, related_name="events", db_index=False
    )
    seq = models.PositiveIntegerField(null=True, blank=True, help_text="Place in the run, from 1.")
    ordinal = models.BigIntegerField(help_text="Place in the session in order of commit; replay cursor.")
    source = models.CharField(max_length=20)
    client = models.CharField(max_length=40)
    name = models.CharField(max_length=NAME_CHARS, help_text="As the client calls it: PreToolUse.")
    kind = models.CharField(max_length=40)
    identity = models.BinaryField(max_length=16, unique=True, help_text="Digest of what makes it this event.")
    content = models.BinaryField(max_length=16, help_text="Digest of its body: same identity, same content.")
    occurred_us = models.BigIntegerField()
    received_us = models.BigIntegerField()
    payload = models.BinaryField(help_text="The body as JSON, zlib level 1.")
    payload_size = models.PositiveIntegerField(help_text="Bytes before compression.")
    late = models.BooleanField(default=False, help_text="It came after the session had ended.")

    class Meta:
        db_table = "events"
        ordering = ["session", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["session", "ordinal"], name="one_event_per_ordinal"),
            models.UniqueConstraint(fields=["run", "seq"], name="one_event_per_seq"),
            models.CheckConstraint(condition=Q(seq=None) | Q(seq__gt=0), name="seq_counts_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.ordinal}"


class SessionEvent(models.Model):
    """What an event means to a reader: derived from events, rebuildable. Times in µs, UTC.

    Tool calls have their own table; here is all else that a timeline or a resume tells.
    """

    key = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(
        Session, on_delete=models.DB_CASCADE, related_name="session_events", db_index=False
    )
    # No constraint: events leave by purge and retention, what they meant stays.
    event = models.ForeignKey(
        Event,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    type = models.CharField(max_length=60)
    category = models.CharField(max_length=60, blank=True, default="")
    priority = models.PositiveSmallIntegerField(default=3, help_text="1 is critical, 5 is noise.")
    data = models.TextField(blank=True, default="", help_text="Short text that says what happened.")
    occurred_us = models.BigIntegerField()

    class Meta:
        db_table = "session_events"
        ordering = ["session", "occurred_us", "key"]
        indexes = [
            # The timeline and the resume snapshot of one session.
            models.Index(fields=["session", "occurred_us", "key"], name="session_events_by_time"),
        ]

    def __str__(self) -> str:
        return self.type


class Purge(models.Model):
    """What was erased, by whom, why: written first; while it is open the ledger lets its events go.

    Bound to one session or to an age; both empty opens nothing.
    """

    session_key = models.BigIntegerField(null=True, blank=True)
    received_before_us = models.BigIntegerField(null=True, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("contextdash.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField()
    events_deleted = models.PositiveBigIntegerField(default=0)
    bytes_deleted = models.PositiveBigIntegerField(default=0, help_text="Of payloads, before compression.")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "purges"
        ordering = ["-id"]
        indexes = [
            # The triggers ask for open purges at every deleted event.
            models.Index(fields=["session_key"], name="purges_open", condition=Q(finished_at=None)),
        ]

    def __str__(self) -> str:
        return f"purge {self.pk}"
