"""What ledger clients lay claim to: ids of new sessions, subagents, continuations, streams not yet final.

Ids of sessions, runs and events are kept as they were told, without constraints: a claim outlives what it
names, and may come before it.
"""

from django.db import models
from django.db.models import Q

from contextdash.limits import CLAIM_ID_CHARS, DIGEST_CHARS, NAME_CHARS, SESSION_ID_CHARS
from sessions_app.models.turn import Run
from sessions_app.vocabulary import StartKind


class SessionCreateClaim(models.Model):
    """Which request made a session: the same id asked for by another request is a conflict."""

    session_id = models.CharField(max_length=SESSION_ID_CHARS, unique=True)
    request_fingerprint = models.CharField(max_length=CLAIM_ID_CHARS)
    claimed_us = models.BigIntegerField()

    class Meta:
        db_table = "session_create_claims"
        ordering = ["-claimed_us", "-id"]

    def __str__(self) -> str:
        return self.session_id


class SubagentSpawn(models.Model):
    """Whose child a subagent is: the first who claims the place of five parts decides, for ever.

    The parts that do not apply are empty. Times in µs, UTC.
    """

    parent_session_id = models.CharField(max_length=SESSION_ID_CHARS)
    parent_run_id = models.CharField(max_length=CLAIM_ID_CHARS, blank=True, default="")
    tool_call_id = models.CharField(max_length=CLAIM_ID_CHARS, blank=True, default="")
    swarm_id = models.CharField(max_length=CLAIM_ID_CHARS, blank=True, default="")
    item_id = models.CharField(max_length=CLAIM_ID_CHARS, blank=True, default="")
    request_fingerprint = models.CharField(max_length=CLAIM_ID_CHARS)
    child_session_id = models.CharField(max_length=SESSION_ID_CHARS, unique=True)
    initial_turn_id = models.CharField(max_length=CLAIM_ID_CHARS)
    initial_run_id = models.CharField(max_length=CLAIM_ID_CHARS)
    claimed_us = models.BigIntegerField()

    class Meta:
        db_table = "subagent_spawns"
        ordering = ["parent_session_id", "claimed_us", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["parent_session_id", "parent_run_id", "tool_call_id", "swarm_id", "item_id"],
                name="one_spawn_per_place",
            ),
        ]
        indexes = [
            # The children of one session in the order of their claims.
            models.Index(fields=["parent_session_id", "claimed_us", "id"], name="spawns_of_parent"),
        ]

    def __str__(self) -> str:
        return f"{self.parent_session_id} → {self.child_session_id}"


class ContinuationClaim(models.Model):
    """The exclusive right to go on where a sealed run ended. Times in µs, UTC.

    Until ``start_event_id`` is set the claim is pending: its target takes that event first, and the source
    takes no new one.
    """

    claim_id = models.CharField(max_length=CLAIM_ID_CHARS, unique=True)
    source_session_id = models.CharField(max_length=SESSION_ID_CHARS)
    source_invocation_id = models.CharField(max_length=CLAIM_ID_CHARS)
    source_run_id = models.CharField(max_length=CLAIM_ID_CHARS)
    source_turn_id = models.CharField(max_length=CLAIM_ID_CHARS)
    source_event_high_water = models.PositiveIntegerField(help_text="The seq of the source's last event.")
    source_prefix_digest = models.CharField(max_length=DIGEST_CHARS)
    prefix_checked = models.BooleanField(
        default=True, help_text="No where a secret was masked in the source: its digest cannot be made again."
    )
    boundary_digest = models.CharField(max_length=DIGEST_CHARS, unique=True)
    boundary_json = models.TextField(help_text="The manifest that boundary_digest is of, canonical.")
    provider_projection_version = models.PositiveIntegerField(default=1)
    provider_replay_digest = models.CharField(max_length=DIGEST_CHARS, blank=True, default="")
    target_session_id = models.CharField(max_length=SESSION_ID_CHARS)
    target_invocation_id = models.CharField(max_length=CLAIM_ID_CHARS, unique=True)
    target_run_id = models.CharField(max_length=CLAIM_ID_CHARS, unique=True)
    target_turn_id = models.CharField(max_length=CLAIM_ID_CHARS)
    target_run_header = models.JSONField(default=dict, blank=True, help_text="As the claimer sent it.")
    claimed_us = models.BigIntegerField()
    start_event_id = models.CharField(max_length=CLAIM_ID_CHARS, null=True, blank=True, unique=True)
    start_kind = models.CharField(max_length=40, blank=True, default="")
    protocol_version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "continuation_claims"
        ordering = ["claimed_us", "claim_id"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "source_session_id",
                    "source_run_id",
                    "source_event_high_water",
                    "source_prefix_digest",
                ],
                name="one_claim_per_prefix",
            ),
            models.UniqueConstraint(
                fields=["target_session_id", "target_turn_id"], name="one_claim_per_target_turn"
            ),
            models.CheckConstraint(
                condition=Q(source_event_high_water__gt=0), name="high_water_counts_from_one"
            ),
            models.CheckConstraint(
                condition=Q(start_event_id=None, start_kind="")
                | Q(start_event_id__isnull=False, start_kind__in=StartKind.values),
                name="a_start_has_a_kind",
            ),
        ]
        indexes = [
            # Whether a run may still take an event: asked at each append.
            models.Index(fields=["source_invocation_id"], name="claims_of_source"),
            # All claims and those that wait for their start, oldest first.
            models.Index(fields=["claimed_us", "claim_id"], name="claims_by_time"),
            models.Index(
                fields=["claimed_us", "claim_id"], name="claims_pending", condition=Q(start_event_id=None)
            ),
        ]

    def __str__(self) -> str:
        return self.claim_id


