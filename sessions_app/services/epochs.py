"""Workspace epochs: a workspace is opened at a commit, once, with the baseline as its only version."""

import re
from dataclasses import asdict, dataclass
from typing import Any

from django.db import IntegrityError, transaction

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid
from contextdash.writer import write
from sessions_app.models import WorkspaceEpoch, WorkspaceHead, WorkspaceVersion
from sessions_app.services.claim_ids import claim_id, digest

MODES = ("managed_worktree",)
SEMANTICS = ("git_tree_materialized_with_fixed_config_v1",)
OID_DIGITS = {"sha1": 40, "sha256": 64}
BASELINE = "baseline"

_HEX = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Opened:
    """All that is told of an epoch and its baseline."""

    workspace_id: str
    workspace_epoch_id: str
    repository_id: str
    workspace_instance_id: str
    object_format: str
    source_commit_oid: str
    source_tree_oid: str
    materialization_profile_digest: str
    policy_hash: str
    initial_workspace_version_id: str
    tree_delta_digest: str
    changed_file_count: int
    deleted_file_count: int = 0
    mode: str = MODES[0]
    materialization_semantics: str = SEMANTICS[0]
    opened_event_id: str = ""
    accepted_event_id: str = ""


@write
def open_epoch(*, opened: Opened, actor: Actor) -> tuple[WorkspaceEpoch, bool]:
    """The epoch of that id with its version and head, and whether it was made just now.

    Without ids of the two events that told of it, they are named after the epoch.

    Raises:
        Invalid: a value is not acceptable.
        Conflict: the epoch was opened with other input, or one of its ids is another epoch's.
    """
    wanted = _checked(opened)
    found = _known(wanted)
    if found is not None:
        return found, False
    try:
        with transaction.atomic():
            return _made(wanted), True
    except IntegrityError:
        found = _known(wanted)  # PostgreSQL: it was opened at this very moment
        if found is not None:
            return found, False
        raise Conflict(
            "The instance, version or event of this epoch is another epoch's.", code="epoch_conflict"
        ) from None


def told_of(epoch: WorkspaceEpoch) -> Opened:
    """What an epoch was opened with."""
    version = epoch.head.version
    names = set(Opened.__dataclass_fields__)
    values: dict[str, Any] = {
        "source_commit_oid": epoch.source_commit_oid,
        "initial_workspace_version_id": version.workspace_version_id,
        "tree_delta_digest": version.tree_delta_digest,
        "changed_file_count": version.changed_file_count,
        "deleted_file_count": version.deleted_file_count,
        "accepted_event_id": version.accepted_event_id,
    }
    return Opened(**values, **{name: getattr(epoch, name) for name in names - values.keys()})


def _known(wanted: Opened) -> WorkspaceEpoch | None:
    rows = WorkspaceEpoch.objects.select_related("head__version")
    found = rows.filter(workspace_epoch_id=wanted.workspace_epoch_id).first()
    if found is None:
        return None
    told = asdict(told_of(found))
    for name, value in asdict(wanted).items():
        if told[name] != value:
            raise Conflict(f"This epoch was opened with another {name}.", field=name, code="epoch_conflict")
    return found


def _made(wanted: Opened) -> WorkspaceEpoch:
    at_us = clock.now_us()
    epoch = WorkspaceEpoch.objects.create(
        workspace_id=wanted.workspace_id,
        workspace_epoch_id=wanted.workspace_epoch_id,
        repository_id=wanted.repository_id,
        workspace_instance_id=wanted.workspace_instance_id,
        mode=wanted.mode,
        object_format=wanted.object_format,
        source_commit_oid=wanted.source_commit_oid,
        source_tree_oid=wanted.source_tree_oid,
        materialization_profile_digest=wanted.materialization_profile_digest,
        materialization_semantics=wanted.materialization_semantics,
        policy_hash=wanted.policy_hash,
        opened_event_id=wanted.opened_event_id,
        committed_us=at_us,
    )
    version = WorkspaceVersion.objects.create(
        epoch=epoch,
        workspace_version_id=wanted.initial_workspace_version_id,
        origin_kind=BASELINE,
        parents=[],
        commit_oid=wanted.source_commit_oid,
        tree_oid=wanted.source_tree_oid,
        tree_delta_digest=wanted.tree_delta_digest,
        changed_file_count=wanted.changed_file_count,
        deleted_file_count=wanted.deleted_file_count,
        accepted_event_id=wanted.accepted_event_id,
        committed_us=at_us,
    )
    WorkspaceHead.objects.create(epoch=epoch, version=version, revision=1)
    return epoch


def _checked(opened: Opened) -> Opened:
    epoch_id = claim_id(opened.workspace_epoch_id, "workspace_epoch_id")
    if opened.object_format not in OID_DIGITS:
        raise Invalid("object_format must be sha1 or sha256.", field="object_format")
    if opened.mode not in MODES:
        raise Invalid(f"mode must be {MODES[0]}.", field="mode")
    if opened.materialization_semantics not in SEMANTICS:
        raise Invalid(f"materialization_semantics must be {SEMANTICS[0]}.", field="materialization_semantics")
    if not 0 <= opened.changed_file_count < 2**31:
        raise Invalid("changed_file_count must be 0 or more.", field="changed_file_count")
    if opened.deleted_file_count != 0:
        raise Invalid("A baseline deletes nothing: deleted_file_count must be 0.", field="deleted_file_count")
    checked: dict[str, Any] = asdict(opened)
    for name in ("workspace_id", "repository_id", "workspace_instance_id", "initial_workspace_version_id"):
        claim_id(checked[name], name)
    for name in ("materialization_profile_digest", "policy_hash", "tree_delta_digest"):
        digest(checked[name], name)
    for name in ("source_commit_oid", "source_tree_oid"):
        _oid(checked[name], name, OID_DIGITS[opened.object_format])
    checked["opened_event_id"] = (
        claim_id(opened.opened_event_id, "opened_event_id", required=False) or f"opened:{epoch_id}"
    )
    checked["accepted_event_id"] = (
        claim_id(opened.accepted_event_id, "accepted_event_id", required=False) or f"baseline:{epoch_id}"
    )
    return Opened(**checked)


def _oid(value: str, name: str, digits: int) -> None:
    if len(value) != digits or not _HEX.fullmatch(value):
        raise Invalid(f"{name} must be {digits} hex digits.", field=name)
