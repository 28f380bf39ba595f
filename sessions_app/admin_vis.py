"""Attachments, documents of extensions, routing, logs and what stands beside sessions, in the admin pages."""

from django.contrib import admin

from contextdash.adminkit import ReadOnly, head, moment, words
from sessions_app import vocabulary
from sessions_app.models import (
    Aggregate,
    Attachment,
    AttachmentContent,
    CopiedUsage,
    LogEntry,
    ModelPreference,
    ProjectPlace,
    RoutingEvent,
    RunDetail,
    WarmSession,
    WorkspaceFocus,
)


@admin.register(Attachment)
class AttachmentAdmin(ReadOnly):
    list_display = ("id", "session", "filename", "version", "media_type", "size", "audience")
    list_select_related = ("session",)
    list_filter = (words("audience", vocabulary.Audience),)
    search_fields = ("=session__id", "=attachment_id", "filename")
    exclude = ("content",)


@admin.register(AttachmentContent)
class AttachmentContentAdmin(ReadOnly):
    list_display = ("id", "size")
    exclude = ("data", "digest")


@admin.register(Aggregate)
class AggregateAdmin(ReadOnly):
    list_display = ("extension", "kind", "aggregate_key", "scope", "version", moment("updated_us"))
    search_fields = ("=extension", "=aggregate_key", "=session__id")


@admin.register(RoutingEvent)
class RoutingEventAdmin(ReadOnly):
    list_display = ("key", "iteration_id", "position", "type", "reason", "status")
    search_fields = ("=reason", "=type")
    ordering = ("-key",)


@admin.register(LogEntry)
class LogEntryAdmin(ReadOnly):
    list_display = ("key", "level", "event", head("message"), moment("at_us"))
    heads = ("message",)
    list_filter = (words("level", vocabulary.LogLevel),)
    search_fields = ("=session__id", "=event")
    ordering = ("-at_us", "-key")


@admin.register(RunDetail)
class RunDetailAdmin(ReadOnly):
    list_display = ("run_id", "retried_from_id", "provider", "model", "prior_outcome")
    search_fields = ("=run__session__id", "=run__run_id")
    ordering = ("-run",)


@admin.register(CopiedUsage)
class CopiedUsageAdmin(ReadOnly):
    list_display = ("session", "iteration_count", "input_tokens", "output_tokens", "cost_micro")
    list_select_related = ("session",)
    search_fields = ("=session__id",)


@admin.register(WarmSession)
class WarmSessionAdmin(ReadOnly):
    list_display = ("session", moment("created_us"), moment("claimed_us"))
    list_select_related = ("session",)
    search_fields = ("=session__id",)


@admin.register(ModelPreference)
class ModelPreferenceAdmin(ReadOnly):
    list_display = ("session", "provider", "model")
    list_select_related = ("session",)
    search_fields = ("=session__id", "model")


@admin.register(ProjectPlace)
class ProjectPlaceAdmin(ReadOnly):
    list_display = ("project", "position", "session")
    list_select_related = ("project", "session")
    search_fields = ("=session__id", "=project__slug")


@admin.register(WorkspaceFocus)
class WorkspaceFocusAdmin(ReadOnly):
    list_display = ("repo", "host", "workspace", moment("updated_us"))
    list_select_related = ("workspace",)
    search_fields = ("repo", "host", "=workspace__root")
