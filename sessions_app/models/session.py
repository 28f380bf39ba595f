from django.conf import settings
from django.db import models
from django.db.models import Q

from contextdash.limits import HOST_CHARS, PLACE_CHARS, SESSION_ID_CHARS
from sessions_app.models.place import Project, Workspace
from sessions_app.vocabulary import Activity, SessionStatus


class Session(models.Model):
    """One conversation of one agent; a subagent is a child session.

    ``key`` is what high-volume tables refer to; ``id`` is what the API, the addresses and the eight tables
    of the older system use. Counters are kept in the transaction of the write that changes them.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.CharField(max_length=SESSION_ID_CHARS, unique=True)
    external_id = models.TextField(
        blank=True, default="", help_text="The sent id where it could not be kept."
    )

    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_SET_NULL)
    place = models.ForeignKey(Workspace, null=True, blank=True, on_delete=models.DB_SET_NULL)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="children"
    )
    forked_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="forks"
    )
    family_root = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="family"
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="+"
    )

    client = models.CharField(max_length=40, blank=True, default="", help_text="The program: claude-code.")
    agent_name = models.CharField(max_length=200, default="main", help_text="The role: main, tester.")
    agent_id = models.CharField(max_length=200, blank=True, default="", help_text="A subagent's id.")
    provider = models.CharField(max_length=100, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    host = models.CharField(max_length=HOST_CHARS, blank=True, default="")
    workspace = models.CharField(max_length=PLACE_CHARS, blank=True, default="")
    branch = models.CharField(max_length=255, null=True, blank=True)
    permission_mode = models.CharField(max_length=40, blank=True, default="")

    title = models.CharField(max_length=500, blank=True, default="")
    user_request = models.TextField(null=True, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    status = models.CharField(max_length=40, default=SessionStatus.ACTIVE)
    activity = models.CharField(max_length=20, default=Activity.IDLE)
    activity_since_us = models.BigIntegerField(default=0)
    waiting_for = models.CharField(
        max_length=500, blank=True, default="", help_text="What a person must answer."
    )
    current_call = models.CharField(max_length=300, blank=True, default="", help_text="Name and summary.")

    started_us = models.BigIntegerField()
    last_us = models.BigIntegerField(help_text="The newest event or write, never later than it was received.")
    ordinal = models.BigIntegerField(default=0, help_text="Of the newest write; also the live version.")
    started_only = models.BooleanField(default=False, help_text="Nothing came after its SessionStart.")

    event_count = models.PositiveIntegerField(default=0)
    turn_count = models.PositiveIntegerField(default=0)
    call_count = models.PositiveIntegerField(default=0)
    failed_count = models.PositiveIntegerField(default=0)
    child_count = models.PositiveIntegerField(default=0)
    compaction_count = models.PositiveIntegerField(default=0)
    message_count = models.PositiveIntegerField(default=0)
    plan_count = models.PositiveIntegerField(default=0)
    decision_count = models.PositiveIntegerField(default=0)
    mistake_count = models.PositiveIntegerField(default=0)
    review_count = models.PositiveIntegerField(default=0)
    story_count = models.PositiveIntegerField(default=0)
    hook_count = models.PositiveIntegerField(default=0)
    iteration_count = models.PositiveIntegerField(default=0, help_text="Calls of a model.")
    unpriced_count = models.PositiveIntegerField(default=0, help_text="Of these, without a known price.")
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    cost_micro = models.BigIntegerField(null=True, blank=True, help_text="Micro-dollars; NULL is unknown.")

    pinned = models.BooleanField(default=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    metadata_version = models.PositiveIntegerField(default=1)
    extra = models.JSONField(default=dict, blank=True)

    class Meta:
        db_table = "sessions"
        ordering = ["-last_us", "-key"]
        indexes = [
            # The session list, newest first, and every list filtered by one of these.
            models.Index(fields=["-last_us", "-key"], name="sessions_newest", condition=Q(deleted_at=None)),
            models.Index(fields=["project", "-last_us", "-key"], name="sessions_of_project"),
            # Who works or waits now (Today, the page title's count).
            models.Index(
                fields=["activity", "-last_us"], name="sessions_live", condition=~Q(activity="ended")
            ),
            # Those that ended in an error lately (Today, the navigation's count).
            models.Index(
                fields=["-last_us"], name="sessions_errored", condition=Q(status="errored", deleted_at=None)
            ),
            # The only live session of a host and workspace (whose session a verb belongs to).
            models.Index(fields=["host", "workspace", "-last_us"], name="sessions_of_workspace"),
        ]

    def __str__(self) -> str:
        return self.title or self.id[:8]


class SessionState(models.Model):
    """A version of a session in its chain of forks; every session has version 0."""

    key = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, on_delete=models.DB_CASCADE, related_name="states")
    version = models.PositiveIntegerField(default=0)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.DB_SET_NULL)
    created_us = models.BigIntegerField()
    title = models.CharField(
        max_length=500,
        blank=True,
        default="",
        db_default="",
        help_text="As it was when the next version was made; the newest has the session's.",
    )
    system_prompt = models.TextField(blank=True, default="", db_default="")
    provider = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text="That it began with."
    )
    model = models.CharField(max_length=200, blank=True, default="", db_default="")
    place = models.ForeignKey(
        Workspace, null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="states"
    )

    class Meta:
        db_table = "session_states"
        constraints = [models.UniqueConstraint(fields=["session", "version"], name="one_state_per_version")]

    def __str__(self) -> str:
        return f"version {self.version}"


class Tombstone(models.Model):
    """The permanent mark of a deleted session id: whatever comes for it later is refused."""

    session_id = models.CharField(max_length=SESSION_ID_CHARS, unique=True)
    deleted_at = models.DateTimeField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("contextdash.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField(blank=True, default="")
    final_at = models.DateTimeField(null=True, blank=True, help_text="Since then it cannot be undone.")

    class Meta:
        db_table = "tombstones"
        ordering = ["-id"]
        indexes = [
            # Those whose day to be undone has not been ended yet.
            models.Index(fields=["deleted_at"], name="tombstones_not_final", condition=Q(final_at=None)),
        ]

    def __str__(self) -> str:
        return self.session_id
