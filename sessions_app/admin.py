import json
from typing import Any

from django.contrib import admin
from django.utils.text import Truncator

from contextdash.adminkit import Corrections, ReadOnly, head, moment, words
from sessions_app import admin_claims, admin_ledger, admin_usage, admin_vis, vocabulary
from sessions_app.models import (
    AgentMessage,
    Decision,
    Event,
    HookBucket,
    HookEvent,
    Mistake,
    Plan,
    Project,
    Purge,
    Quarantined,
    Run,
    SeenMark,
    Session,
    SessionEvent,
    SessionState,
    SpoolReport,
    Tombstone,
    ToolCall,
    TouchedFile,
    Turn,
    Workspace,
)
from sessions_app.queries.payloads import payload_of
from sessions_app.services.decisions import change_decision
from sessions_app.services.messages import change_message
from sessions_app.services.mistakes import change_mistake
from sessions_app.services.plans import change_plan
from sessions_app.services.projects import change_project
from sessions_app.services.sessions import change_session

__all__ = ["admin_claims", "admin_ledger", "admin_usage", "admin_vis"]

SHOWN_CHARS = 64 * 1024


@admin.register(Project)
class ProjectAdmin(Corrections):
    list_display = ("name", "slug", "position", "root", "remote", "created_at")
    search_fields = ("name", "slug", "root", "remote")
    correctable = ("name", "color", "root", "remote", "position")

    def correct(self, row: Project, values: dict[str, Any], **told: Any) -> None:
        change_project(project=row, values=values, **told)


@admin.register(Session)
class SessionAdmin(Corrections):
    list_display = ("id", "title", "client", "agent_name", "project", "status", "activity", moment("last_us"))
    list_filter = (
        words("status", vocabulary.SessionStatus),
        words("activity", vocabulary.Activity),
        ("project", admin.RelatedOnlyFieldListFilter),
    )
    list_select_related = ("project",)
    search_fields = ("id__startswith", "title", "branch")
    ordering = ("-last_us", "-key")
    heads = ("user_request",)
    correctable = ("title", "user_request", "branch", "agent_name", "project", "pinned")
    raw_id_fields = ("project",)
    version_field = "metadata_version"

    def correct(self, row: Session, values: dict[str, Any], **told: Any) -> None:
        change_session(session=row, values=values, **told)


@admin.register(AgentMessage)
class MessageAdmin(Corrections):
    list_display = ("id", "ts", "agent_name", "role", "target", head("content"), "session_id")
    list_filter = (words("role", vocabulary.MessageRole),)
    search_fields = ("=session__id", "agent_name", "target")
    heads = ("content",)
    correctable = ("role", "target")

    def correct(self, row: AgentMessage, values: dict[str, Any], **told: Any) -> None:
        change_message(message=row, values=values, **told)


@admin.register(Plan)
class PlanAdmin(Corrections):
    list_display = ("id", "title", "path", "status", "created_by", "ts", "session_id")
    list_filter = (words("status", vocabulary.PlanStatus),)
    search_fields = ("title", "path", "=session__id")
    heads = ("body_md",)
    correctable = ("title", "status")

    def correct(self, row: Plan, values: dict[str, Any], **told: Any) -> None:
        change_plan(plan=row, values=values, **told)


@admin.register(Decision)
class DecisionAdmin(Corrections):
    list_display = ("id", "topic", head("choice"), "agent_name", "status", "superseded_by_id", "ts")
    list_filter = (words("status", vocabulary.DecisionStatus),)
    search_fields = ("topic", "choice", "=session__id")
    heads = ("choice", "rationale")
    correctable = ("topic", "choice", "rationale", "agent_name", "status", "superseded_by")
    raw_id_fields = ("superseded_by",)

    def correct(self, row: Decision, values: dict[str, Any], **told: Any) -> None:
        if isinstance(values.get("superseded_by"), Decision):
            values["superseded_by"] = values["superseded_by"].pk
        change_decision(decision=row, values=values, **told)


@admin.register(Mistake)
class MistakeAdmin(Corrections):
    list_display = ("id", head("summary"), "category", "agent_name", "lesson_file", "ts")
    list_filter = (words("category", vocabulary.MistakeCategory),)
    search_fields = ("summary", "agent_name", "=session__id")
    heads = ("summary", "root_cause", "fix")
    correctable = ("agent_name", "category", "summary", "root_cause", "fix", "lesson_md", "lesson_file")

    def correct(self, row: Mistake, values: dict[str, Any], **told: Any) -> None:
        change_mistake(mistake=row, values=values, **told)


