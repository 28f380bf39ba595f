"""Files that were sent with a request or made by a tool call."""

from django.db import models
from django.db.models import Q

from contextdash import clock
from contextdash.limits import NAME_CHARS, PATH_CHARS
from sessions_app.models.session import Session
from sessions_app.models.turn import Turn
from sessions_app.models.usage import Iteration
from sessions_app.vocabulary import Audience


class AttachmentContent(models.Model):
    """The bytes of a file, once however many attachments have them."""

    digest = models.BinaryField(max_length=32, unique=True, help_text="SHA-256 of what was sent.")
    size = models.PositiveBigIntegerField(help_text="Bytes as they were sent.")
    data = models.BinaryField(help_text="As sent; of text, with its secrets masked.")

    class Meta:
        db_table = "attachment_contents"
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.size} bytes"


class Attachment(models.Model):
    """A file of a session. Without a model call it came with the user's request, else a tool made it.

    Either its bytes are here, or ``storage_uri`` says where they are: that is a text and is never opened.
    """

    attachment_id = models.CharField(
        max_length=NAME_CHARS, unique=True, help_text="The writer's, else minted."
    )
    session = models.ForeignKey(
        Session, on_delete=models.DB_CASCADE, related_name="attachments", db_index=False
    )
    turn = models.ForeignKey(
        Turn, null=True, blank=True, on_delete=models.DB_CASCADE, related_name="attachments"
    )
    iteration = models.ForeignKey(
        Iteration, null=True, blank=True, on_delete=models.DB_CASCADE, related_name="attachments"
    )
    call_id = models.CharField(max_length=NAME_CHARS, blank=True, default="", help_text="Of the tool call.")
    position = models.PositiveIntegerField(default=0, help_text="In its request or tool call, from 0.")
    kind = models.CharField(max_length=40, default="file", help_text="image, doc, file…")
    media_type = models.CharField(max_length=NAME_CHARS, help_text="What the bytes are.")
    told_type = models.CharField(max_length=NAME_CHARS, blank=True, default="", help_text="As it was sent.")
    filename = models.CharField(max_length=NAME_CHARS, blank=True, default="")
    version = models.PositiveIntegerField(default=1, help_text="Of its name in the session.")
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    audience = models.CharField(max_length=40, default=Audience.BOTH)
    transcription = models.TextField(blank=True, default="", help_text="The words of a recording.")
    content = models.ForeignKey(
        AttachmentContent, null=True, blank=True, on_delete=models.DO_NOTHING, related_name="attachments"
    )
    storage_uri = models.CharField(max_length=PATH_CHARS, blank=True, default="")
    erased = models.BooleanField(default=False, help_text="Its bytes were purged.")
    created_us = models.BigIntegerField(help_text="As its writer dates it.")
    received_us = models.BigIntegerField(
        default=clock.now_us, db_default=0, help_text="What purges go by, as they do with events."
    )

    class Meta:
        db_table = "attachments"
        ordering = ["session", "id"]
        indexes = [
            # The panel of one session, and the next version of a name.
            models.Index(fields=["session", "filename", "version"], name="attachments_by_name"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(version__gt=0), name="attachment_versions_from_one"),
        ]

    def __str__(self) -> str:
        return self.filename or self.attachment_id
