from django.db import models

from contextdash.limits import HOST_CHARS, PLACE_CHARS


class Project(models.Model):
    """A named group of sessions, usually one repository. It groups and filters but never hides."""

    name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=100, unique=True)
    color = models.CharField(max_length=20, blank=True, default="")
    position = models.PositiveIntegerField(default=0, help_text="The order that people chose.")
    root = models.CharField(max_length=PLACE_CHARS, blank=True, default="")
    remote = models.CharField(max_length=PLACE_CHARS, blank=True, default="")
    created_at = models.DateTimeField()
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
    created_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "workspaces"
        ordering = ["root", "id"]
        constraints = [
            models.UniqueConstraint(fields=["host", "root"], name="one_workspace_per_host_and_root")
        ]

    def __str__(self) -> str:
        return self.root
