from django.db import models

from contextdash.limits import LABEL_BYTES
from sessions_app.models.session import Session


class SessionLabel(models.Model):
    """A tag of a session. The whole list is replaced at once; it keeps the order in which it was given."""

    session = models.ForeignKey(Session, on_delete=models.DB_CASCADE, related_name="labels", db_index=False)
    place = models.PositiveSmallIntegerField(help_text="In the session's list, from 0.")
    label = models.CharField(max_length=LABEL_BYTES)

    class Meta:
        db_table = "session_labels"
        ordering = ["session", "place"]
        constraints = [
            models.UniqueConstraint(fields=["session", "label"], name="one_label_per_session"),
            # The chips of one session, in order.
            models.UniqueConstraint(fields=["session", "place"], name="one_label_per_place"),
        ]
        indexes = [
            # All sessions of a label, and which labels there are.
            models.Index(fields=["label", "session"], name="labels_of_sessions"),
        ]

    def __str__(self) -> str:
        return self.label
