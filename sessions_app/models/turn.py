from django.db import models
from django.db.models import Q

from sessions_app.models.session import Session, SessionState
from sessions_app.vocabulary import RunStatus


class Turn(models.Model):
    """One request of a user (or of a parent agent) and what was done about it. Times in µs, UTC."""

    key = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, on_delete=models.DB_CASCADE, related_name="turns", db_index=False)
    state = models.ForeignKey(SessionState, on_delete=models.DB_CASCADE, related_name="turns")
    number = models.PositiveIntegerField(help_text="From 1, in order of first appearance.")
    turn_id = models.CharField(max_length=200, help_text="The client's prompt or turn id, else minted.")
    prompt = models.TextField(blank=True, default="")
    started_us = models.BigIntegerField()
    ended_us = models.BigIntegerField(null=True, blank=True)
    call_count = models.PositiveIntegerField(default=0)
    failed_count = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "turns"
        ordering = ["session", "number"]
        constraints = [
            # The turn that an event with a prompt id belongs to.
            models.UniqueConstraint(fields=["session", "turn_id"], name="one_turn_per_id"),
            models.UniqueConstraint(fields=["session", "number"], name="one_turn_per_number"),
        ]
        indexes = [
            # The timeline's turns by time.
            models.Index(fields=["session", "started_us", "key"], name="turns_by_time"),
        ]

    def __str__(self) -> str:
        return f"turn {self.number}"


class Run(models.Model):
    """One attempt at a turn; a retry or a continuation is another run. Times in µs, UTC."""

    key = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, on_delete=models.DB_CASCADE, related_name="runs")
    turn = models.ForeignKey(Turn, on_delete=models.DB_CASCADE, related_name="runs", db_index=False)
    number = models.PositiveIntegerField(default=1, help_text="From 1 within the turn.")
    run_id = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="As the writer named it."
    )
    invocation_id = models.CharField(max_length=200, unique=True)
    status = models.CharField(max_length=40, default=RunStatus.RUNNING)
    last_seq = models.PositiveIntegerField(default=0, help_text="The newest event's place in the run.")
    started_us = models.BigIntegerField()
    ended_us = models.BigIntegerField(null=True, blank=True)
    answer = models.TextField(blank=True, default="")
    error = models.TextField(blank=True, default="")
    failure_class = models.CharField(max_length=200, blank=True, default="", db_default="")
    abort_source = models.CharField(max_length=200, blank=True, default="", db_default="")
    ledger = models.BooleanField(
        default=False, db_default=False, help_text="Opened by a writer, who alone numbers its events."
    )
    sealed = models.BooleanField(
        default=False, db_default=False, help_text="Its terminal event is here; nothing may follow."
    )
    version = models.PositiveIntegerField(default=1, db_default=1, help_text="Of this row, for If-Match.")

    class Meta:
        db_table = "runs"
        ordering = ["session", "key"]
        constraints = [
            models.UniqueConstraint(fields=["turn", "number"], name="one_run_per_number"),
            models.UniqueConstraint(
                fields=["session", "run_id"], name="one_run_per_id", condition=~Q(run_id="")
            ),
        ]
        indexes = [
            # The newest open run of a session, which takes events without a prompt id.
            models.Index(fields=["session", "-key"], name="runs_open", condition=Q(status="running")),
        ]

    def __str__(self) -> str:
        return f"run {self.number} of turn {self.turn_id}"
