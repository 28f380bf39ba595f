"""What a ledger client tells of its tool operations beyond the call: state, version, recovery, journal."""

from django.db import models
from django.db.models import Q

from contextdash.limits import NAME_CHARS
from sessions_app.models.tool import ToolCall
from sessions_app.models.turn import Run
from sessions_app.vocabulary import OperationState


class LedgerCall(models.Model):
    """What a run's ledger itself has told of a call, whatever other sources have: so that it is told once.

    Events are named by the ids that their writer gave them.
    """

    key = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.DB_CASCADE, related_name="ledger_calls", db_index=False)
    provider_call_id = models.CharField(max_length=NAME_CHARS)
    call = models.ForeignKey(ToolCall, on_delete=models.DB_CASCADE, related_name="+")
    name = models.CharField(max_length=NAME_CHARS)
    operation_id = models.CharField(max_length=NAME_CHARS, blank=True, default="", help_text="As announced.")
    args_hash = models.CharField(max_length=100, help_text="Computed from what was sent.")
    call_event = models.CharField(max_length=NAME_CHARS)
    result_event = models.CharField(max_length=NAME_CHARS, blank=True, default="")
    provider_executed = models.BooleanField(default=False)

    class Meta:
        db_table = "ledger_calls"
        ordering = ["run", "key"]
        constraints = [
            models.UniqueConstraint(fields=["run", "provider_call_id"], name="one_ledger_call_per_id"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.provider_call_id}"


class ToolOperation(models.Model):
    """The boundary around one tool call: dispatched, answered, perhaps recovered.

    A projection of the run's events; ``version`` counts the facts that moved it. Events are named by the
    ids that their writer gave them. Not every call has one: what a provider executes, and what is refused
    before it is dispatched, has only a call and a result.
    """

    key = models.BigAutoField(primary_key=True)
    operation_id = models.CharField(max_length=NAME_CHARS, unique=True)
    call = models.OneToOneField(ToolCall, on_delete=models.DB_CASCADE, related_name="operation")
    run = models.ForeignKey(Run, on_delete=models.DB_CASCADE, related_name="operations")
    state = models.CharField(max_length=40, default=OperationState.PREPARED)
    version = models.PositiveIntegerField(default=1)
    recovery_mode = models.CharField(max_length=40)
    args_hash = models.CharField(max_length=100, help_text="As the client told it.")
    args_hash_ok = models.BooleanField(help_text="Whether it is the hash of the call's name and arguments.")
    call_event = models.CharField(max_length=NAME_CHARS)
    dispatch_event = models.CharField(max_length=NAME_CHARS)
    reconcile_event = models.CharField(max_length=NAME_CHARS, blank=True, default="")
    observation = models.CharField(
        max_length=40, blank=True, default="", help_text="What reconciling saw: diverged…"
    )
    result_event = models.CharField(max_length=NAME_CHARS, blank=True, default="")
    prepared_us = models.BigIntegerField()

    class Meta:
        db_table = "tool_operations"
        ordering = ["run", "key"]
        constraints = [
            models.CheckConstraint(condition=Q(version__gt=0), name="operation_versions_from_one"),
        ]
        indexes = [
            # What was dispatched and never heard of again, over all sessions.
            models.Index(fields=["key"], name="operations_unsettled", condition=Q(state="prepared")),
        ]

    def __str__(self) -> str:
        return self.operation_id


class ToolJournalEntry(models.Model):
    """One fact that moved an operation, in the order in which they were committed. Never changed."""

    key = models.BigAutoField(primary_key=True)
    operation = models.ForeignKey(
        ToolOperation, on_delete=models.DB_CASCADE, related_name="journal", db_index=False
    )
    version = models.PositiveIntegerField(help_text="Of the operation, after this fact.")
    state = models.CharField(max_length=40, help_text="A state, or reconcile_observed.")
    event = models.CharField(max_length=NAME_CHARS, help_text="The id of the event that told the fact.")
    fact = models.JSONField(null=True, blank=True, help_text="What a recovery fact says.")
    committed_us = models.BigIntegerField()

    class Meta:
        db_table = "tool_journal_events"
        ordering = ["operation", "version"]
        verbose_name_plural = "tool journal entries"
        constraints = [
            models.UniqueConstraint(fields=["operation", "version"], name="one_fact_per_version"),
        ]

    def __str__(self) -> str:
        return f"{self.state} {self.version}"
