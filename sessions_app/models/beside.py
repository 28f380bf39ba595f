"""What few sessions and runs have, kept beside their tables, which every hook writes."""

from django.db import models

from sessions_app.models.place import Project
from sessions_app.models.session import Session
from sessions_app.models.turn import Run


class RunDetail(models.Model):
    """What writers tell of a run beyond how it went."""

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.DB_CASCADE, related_name="detail")
    retried_from = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="retries"
    )
    provider = models.CharField(max_length=100, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    prior_outcome = models.CharField(
        max_length=40, blank=True, default="", help_text="complete, cancelled, error."
    )
    content = models.JSONField(default=list, blank=True, help_text="Typed blocks, in order.")
    ctx = models.JSONField(null=True, blank=True, help_text="The context as it was at the end.")
    error = models.JSONField(null=True, blank=True, help_text="A failure with its parts.")

    class Meta:
        db_table = "run_details"
        ordering = ["run"]

    def __str__(self) -> str:
        return f"of run {self.pk}"


class CopiedUsage(models.Model):
    """Tokens and cost of model calls that a session has as copies: they are counted where they happened."""

    session = models.OneToOneField(
        Session, primary_key=True, on_delete=models.DB_CASCADE, related_name="copied"
    )
    iteration_count = models.PositiveIntegerField(default=0)
    unpriced_count = models.PositiveIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    cost_micro = models.BigIntegerField(null=True, blank=True, help_text="Micro-dollars; NULL is unknown.")

    class Meta:
        db_table = "copied_usage"
        ordering = ["session"]
        verbose_name_plural = "copied usage"

    def __str__(self) -> str:
        return f"{self.iteration_count} calls"

    @property
    def given(self) -> int:
        """Tokens of all classes of input."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens


class WarmSession(models.Model):
    """A session that was made before anybody needed it. Unclaimed it shows nowhere until its first turn."""

    session = models.OneToOneField(
        Session, primary_key=True, on_delete=models.DB_CASCADE, related_name="warm"
    )
    created_us = models.BigIntegerField()
    claimed_us = models.BigIntegerField(null=True, blank=True)

    class Meta:
        db_table = "warm_sessions"
        ordering = ["created_us", "session"]
        indexes = [
            # Those that may be claimed, oldest first.
            models.Index(fields=["created_us"], name="warm_unclaimed", condition=models.Q(claimed_us=None)),
        ]

    def __str__(self) -> str:
        return f"made {self.created_us}"


class ModelPreference(models.Model):
    """The model that a session is to be continued with, whatever its versions began with."""

    session = models.OneToOneField(
        Session, primary_key=True, on_delete=models.DB_CASCADE, related_name="preference"
    )
    provider = models.CharField(max_length=100, blank=True, default="")
    model = models.CharField(max_length=200)

    class Meta:
        db_table = "model_preferences"
        ordering = ["session"]

    def __str__(self) -> str:
        return self.model


class ProjectPlace(models.Model):
    """Where people put a session in the order of its project; those without a place follow, oldest first."""

    session = models.OneToOneField(
        Session, primary_key=True, on_delete=models.DB_CASCADE, related_name="project_place"
    )
    project = models.ForeignKey(Project, on_delete=models.DB_CASCADE, related_name="places", db_index=False)
    position = models.PositiveIntegerField(help_text="From 0, without gaps.")

    class Meta:
        db_table = "project_places"
        ordering = ["project", "position"]
        indexes = [
            # Not unique: a whole project is renumbered at once, under a lock of its row.
            models.Index(fields=["project", "position"], name="places_of_project"),
        ]

    def __str__(self) -> str:
        return f"{self.position} in {self.project_id}"
