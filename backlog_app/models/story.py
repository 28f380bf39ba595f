from django.db import models
from django.db.models import Q

from backlog_app.models.sprint import Sprint
from contextdash.limits import NAME_CHARS
from sessions_app.models import Project, Session


class StoryStatus(models.TextChoices):
    TODO = "todo", "To do"
    IN_PROGRESS = "in_progress", "In progress"
    REVIEW = "review", "In review"
    BLOCKED = "blocked", "Blocked"
    DONE = "done", "Done"


class BacklogItem(models.Model):
    """One story. ``rank`` orders a column: a text key that always leaves room for another between two.

    People and the API see a gap-free index instead of the key. A deleted story keeps its place, so that it
    can come back to it.
    """

    session = models.ForeignKey(
        Session,
        to_field="id",
        db_column="session_id",
        null=True,
        blank=True,
        on_delete=models.DB_SET_NULL,
        related_name="stories",
        help_text="Where it was written down.",
    )
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_SET_NULL)
    sprint = models.ForeignKey(
        Sprint, null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="stories"
    )
    epic = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="children"
    )
    story = models.TextField()
    acceptance_criteria = models.TextField(blank=True)
    status = models.CharField(max_length=NAME_CHARS, default=StoryStatus.TODO)
    assigned_agent = models.CharField(
        max_length=NAME_CHARS, null=True, blank=True, help_text="An agent's or a person's name."
    )
    priority = models.PositiveSmallIntegerField(default=3, help_text="1 high to 5 low.")
    priority_sent = models.CharField(
        max_length=NAME_CHARS, blank=True, default="", help_text="As sent, where it is none of 1 to 5."
    )
    estimate = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Points.")
    labels = models.JSONField(default=list, blank=True)
    rank = models.CharField(max_length=255)
    criteria_total = models.PositiveIntegerField(default=0)
    criteria_met = models.PositiveIntegerField(default=0)
    ts = models.DateTimeField(help_text="When it was written down.")
    changed_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True, help_text="First in progress.")
    done_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "sprint_backlog"
        ordering = ["status", "rank", "id"]
        constraints = [
            models.UniqueConstraint(fields=["status", "rank"], name="one_story_per_place"),
            models.CheckConstraint(condition=Q(priority__range=(1, 5)), name="story_priority_1_to_5"),
        ]
        indexes = [
            models.Index(fields=["session", "ts", "id"], name="stories_of_session"),
            # What one agent has to do.
            models.Index(fields=["assigned_agent", "status"], name="stories_of_agent"),
            models.Index(fields=["project", "status"], name="stories_of_project"),
            models.Index(fields=["sprint", "status"], name="stories_of_sprint"),
            # What moved lately (Today, stand-up, stale).
            models.Index(fields=["-changed_at", "-id"], name="stories_newest"),
            # The API's pages, newest first.
            models.Index(fields=["-ts", "-id"], name="stories_by_time"),
            # Lead and cycle time.
            models.Index(fields=["-done_at"], name="stories_done", condition=Q(done_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.story[:200]

    @property
    def is_done(self) -> bool:
        return self.status == StoryStatus.DONE


class Criterion(models.Model):
    """One acceptance criterion of a story: a line of its text that can be ticked."""

    story = models.ForeignKey(BacklogItem, on_delete=models.DB_CASCADE, related_name="criteria")
    position = models.PositiveIntegerField(help_text="1, 2, 3 … in the story's text.")
    text = models.TextField()
    met_at = models.DateTimeField(null=True, blank=True)
    met_by = models.CharField(max_length=NAME_CHARS, blank=True, default="")

    class Meta:
        db_table = "story_criteria"
        ordering = ["position", "id"]
        indexes = [models.Index(fields=["story", "position"], name="criteria_of_story")]
        verbose_name_plural = "criteria"

    def __str__(self) -> str:
        return self.text[:200]
