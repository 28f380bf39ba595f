from django.db import models
from django.db.models import Case, F, Q, When

from contextdash.limits import NAME_CHARS, PATH_CHARS, TITLE_CHARS
from reviews_app.text import SHOWN_CHARS, headline, is_diff, kind_of
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


RANK_NAMES = {rank: level.value for rank, level in enumerate(Severity, start=1)}
OPEN_STATES = (Resolution.OPEN, Resolution.REOPENED)
OTHER_RANK = 6
"""The rank of a severity that is none of ours; it sorts below Info."""
BLOCKING_RANK = 2
"""Open findings up to this rank (Critical, High) keep the gate shut."""


class Review(models.Model):
    """One finding on a target.

    ``severity``, ``target`` and ``diff_hash`` are as sent; ``severity_rank``, ``path`` and ``diff_key`` are
    what sorts, groups and matches.
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
    # Shorter than the target, since PostgreSQL refuses an index entry above 2.7 kB.
    path = models.CharField(
        max_length=TITLE_CHARS, blank=True, default="", help_text="The target without its line."
    )
    severity = models.CharField(max_length=NAME_CHARS)
    severity_rank = models.PositiveSmallIntegerField(help_text="1 Critical … 5 Info, 6 other.")
    finding = models.TextField()
    code_context = models.TextField(null=True, blank=True, help_text="The lines or the hunk it is about.")
    suggested_fix = models.TextField(null=True, blank=True)
    rule_id = models.CharField(max_length=NAME_CHARS, blank=True, default="")
    reviewer_agent = models.CharField(max_length=NAME_CHARS, default="code-reviewer")
    diff_hash = models.CharField(max_length=NAME_CHARS, null=True, blank=True)
    diff_key = models.CharField(max_length=64, blank=True, default="", help_text="64 hex digits, or empty.")
    resolution = models.CharField(max_length=20, default=Resolution.OPEN)
    resolved_at = models.DateTimeField(null=True, blank=True)
    ts = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)
    import_digest = models.CharField(
        max_length=32,
        null=True,
        blank=True,
        unique=True,
        help_text="Says whether an imported result is here already.",
    )
    open_rank = models.GeneratedField(
        expression=Case(When(resolution__in=["open", "reopened"], then=F("severity_rank")), default=None),
        output_field=models.PositiveSmallIntegerField(null=True),
        db_persist=True,
        help_text="The severity's rank while it is open, else nothing.",
    )

    class Meta:
        db_table = "reviews"
        ordering = ["-ts", "-id"]
        indexes = [
            # A session's panel and timeline.
            models.Index(fields=["session", "ts", "id"], name="reviews_of_session"),
            # The gate and the cache: all findings of one diff, newest first. Whole, since SQLite cannot tell
            # from a bound value that a condition (not empty) holds.
            models.Index(fields=["diff_key", "-ts", "-id"], name="reviews_of_diff"),
            # Open findings, worst first (Reviews, Today).
            models.Index(
                fields=["severity_rank", "-ts", "-id"],
                name="reviews_open",
                condition=Q(open_rank__isnull=False),
            ),
            # Resolved and dismissed findings, worst first.
            models.Index(fields=["resolution", "severity_rank", "-ts", "-id"], name="reviews_by_state"),
            # All findings, worst first, and the other ranks of a filter on severity.
            models.Index(fields=["severity_rank", "-ts", "-id"], name="reviews_by_severity"),
            # By file, and one file's.
            models.Index(fields=["path", "severity_rank", "-ts", "-id"], name="reviews_of_path"),
            models.Index(
                fields=["reviewer_agent", "severity_rank", "-ts", "-id"], name="reviews_of_reviewer"
            ),
            # The API's list, `fresh` of a text that is no hash, trends.
            models.Index(fields=["-ts", "-id"], name="reviews_newest"),
            models.Index(fields=["project", "severity_rank", "-ts", "-id"], name="reviews_of_project"),
        ]

    def __str__(self) -> str:
        return f"R-{self.pk} {self.severity}: {self.finding}"[:200]

    @property
    def is_open(self) -> bool:
        return self.resolution in OPEN_STATES

    @property
    def number(self) -> str:
        """How people name it."""
        return f"R-{self.pk}"

    @property
    def title(self) -> str:
        # Lists read the beginning of the text only; see queries.findings.heads.
        return headline(self.__dict__.get("head") or self.finding)[0]

    @property
    def body(self) -> str:
        """What the finding says after its title, as much as a page draws."""
        return headline(self.finding[:SHOWN_CHARS])[1]

    @property
    def shown_fix(self) -> str:
        return (self.suggested_fix or "")[:SHOWN_CHARS]

    @property
    def shown_context(self) -> str:
        return (self.code_context or "")[:SHOWN_CHARS]

    @property
    def left_out(self) -> int:
        """Characters of its texts that a page does not draw."""
        texts = (self.finding, self.suggested_fix, self.code_context)
        return sum(max(0, len(text) - SHOWN_CHARS) for text in texts if text)

    @property
    def short_hash(self) -> str:
        return self.diff_key[:8] if self.diff_key else (self.diff_hash or "")[:12]

    @property
    def shown_severity(self) -> str:
        """The word of the vocabulary; what is none of it, as sent."""
        return RANK_NAMES.get(self.severity_rank, self.severity)

    @property
    def fix_kind(self) -> str:
        """``diff``, ``code`` or ``prose``: how the suggested fix is drawn."""
        return kind_of(self.suggested_fix or "")

    @property
    def context_kind(self) -> str:
        """``diff`` or ``code``; what is shown of a file is never read as prose."""
        return "diff" if is_diff(self.code_context or "") else "code"


class ReviewTally(models.Model):
    """How many findings there are of one project, reviewer, severity and state; kept by every write.

    Pages read these few rows instead of counting. ``writes`` only grows: its sum is the live version of
    every page of findings. After a project is deleted two rows may stand for the same; readers add up.
    """

    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_SET_NULL)
    reviewer_agent = models.CharField(max_length=NAME_CHARS)
    severity_rank = models.PositiveSmallIntegerField()
    resolution = models.CharField(max_length=20)
    count = models.BigIntegerField(default=0)
    writes = models.BigIntegerField(default=0)

    class Meta:
        db_table = "review_tallies"
        verbose_name_plural = "review tallies"
        ordering = ["id"]
        indexes = [
            # The one row that a write moves.
            models.Index(
                fields=["reviewer_agent", "project", "severity_rank", "resolution"], name="review_tally_of"
            )
        ]

    def __str__(self) -> str:
        return f"{self.count} {self.resolution} of rank {self.severity_rank} by {self.reviewer_agent}"
