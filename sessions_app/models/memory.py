"""What agents and people write down: messages, plans, decisions, mistakes.

Table and column names are those of the older system, so that its users find what they know.
"""

from django.conf import settings
from django.db import models

from contextdash.limits import NAME_CHARS, PATH_CHARS, TITLE_CHARS
from sessions_app.models.place import Project
from sessions_app.models.session import Session
from sessions_app.vocabulary import DecisionStatus, PlanStatus


class AgentMessage(models.Model):
    """A message of one agent, perhaps to another; a hand-off waits to be acknowledged."""

    session = models.ForeignKey(
        Session, to_field="id", db_column="session_id", on_delete=models.DB_CASCADE, related_name="messages"
    )
    agent_name = models.CharField(max_length=NAME_CHARS)
    role = models.CharField(max_length=NAME_CHARS)
    target = models.CharField(max_length=NAME_CHARS, null=True, blank=True)
    content = models.TextField(blank=True)
    ts = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="+"
    )
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "agent_messages"
        ordering = ["-ts", "-id"]
        indexes = [
            # Recent messages and the timeline of one session.
            models.Index(fields=["session", "ts", "id"], name="messages_of_session"),
            # What one agent wrote lately.
            models.Index(fields=["agent_name", "-ts", "-id"], name="messages_of_agent"),
            # Hand-offs that nobody has acknowledged (Today, the inbox).
            models.Index(
                fields=["-ts", "-id"],
                name="handoffs_open",
                condition=models.Q(role="handoff", acknowledged_at=None),
            ),
            # Those that somebody has taken note of (the inbox).
            models.Index(
                fields=["-ts", "-id"],
                name="handoffs_acknowledged",
                condition=models.Q(role="handoff", acknowledged_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent_name}: {self.content[:60]}"


class Plan(models.Model):
    """One version of a plan: a new row only when the body differs from the newest of its project and path."""

    session = models.ForeignKey(
        Session, to_field="id", db_column="session_id", on_delete=models.DB_CASCADE, related_name="plans"
    )
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_SET_NULL)
    title = models.CharField(max_length=TITLE_CHARS)
    path = models.CharField(max_length=PATH_CHARS)
    body_md = models.TextField()
    body_digest = models.BinaryField(max_length=16)
    plan_key = models.BinaryField(
        max_length=16, help_text="Digest of project and path: which plan this is a version of."
    )
    number = models.PositiveIntegerField(default=1, help_text="Of this version of the plan, from 1.")
    newest = models.BooleanField(default=True)
    task_count = models.PositiveIntegerField(default=0, help_text="Items of its task lists.")
    task_done = models.PositiveIntegerField(default=0, help_text="Those that are ticked.")
    status = models.CharField(max_length=NAME_CHARS, default=PlanStatus.PROPOSED)
    created_by = models.CharField(max_length=NAME_CHARS, default="orchestrator")
    ts = models.DateTimeField()
    version = models.PositiveIntegerField(default=1, help_text="Of this row, for If-Match.")

    class Meta:
        db_table = "plans"
        ordering = ["-ts", "-id"]
        constraints = [
            # The one that a snapshot is compared with.
            models.UniqueConstraint(
                fields=["plan_key"], name="one_newest_version", condition=models.Q(newest=True)
            )
        ]
        indexes = [
            models.Index(fields=["session", "ts", "id"], name="plans_of_session"),
            # All versions of one plan. Of a digest: a path is longer than an index of PostgreSQL takes.
            models.Index(fields=["plan_key", "-number"], name="plans_of_path"),
            # The list of plans, one entry each; all of them or those of a status.
            models.Index(fields=["-ts", "-id"], name="plans_newest", condition=models.Q(newest=True)),
            models.Index(
                fields=["status", "-ts", "-id"], name="plans_by_status", condition=models.Q(newest=True)
            ),
            # Every version, newest first (the API).
            models.Index(fields=["-ts", "-id"], name="plans_by_time"),
        ]

    def __str__(self) -> str:
        return self.title


class Decision(models.Model):
    """A choice and its reasons; people make them as well as agents."""

    session = models.ForeignKey(
        Session,
        to_field="id",
        db_column="session_id",
        null=True,
        blank=True,
        on_delete=models.DB_SET_NULL,
        related_name="decisions",
    )
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_SET_NULL)
    topic = models.CharField(max_length=NAME_CHARS)
    choice = models.TextField()
    rationale = models.TextField(blank=True)
    agent_name = models.CharField(max_length=NAME_CHARS, default="orchestrator")
    status = models.CharField(max_length=20, default=DecisionStatus.STANDS)
    superseded_by = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.DB_SET_NULL,
        related_name="supersedes",
        db_index=False,
    )
    ts = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "decisions"
        ordering = ["-ts", "-id"]
        indexes = [
            models.Index(fields=["session", "ts", "id"], name="decisions_of_session"),
            # The log of one topic, and the earlier decisions that a new one may contradict.
            models.Index(fields=["topic", "-ts", "-id"], name="decisions_of_topic"),
            models.Index(fields=["-ts", "-id"], name="decisions_newest"),
            models.Index(fields=["project", "-ts", "-id"], name="decisions_of_project"),
            # What a decision took the place of. Partial, or SQLite believes that each has as many as there
            # are decisions without a successor, and reads the whole table.
            models.Index(
                fields=["superseded_by"],
                name="decisions_by_successor",
                condition=~models.Q(superseded_by=None),
            ),
            # Contradictions that a person must settle (Today, the top of the log).
            models.Index(
                fields=["-ts", "-id"], name="decisions_in_conflict", condition=models.Q(status="conflict")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.topic}: {self.choice}"[:200]


class Mistake(models.Model):
    """Something that went wrong, its cause and cure, and the lesson if there is one."""

    session = models.ForeignKey(
        Session,
        to_field="id",
        db_column="session_id",
        null=True,
        blank=True,
        on_delete=models.DB_SET_NULL,
        related_name="mistakes",
    )
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_SET_NULL)
    agent_name = models.CharField(max_length=NAME_CHARS)
    category = models.CharField(max_length=NAME_CHARS, default="other")
    summary = models.TextField()
    root_cause = models.TextField(null=True, blank=True)
    fix = models.TextField(null=True, blank=True)
    lesson_file = models.CharField(
        max_length=PATH_CHARS, null=True, blank=True, help_text="Shown as text; never opened."
    )
    lesson_md = models.TextField(
        null=True, blank=True, help_text="The lesson itself; one that is written has a lesson_file."
    )
    cause_key = models.CharField(
        max_length=64, blank=True, default="", help_text="The normalised cause, to see what recurs."
    )
    ts = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "mistakes"
        ordering = ["-ts", "-id"]
        indexes = [
            models.Index(fields=["session", "ts", "id"], name="mistakes_of_session"),
            models.Index(fields=["category", "-ts", "-id"], name="mistakes_of_category"),
            # What happened before from the same cause.
            models.Index(fields=["cause_key"], name="mistakes_by_cause"),
            models.Index(fields=["-ts", "-id"], name="mistakes_newest"),
            models.Index(fields=["project", "-ts", "-id"], name="mistakes_of_project"),
        ]

    def __str__(self) -> str:
        return self.summary[:200]
