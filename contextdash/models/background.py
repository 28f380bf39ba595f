from django.db import models


class Lease(models.Model):
    """Who does a piece of work that only one process may do at a time; times in µs, UTC."""

    name = models.CharField(max_length=60, primary_key=True)
    holder = models.CharField(max_length=64, help_text="Random, of one thread of one process.")
    expires_us = models.BigIntegerField()

    class Meta:
        db_table = "leases"

    def __str__(self) -> str:
        return self.name


class BackgroundRun(models.Model):
    """The newest run of a background task, and what it said if it failed; times in µs, UTC."""

    name = models.CharField(max_length=60, primary_key=True)
    finished_us = models.BigIntegerField(null=True, blank=True, help_text="The newest run to its end.")
    took_us = models.BigIntegerField(default=0)
    failed_us = models.BigIntegerField(null=True, blank=True)
    error = models.TextField(blank=True, default="", help_text="Of the newest run; empty when it went well.")

    class Meta:
        db_table = "background_runs"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class MaskedCount(models.Model):
    """How many secrets of one kind were masked; the secrets themselves are kept nowhere."""

    kind = models.CharField(max_length=60, primary_key=True)
    count = models.PositiveBigIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        db_table = "masked_counts"
        ordering = ["kind"]

    def __str__(self) -> str:
        return f"{self.kind}: {self.count}"