class PartialSnapshot(models.Model):
    """A text that is still being streamed into a run; it leaves when its final event comes.

    It is shown after the event that was the run's last when its first piece came. Times in µs, UTC.
    """

    stream_key = models.CharField(max_length=64, unique=True, help_text="Digest of what the stream is.")
    run = models.ForeignKey(Run, on_delete=models.DB_CASCADE, related_name="partials", db_index=False)
    event_id = models.CharField(max_length=CLAIM_ID_CHARS, blank=True, default="")
    kind = models.CharField(max_length=NAME_CHARS, blank=True, default="", help_text="text, thinking, tool.")
    after_seq = models.PositiveIntegerField(default=0, help_text="Of the event before it; 0 is none.")
    envelope = models.TextField(help_text="The first piece as JSON, without its text.")
    occurred_us = models.BigIntegerField()
    updated_us = models.BigIntegerField()

    class Meta:
        db_table = "partial_snapshots"
        ordering = ["run", "after_seq", "occurred_us", "event_id"]
        indexes = [
            # Those of one run in the order of their replay.
            models.Index(fields=["run", "after_seq", "occurred_us", "event_id"], name="partials_of_run"),
        ]

    def __str__(self) -> str:
        return self.stream_key


class PartialSegment(models.Model):
    """A piece of a streamed text; a new one begins where the last would pass its limit."""

    snapshot = models.ForeignKey(
        PartialSnapshot, on_delete=models.DB_CASCADE, related_name="segments", db_index=False
    )
    number = models.PositiveIntegerField(help_text="From 1.")
    text = models.TextField(blank=True)
    size = models.PositiveIntegerField(help_text="Bytes of the text.")

    class Meta:
        db_table = "partial_segments"
        ordering = ["snapshot", "number"]
        constraints = [
            models.UniqueConstraint(fields=["snapshot", "number"], name="one_segment_per_number"),
            models.CheckConstraint(condition=Q(number__gt=0), name="segments_count_from_one"),
        ]

    def __str__(self) -> str:
        return f"segment {self.number}"


class Capability(models.Model):
    """What a client of the ledger said it relies on, and in which version."""

    capability = models.CharField(max_length=CLAIM_ID_CHARS, unique=True)
    version = models.PositiveIntegerField()
    updated_us = models.BigIntegerField()

    class Meta:
        db_table = "capabilities"
        ordering = ["capability"]
        verbose_name_plural = "capabilities"
        constraints = [
            models.CheckConstraint(condition=Q(version__gt=0), name="capabilities_count_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.capability} {self.version}"