@admin.register(Event)
class EventAdmin(ReadOnly):
    """The ledger: what is written here stays as it is."""

    list_display = ("key", "session_id", "ordinal", "name", "kind", "client", "source", moment("occurred_us"))
    list_filter = (words("kind", vocabulary.EventKind), words("source", vocabulary.Source))
    search_fields = ("=session__id",)
    search_help_text = "A session's id"
    ordering = ("-key",)
    readonly_fields = ("body",)

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).defer("payload")

    @admin.display(description="payload")
    def body(self, event: Event) -> str:
        text = json.dumps(payload_of(event), ensure_ascii=False, indent=2)
        return Truncator(text).chars(SHOWN_CHARS)


@admin.register(SessionEvent)
class SessionEventAdmin(ReadOnly):
    list_display = ("key", "session_id", "type", "category", "priority", head("data"), moment("occurred_us"))
    search_fields = ("=session__id",)
    ordering = ("-key",)
    heads = ("data",)


@admin.register(ToolCall)
class ToolCallAdmin(ReadOnly):
    list_display = ("key", "session_id", "name", "state", "summary", moment("started_us"), "duration_us")
    list_filter = (words("state", vocabulary.CallState),)
    search_fields = ("=session__id", "=call_id")
    ordering = ("-key",)


@admin.register(TouchedFile)
class TouchedFileAdmin(ReadOnly):
    list_display = ("key", "session_id", "action", "path", "call_id")
    list_filter = (words("action", vocabulary.FileAction),)
    search_fields = ("=session__id", "=path")
    ordering = ("-key",)


@admin.register(Turn)
class TurnAdmin(ReadOnly):
    list_display = ("key", "session_id", "number", head("prompt"), "call_count", moment("started_us"))
    search_fields = ("=session__id", "=turn_id")
    ordering = ("-key",)
    heads = ("prompt",)


@admin.register(Run)
class RunAdmin(ReadOnly):
    list_display = ("key", "session_id", "number", "status", head("answer"), moment("started_us"))
    list_filter = (words("status", vocabulary.RunStatus),)
    search_fields = ("=session__id", "=invocation_id", "=run_id")
    ordering = ("-key",)
    heads = ("answer", "error")


@admin.register(HookEvent)
class HookEventAdmin(ReadOnly):
    list_display = ("id", "ts", "hook_name", "event_type", "outcome", "duration_ms", "session_id")
    list_filter = (words("outcome", vocabulary.HookOutcome),)
    search_fields = ("hook_name", "event_type", "=session__id")
    heads = ("payload_json",)


@admin.register(HookBucket)
class HookBucketAdmin(ReadOnly):
    list_display = (moment("start_us"), "client", "event", "accepted", "duplicate", "refused", "unknown")
    search_fields = ("client", "event")


@admin.register(SpoolReport)
class SpoolReportAdmin(ReadOnly):
    list_display = ("host", "user_name", "waiting", "dropped", moment("at_us"))
    search_fields = ("host", "user_name")


@admin.register(SeenMark)
class SeenMarkAdmin(ReadOnly):
    list_display = ("id", "user", "session_id", moment("seen_us"), moment("at_us"))
    list_select_related = ("user",)
    search_fields = ("user__username", "=session__id")
    ordering = ("-id",)


@admin.register(Quarantined)
class QuarantinedAdmin(ReadOnly):
    list_display = ("id", "at", "source", "client", "event", "reason", head("detail"), "body_size")
    list_filter = (words("source", vocabulary.Source),)
    search_fields = ("=session_id", "client", "reason")
    heads = ("detail",)
    readonly_fields = ("beginning",)

    @admin.display(description="body")
    def beginning(self, row: Quarantined) -> str:
        return bytes(row.body).decode("utf-8", "replace")


@admin.register(Purge)
class PurgeAdmin(ReadOnly):
    list_display = ("id", "session_key", "user", "token", "reason", "events_deleted", "finished_at")
    list_select_related = ("user", "token")
    search_fields = ("reason",)


@admin.register(Tombstone)
class TombstoneAdmin(ReadOnly):
    list_display = ("session_id", "deleted_at", "user", "token", "reason")
    list_select_related = ("user", "token")
    search_fields = ("=session_id", "reason")


@admin.register(SessionState)
class SessionStateAdmin(ReadOnly):
    list_display = ("key", "session_id", "version", moment("created_us"))
    search_fields = ("=session__id",)
    ordering = ("-key",)


@admin.register(Workspace)
class WorkspaceAdmin(ReadOnly):
    list_display = ("root", "host", "project", "remote", "created_at")
    list_select_related = ("project",)
    search_fields = ("root", "host", "remote")
