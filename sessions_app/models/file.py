from django.db import models

from contextdash.limits import FILE_PATH_CHARS
from sessions_app.models.session import Session
from sessions_app.models.tool import ToolCall


class TouchedFile(models.Model):
    """One file that one tool call read or changed: told by the call's input, rebuildable from it."""

    key = models.BigAutoField(primary_key=True)
    # The constraint below is the index of both.
    session = models.ForeignKey(
        Session, on_delete=models.DB_CASCADE, related_name="touched_files", db_index=False
    )
    call = models.ForeignKey(
        ToolCall, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    path = models.CharField(max_length=FILE_PATH_CHARS, help_text="As the client sent it.")
    action = models.CharField(max_length=10)

    class Meta:
        db_table = "touched_files"
        ordering = ["session", "path", "call"]
        constraints = [
            # Files of a session by path, each with its calls in order, read from the index alone.
            models.UniqueConstraint(
                fields=["session", "path", "call", "action"], name="one_touch_per_call_and_file"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.path}"
