from django.db import models
from django.db.models import Q

from contextdash.limits import HOST_CHARS, NAME_CHARS, PLACE_CHARS
from sessions_app.vocabulary import WorkspaceKind, WorkspaceState


class Project(models.Model):
    """A named group of sessions, usually one repository. It groups and filters but never hides."""

    name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=100, unique=True)
    color = models.CharField(max_length=20, blank=True, default="")
    position = models.PositiveIntegerField(default=0, help_text="The order that people chose.")
    root = models.CharField(max_length=PLACE_CHARS, blank=True, default="")
    remote = models.CharField(max_length=PLACE_CHARS, blank=True, default="")
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "projects"
        ordering = ["position", "id"]
        indexes = [
            # The project of a session that starts: by remote, else by root.
            models.Index(fields=["remote"], name="projects_by_remote"),
            models.Index(fields=["root"], name="projects_by_root"),
        ]

    def __str__(self) -> str:
        return self.name


class Workspace(models.Model):
    """A place on disk where agents work: one root on one host."""

    host = models.CharField(max_length=HOST_CHARS, blank=True, default="")
    root = models.CharField(max_length=PLACE_CHARS)
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.DB_SET_NULL)
    remote = models.CharField(max_length=PLACE_CHARS, blank=True, default="")
    kind = models.CharField(max_length=40, default=WorkspaceKind.TRUNK, db_default=WorkspaceKind.TRUNK)
    state = models.CharField(max_length=40, default=WorkspaceState.ACTIVE, db_default=WorkspaceState.ACTIVE)
    label = models.CharField(max_length=NAME_CHARS, blank=True, default="", db_default="")
    repo = models.CharField(
        max_length=NAME_CHARS,
        blank=True,
        default="",
        db_default="",
        help_text="Which clones are of one root.",
    )
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="drafts"
    )
    mechanism = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="How a draft was made: reflink, worktree.",
    )
    forked_us = models.BigIntegerField(null=True, blank=True, help_text="A draft's baseline.")
    focused_us = models.BigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField()
    discarded_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "workspaces"
        ordering = ["root", "id"]
        indexes = [
            # All, newest first, and the clones of one repository.
            models.Index(fields=["-created_at", "-id"], name="workspaces_newest"),
            models.Index(fields=["repo"], name="workspaces_of_repo", condition=~Q(repo="")),
        ]
        constraints = [
            models.UniqueConstraint(fields=["host", "root"], name="one_workspace_per_host_and_root")
        ]

    def __str__(self) -> str:
        return self.root


class WorkspaceFocus(models.Model):
    """Which of a repository's workspaces on a host somebody works in now."""

    host = models.CharField(max_length=HOST_CHARS, blank=True, default="")
    repo = models.CharField(max_length=NAME_CHARS)
    workspace = models.ForeignKey(Workspace, on_delete=models.DB_CASCADE, related_name="focus")
    updated_us = models.BigIntegerField()

    class Meta:
        db_table = "workspace_focus"
        ordering = ["repo", "host"]
        verbose_name_plural = "workspace focus"
        constraints = [models.UniqueConstraint(fields=["host", "repo"], name="one_focus_per_repo")]

    def __str__(self) -> str:
        return self.repo
