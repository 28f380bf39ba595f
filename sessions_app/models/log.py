from django.db import models

from contextdash.limits import NAME_CHARS
from sessions_app.models.session import Session
from sessions_app.models.turn import Run
from sessions_app.models.usage import Iteration


class LogEntry(models.Model):
    """A line of a writer's own log, perhaps of a session, a run or a model call. Old ones are dropped."""

    key = models.BigAutoField(primary_key=True)
    level = models.CharField(max_length=40)
    event = models.CharField(max_length=NAME_CHARS, help_text="What was logged: gateway/slow-read.")
    message = models.TextField(blank=True, default="")
    data = models.JSONField(null=True, blank=True)
    session = models.ForeignKey(
        Session, null=True, blank=True, on_delete=models.DB_CASCADE, related_name="logs", db_index=False
    )
    run = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.DB_CASCADE, related_name="+", db_index=False
    )
    iteration = models.ForeignKey(
        Iteration, null=True, blank=True, on_delete=models.DB_CASCADE, related_name="+", db_index=False
    )
    at_us = models.BigIntegerField()

    class Meta:
        db_table = "log_entries"
        ordering = ["-at_us", "-key"]
        verbose_name_plural = "log entries"
        indexes = [
            # All, newest first; those of a session; the levels that people look for.
            models.Index(fields=["-at_us", "-key"], name="logs_newest"),
            models.Index(fields=["session", "-at_us", "-key"], name="logs_of_session"),
            models.Index(fields=["level", "-at_us", "-key"], name="logs_of_level"),
        ]

    def __str__(self) -> str:
        return f"{self.level} {self.event}"
