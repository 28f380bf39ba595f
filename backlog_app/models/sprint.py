from django.db import models
from django.db.models import Q

from contextdash.limits import NAME_CHARS
from sessions_app.models import Project


class SprintState(models.TextChoices):
    PLANNED = "planned"
    ACTIVE = "active"
    CLOSED = "closed"


class Sprint(models.Model):
    """A span of days with a goal, of one project or of all."""

    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_SET_NULL)
    name = models.CharField(max_length=NAME_CHARS)
    goal = models.TextField(blank=True, default="")
    state = models.CharField(max_length=20, choices=SprintState, default=SprintState.PLANNED)
    starts_on = models.DateField(null=True, blank=True)
    ends_on = models.DateField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "sprints"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project"], name="one_active_sprint_of_project", condition=Q(state="active")
            ),
            # NULLs are distinct to a unique index, so the sprint of all projects needs its own rule.
            models.UniqueConstraint(
                fields=["state"], name="one_active_sprint_of_all", condition=Q(state="active", project=None)
            ),
        ]

    def __str__(self) -> str:
        return self.name
