"""Claims, streams, epochs and labels in the admin pages: looked at, never changed."""

from django.contrib import admin

from contextdash.adminkit import ReadOnly, head, moment, words
from sessions_app import vocabulary
from sessions_app.models import (
    Capability,
    ContinuationClaim,
    PartialSegment,
    PartialSnapshot,
    SessionCreateClaim,
    SessionLabel,
    SubagentSpawn,
    WorkspaceEpoch,
    WorkspaceHead,
    WorkspaceVersion,
)


@admin.register(SessionLabel)
class SessionLabelAdmin(ReadOnly):
    list_display = ("label", "session_id", "place")
    search_fields = ("=label", "=session__id")
    ordering = ("-id",)


@admin.register(SessionCreateClaim)
class SessionCreateClaimAdmin(ReadOnly):
    list_display = ("session_id", "request_fingerprint", moment("claimed_us"))
    search_fields = ("=session_id",)
    ordering = ("-id",)


@admin.register(SubagentSpawn)
class SubagentSpawnAdmin(ReadOnly):
    list_display = (
        *("child_session_id", "parent_session_id", "tool_call_id"),
        *("swarm_id", "item_id", moment("claimed_us")),
    )
    search_fields = ("=parent_session_id", "=child_session_id", "=tool_call_id")
    ordering = ("-id",)


@admin.register(ContinuationClaim)
class ContinuationClaimAdmin(ReadOnly):
    list_display = (
        *("claim_id", "source_session_id", "source_run_id", "target_run_id"),
        *("start_kind", "prefix_checked", moment("claimed_us")),
    )
    list_filter = (words("start_kind", vocabulary.StartKind), "prefix_checked")
    search_fields = ("=claim_id", "=source_session_id", "=source_run_id", "=target_run_id")
    ordering = ("-id",)


@admin.register(PartialSnapshot)
class PartialSnapshotAdmin(ReadOnly):
    list_display = ("stream_key", "kind", "run_id", "after_seq", moment("updated_us"))
    search_fields = ("=stream_key", "=run__run_id", "=run__invocation_id")
    ordering = ("-id",)


@admin.register(PartialSegment)
class PartialSegmentAdmin(ReadOnly):
    list_display = ("snapshot_id", "number", "size", head("text"))
    search_fields = ("=snapshot__stream_key",)
    ordering = ("-id",)
    heads = ("text",)


@admin.register(Capability)
class CapabilityAdmin(ReadOnly):
    list_display = ("capability", "version", moment("updated_us"))
    search_fields = ("=capability",)
    ordering = ("capability",)


@admin.register(WorkspaceEpoch)
class WorkspaceEpochAdmin(ReadOnly):
    list_display = ("workspace_epoch_id", "workspace_id", "source_commit_oid", moment("committed_us"))
    search_fields = ("=workspace_epoch_id", "=workspace_id", "=source_commit_oid")
    ordering = ("-id",)


@admin.register(WorkspaceVersion)
class WorkspaceVersionAdmin(ReadOnly):
    list_display = (
        *("workspace_version_id", "epoch_id", "origin_kind", "commit_oid"),
        *("changed_file_count", moment("committed_us")),
    )
    search_fields = ("=workspace_version_id", "=commit_oid", "=epoch__workspace_epoch_id")
    ordering = ("-id",)


@admin.register(WorkspaceHead)
class WorkspaceHeadAdmin(ReadOnly):
    list_display = ("epoch_id", "version_id", "revision")
    search_fields = ("=epoch__workspace_epoch_id", "=version__workspace_version_id")
    ordering = ("-id",)
