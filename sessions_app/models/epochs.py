"""The git baseline that runs worked on: a workspace is opened at a commit (an epoch), with one version."""

from django.db import models
from django.db.models import Q

from contextdash.limits import CLAIM_ID_CHARS, DIGEST_CHARS


class WorkspaceEpoch(models.Model):
    """A workspace opened at a commit. It never changes. Times in µs, UTC."""

    workspace_id = models.CharField(max_length=CLAIM_ID_CHARS)
    workspace_epoch_id = models.CharField(max_length=CLAIM_ID_CHARS, unique=True)
    repository_id = models.CharField(max_length=CLAIM_ID_CHARS)
    workspace_instance_id = models.CharField(max_length=CLAIM_ID_CHARS, unique=True)
    mode = models.CharField(max_length=40)
    object_format = models.CharField(max_length=10)
    source_commit_oid = models.CharField(max_length=64)
    source_tree_oid = models.CharField(max_length=64)
    materialization_profile_digest = models.CharField(max_length=DIGEST_CHARS)
    materialization_semantics = models.CharField(max_length=60)
    policy_hash = models.CharField(max_length=DIGEST_CHARS)
    opened_event_id = models.CharField(max_length=CLAIM_ID_CHARS, unique=True)
    protocol_version = models.PositiveIntegerField(default=1)
    committed_us = models.BigIntegerField()

    class Meta:
        db_table = "workspace_epochs"
        ordering = ["-committed_us", "-id"]
        indexes = [
            # All, newest first, and those of one workspace.
            models.Index(fields=["-committed_us", "-id"], name="epochs_newest"),
            models.Index(fields=["workspace_id", "-committed_us", "-id"], name="epochs_of_workspace"),
        ]

    def __str__(self) -> str:
        return self.workspace_epoch_id


class WorkspaceVersion(models.Model):
    """What a workspace held at a point of its epoch; so far only its baseline, without parents."""

    epoch = models.ForeignKey(WorkspaceEpoch, on_delete=models.DB_CASCADE, related_name="versions")
    workspace_version_id = models.CharField(max_length=CLAIM_ID_CHARS, unique=True)
    origin_kind = models.CharField(max_length=20)
    parents = models.JSONField(default=list, blank=True)
    commit_oid = models.CharField(max_length=64)
    tree_oid = models.CharField(max_length=64)
    tree_delta_digest = models.CharField(max_length=DIGEST_CHARS)
    changed_file_count = models.PositiveIntegerField()
    deleted_file_count = models.PositiveIntegerField(default=0)
    accepted_event_id = models.CharField(max_length=CLAIM_ID_CHARS, unique=True)
    committed_us = models.BigIntegerField()

    class Meta:
        db_table = "workspace_versions"
        ordering = ["epoch", "id"]

    def __str__(self) -> str:
        return self.workspace_version_id


class WorkspaceHead(models.Model):
    """The version that an epoch's workspace is at."""

    epoch = models.OneToOneField(WorkspaceEpoch, on_delete=models.DB_CASCADE, related_name="head")
    version = models.ForeignKey(WorkspaceVersion, on_delete=models.DB_CASCADE, related_name="+")
    revision = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "workspace_heads"
        ordering = ["epoch"]
        constraints = [
            models.CheckConstraint(condition=Q(revision__gt=0), name="revisions_count_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.epoch_id} at {self.revision}"
