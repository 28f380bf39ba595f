from django.conf import settings
from django.db import models

from sessions_app.models.session import Session


class SeenMark(models.Model):
    """How far one person has seen one session: its timeline, and its row in the list of sessions."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.DB_CASCADE, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.DB_CASCADE, related_name="+")
    seen_us = models.BigIntegerField(default=0, help_text="The newest row that was on their screen.")
    listed_us = models.BigIntegerField(default=0, help_text="Its last event when they saw it in the list.")
    at_us = models.BigIntegerField(help_text="When they looked.")

    class Meta:
        db_table = "seen_marks"
        constraints = [models.UniqueConstraint(fields=["user", "session"], name="one_mark_per_session")]
        indexes = [
            # When somebody looked last (People).
            models.Index(fields=["user", "-at_us"], name="seen_marks_of_person"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} has seen {self.session_id} to {self.seen_us}"
