"""Workspaces opened at a commit."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status

from contextdash import clock
from contextdash.apikit import Body, Paging, allow, listed
from contextdash.models.token import Scope
from sessions_app.models import WorkspaceEpoch, WorkspaceVersion
from sessions_app.queries import epochs as queries
from sessions_app.services.epochs import MODES, SEMANTICS, Opened, open_epoch

router = Router(tags=["claims"])


class EpochIn(Body):
    workspace_id: str
    workspace_epoch_id: str
    repository_id: str
    workspace_instance_id: str
    mode: str = MODES[0]
    object_format: str
    source_commit_oid: str
    source_tree_oid: str
    initial_workspace_version_id: str
    materialization_profile_digest: str
    materialization_semantics: str = SEMANTICS[0]
    policy_hash: str
    tree_delta_digest: str
    changed_file_count: int
    deleted_file_count: int = 0
    opened_event_id: str = ""
    accepted_event_id: str = ""


class VersionOut(Schema):
    workspace_version_id: str
    origin_kind: str
    parents: list[str]
    commit_oid: str
    tree_oid: str
    tree_delta_digest: str
    changed_file_count: int
    deleted_file_count: int
    accepted_event_id: str


class HeadOut(Schema):
    workspace_version_id: str
    commit_oid: str
    tree_oid: str
    revision: int


class EpochOut(Schema):
    id: int
    workspace_id: str
    workspace_epoch_id: str
    repository_id: str
    workspace_instance_id: str
    mode: str
    object_format: str
    source_commit_oid: str
    source_tree_oid: str
    materialization_profile_digest: str
    materialization_semantics: str
    policy_hash: str
    opened_event_id: str
    committed_at: str
    versions: list[VersionOut]
    head: HeadOut


class EpochList(Schema):
    items: list[EpochOut]
    next: str | None


class EpochQuery(Paging):
    workspace: str | None = None


@router.post("", response={200: EpochOut, 201: EpochOut}, summary="Open a workspace at a commit")
def post_epoch(request: HttpRequest, payload: EpochIn) -> Status[Any]:
    """The epoch with its baseline. The same input again is accepted and nothing is written."""
    actor = allow(request, Scope.WRITE)
    epoch, made = open_epoch(opened=Opened(**payload.model_dump()), actor=actor)
    return Status(201 if made else 200, epoch_out(epoch))


@router.get("", response=EpochList, summary="Epochs of workspaces, newest first")
def epochs(request: HttpRequest, query: Query[EpochQuery]) -> Any:
    allow(request, Scope.READ)
    found = queries.epoch_page(workspace=query.workspace, limit=query.limit, cursor=query.cursor)
    return listed(found, epoch_out)


@router.get("/{epoch_id}", response=EpochOut, summary="One epoch of a workspace")
def epoch(request: HttpRequest, epoch_id: str) -> Any:
    allow(request, Scope.READ)
    return epoch_out(queries.epoch(epoch_id))


def epoch_out(row: WorkspaceEpoch) -> dict[str, Any]:
    head = row.head
    return {
        "id": row.pk,
        "workspace_id": row.workspace_id,
        "workspace_epoch_id": row.workspace_epoch_id,
        "repository_id": row.repository_id,
        "workspace_instance_id": row.workspace_instance_id,
        "mode": row.mode,
        "object_format": row.object_format,
        "source_commit_oid": row.source_commit_oid,
        "source_tree_oid": row.source_tree_oid,
        "materialization_profile_digest": row.materialization_profile_digest,
        "materialization_semantics": row.materialization_semantics,
        "policy_hash": row.policy_hash,
        "opened_event_id": row.opened_event_id,
        "committed_at": clock.iso(clock.from_us(row.committed_us)),
        "versions": [_version_out(version) for version in row.versions.all()],
        "head": {
            "workspace_version_id": head.version.workspace_version_id,
            "commit_oid": head.version.commit_oid,
            "tree_oid": head.version.tree_oid,
            "revision": head.revision,
        },
    }


def _version_out(row: WorkspaceVersion) -> dict[str, Any]:
    return {
        "workspace_version_id": row.workspace_version_id,
        "origin_kind": row.origin_kind,
        "parents": row.parents,
        "commit_oid": row.commit_oid,
        "tree_oid": row.tree_oid,
        "tree_delta_digest": row.tree_delta_digest,
        "changed_file_count": row.changed_file_count,
        "deleted_file_count": row.deleted_file_count,
        "accepted_event_id": row.accepted_event_id,
    }
