from django.db import models

from contextdash.models.token import Token
from contextdash.models.user import User


class Change(models.Model):
    """One change of one field of one row: the history of every noun."""

    noun = models.CharField(max_length=40, help_text="The table, such as plans.")
    row_id = models.CharField(max_length=128)
    field = models.CharField(max_length=60)
    old = models.TextField(null=True, blank=True)
    new = models.TextField(null=True, blank=True)
    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="changes")
    token = models.ForeignKey(Token, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField(blank=True, default="")
    at = models.DateTimeField()

    class Meta:
        db_table = "changes"
        ordering = ["-id"]
        indexes = [
            # The history of one row, newest first.
            models.Index(fields=["noun", "row_id", "-id"], name="changes_of_row"),
            # What a person or agent changed lately (Today, Stand-up).
            models.Index(fields=["-at"], name="changes_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.noun} {self.row_id} {self.field}"
