from django.db import models
from django.db.models import Q

from contextdash.limits import NAME_CHARS, PATH_CHARS
from sessions_app.models import Project, Session


class Severity(models.TextChoices):
    CRITICAL = "Critical"
    HIGH = "High"
    MEDIUM = "Medium"
    LOW = "Low"
    INFO = "Info"


class Resolution(models.TextChoices):
    OPEN = "open"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"
    REOPENED = "reopened"


class Review(models.Model):
    """One finding on a target.

    ``severity`` and ``diff_hash`` are as sent; ``severity_rank`` and ``diff_key`` are what sorts and matches.
    """

    session = models.ForeignKey(
        Session,
        to_field="id",
        db_column="session_id",
        null=True,
        blank=True,
        on_delete=models.DB_SET_NULL,
        related_name="reviews",
    )
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_SET_NULL)
    target = models.CharField(max_length=PATH_CHARS, help_text="path, path:line or a reference; text only.")
    severity = models.CharField(max_length=NAME_CHARS)
    severity_rank = models.PositiveSmallIntegerField(help_text="1 Critical … 5 Info, 6 other.")
    finding = models.TextField()
    suggested_fix = models.TextField(null=True, blank=True)
    reviewer_agent = models.CharField(max_length=NAME_CHARS, default="code-reviewer")
    diff_hash = models.CharField(max_length=NAME_CHARS, null=True, blank=True)
    diff_key = models.CharField(max_length=64, blank=True, default="", help_text="64 hex digits, or empty.")
    resolution = models.CharField(max_length=20, default=Resolution.OPEN)
    resolved_at = models.DateTimeField(null=True, blank=True)
    ts = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "reviews"
        ordering = ["-ts", "-id"]
        indexes = [
            models.Index(fields=["session", "ts", "id"], name="reviews_of_session"),
            # The gate and the cache: all findings of one diff, newest first.
            models.Index(
                fields=["diff_key", "-ts", "-id"], name="reviews_of_diff", condition=~Q(diff_key="")
            ),
            # Open findings, worst first (Reviews, Today).
            models.Index(
                fields=["severity_rank", "-ts", "-id"],
                name="reviews_open",
                condition=Q(resolution__in=["open", "reopened"]),
            ),
            models.Index(fields=["-ts", "-id"], name="reviews_newest"),
            models.Index(fields=["project", "-ts", "-id"], name="reviews_of_project"),
        ]

    def __str__(self) -> str:
        return f"{self.severity}: {self.finding}"[:200]

    @property
    def is_open(self) -> bool:
        return self.resolution in (Resolution.OPEN, Resolution.REOPENED)
