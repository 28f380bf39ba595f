from django.conf import settings
from django.db import models

from contextdash.limits import NAME_CHARS


class Upload(models.Model):
    """Transcripts that a person gave in the page: waiting in a folder of ours, being read, or read."""

    WAITING, READING, DONE, FAILED = "waiting", "reading", "done", "failed"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.DB_SET_NULL,
        related_name="uploads",
        db_index=False,
    )
    folder = models.CharField(max_length=40, unique=True, help_text="Its name below the folder of uploads.")
    name = models.CharField(
        max_length=NAME_CHARS, help_text="Of the file, or of the first and how many more."
    )
    state = models.CharField(max_length=20, default=WAITING)
    size = models.BigIntegerField(default=0, help_text="Bytes as they came.")
    total_bytes = models.BigIntegerField(default=0, help_text="Bytes of the transcripts found.")
    read_bytes = models.BigIntegerField(default=0)
    files = models.JSONField(
        default=list,
        blank=True,
        help_text="Of each transcript: name, size, done, events, skipped, source, sessions, error.",
    )
    ignored = models.PositiveIntegerField(default=0, help_text="Files that are no transcript.")
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "uploads"
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name
