from django.db import models

from contextdash.limits import NAME_CHARS
from sessions_app.models.session import Session


class Counterpart(models.Model):
    """A turn or call of a client whose hooks give them no ids: which sources told of it. Times in µs, UTC."""

    TURN, CALL = "turn", "call"

    key = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(
        Session, on_delete=models.DB_CASCADE, related_name="counterparts", db_index=False
    )
    noun = models.CharField(max_length=10, choices=[(TURN, "turn"), (CALL, "call")])
    about = models.BinaryField(
        max_length=16, help_text="Digest of the prompt, or of the tool and what it was asked."
    )
    row_id = models.CharField(max_length=NAME_CHARS, help_text="The id of the turn or call.")
    at_us = models.BigIntegerField()
    until_us = models.BigIntegerField(
        null=True, blank=True, help_text="When its call ended, as transcripts tell."
    )
    told = models.BooleanField(default=False, help_text="By the transcript.")
    began = models.BooleanField(default=False, help_text="Told by the hook before it.")
    ended = models.BooleanField(default=False, help_text="Told by the hook after it.")

    class Meta:
        db_table = "counterparts"
        ordering = ["session", "key"]
        indexes = [
            # What is alike, in the order in which it was told.
            models.Index(fields=["session", "about", "key"], name="counterparts_alike"),
            # What the result of a call belongs to.
            models.Index(fields=["session", "row_id"], name="counterparts_of_row"),
        ]

    def __str__(self) -> str:
        return f"{self.noun} {self.row_id}"
