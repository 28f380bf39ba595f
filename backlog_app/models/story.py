from django.db import models

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
    """One story. ``rank`` orders a column: a text key that always leaves room for another between two."""

    session = models.ForeignKey(
        Session,
        to_field="id",
        db_column="session_id",
        null=True,
        blank=True,
        on_delete=models.DB_SET_NULL,
        related_name="stories",
    )
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_SET_NULL)
    sprint = models.ForeignKey(
        Sprint, null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="stories"
    )
    story = models.TextField()
    acceptance_criteria = models.TextField(blank=True)
    status = models.CharField(max_length=NAME_CHARS, default=StoryStatus.TODO)
    assigned_agent = models.CharField(max_length=NAME_CHARS, null=True, blank=True)
    priority = models.IntegerField(default=3, help_text="1 high to 5 low; as sent, clamped for ordering.")
    rank = models.CharField(max_length=255)
    ts = models.DateTimeField(help_text="When it was written down.")
    changed_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "sprint_backlog"
        ordering = ["status", "rank", "id"]
        constraints = [models.UniqueConstraint(fields=["status", "rank"], name="one_story_per_place")]
        indexes = [
            models.Index(fields=["session", "ts", "id"], name="stories_of_session"),
            # What one agent has to do.
            models.Index(fields=["assigned_agent", "status"], name="stories_of_agent"),
            models.Index(fields=["project", "status"], name="stories_of_project"),
            models.Index(fields=["sprint", "status"], name="stories_of_sprint"),
            # What moved lately (Today, stand-up, stale).
            models.Index(fields=["-changed_at", "-id"], name="stories_newest"),
        ]

    def __str__(self) -> str:
        return self.story[:200]
