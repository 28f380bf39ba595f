"""What the board as a whole keeps: its version, its limits, and where each story stood when."""

from django.db import models
from django.db.models import Q

from backlog_app.models.story import BacklogItem
from contextdash.limits import NAME_CHARS
from sessions_app.models import Project


class BoardClock(models.Model):
    """One row that counts the board's changes.

    Pages ask it whether anything is new. On PostgreSQL its row lock also puts the board's writes in a row,
    as the one writer does on SQLite, so that two moves never compute a place from the same neighbours.
    """

    version = models.BigIntegerField(default=0)

    class Meta:
        db_table = "board_clock"

    def __str__(self) -> str:
        return f"version {self.version}"


class WipLimit(models.Model):
    """How many stories a column should hold at most, of one project or of all. It warns, it never refuses."""

    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_CASCADE)
    status = models.CharField(max_length=NAME_CHARS)
    stories = models.PositiveSmallIntegerField()

    class Meta:
        db_table = "wip_limits"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "status"], name="one_limit_per_project_and_column"),
            # NULLs are distinct to a unique index.
            models.UniqueConstraint(
                fields=["status"], name="one_limit_per_column", condition=Q(project=None)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.status}: {self.stories}"


class StoryStep(models.Model):
    """Where a story stood from ``at`` on: what burn-down and cumulative flow are drawn from.

    Written in the transaction of each change of status, sprint or estimate, and of deletion. ``sprint_id``
    is a number, not a foreign key: what was, stays.
    """

    story = models.ForeignKey(BacklogItem, on_delete=models.DB_CASCADE, related_name="steps")
    at = models.DateTimeField()
    status = models.CharField(max_length=NAME_CHARS)
    sprint_id = models.BigIntegerField(null=True, blank=True)
    estimate = models.PositiveSmallIntegerField(null=True, blank=True)
    deleted = models.BooleanField(default=False)

    class Meta:
        db_table = "story_steps"
        ordering = ["at", "id"]
        indexes = [
            # All steps of the stories of a chart.
            models.Index(fields=["story", "at", "id"], name="steps_of_story"),
            # Which stories a sprint ever held.
            models.Index(fields=["sprint_id", "story"], name="steps_of_sprint"),
        ]

    def __str__(self) -> str:
        return f"{self.story_id} {self.status}"
