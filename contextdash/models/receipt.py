from django.db import models


class Receipt(models.Model):
    """What a writer's post with an ``Idempotency-Key`` made, so that a retry gets the same answer."""

    digest = models.BinaryField(max_length=16, unique=True, help_text="Of token, path and key.")
    body_digest = models.BinaryField(max_length=16)
    noun = models.CharField(max_length=40)
    row_id = models.CharField(max_length=128)
    told = models.TextField(null=True, help_text="JSON: the answer to an act that made no row of its own.")
    at = models.DateTimeField()

    class Meta:
        db_table = "receipts"
        # The background thread forgets receipts after a day.
        indexes = [models.Index(fields=["at"], name="receipts_by_age")]

    def __str__(self) -> str:
        return f"{self.noun} {self.row_id}"
