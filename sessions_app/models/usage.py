from django.db import models
from django.db.models import Q

from contextdash.limits import NAME_CHARS
from sessions_app.models.session import Session
from sessions_app.models.turn import Run


class Iteration(models.Model):
    """One model call: what it thought, said and cost. Times in µs, UTC; money in micro-dollars.

    Tokens are NULL where the source does not tell them, money where nobody knows the price: neither is 0.
    The four classes of tokens do not overlap: input is what came from no cache.
    """

    key = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(
        Session, on_delete=models.DB_CASCADE, related_name="iterations", db_index=False
    )
    run = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.DB_SET_NULL, related_name="iterations", db_index=False
    )
    identity = models.BinaryField(
        max_length=16, unique=True, help_text="Digest of client and response id: counted once over all files."
    )
    response_id = models.CharField(max_length=NAME_CHARS, blank=True, default="")
    request_id = models.CharField(max_length=NAME_CHARS, blank=True, default="")
    source = models.CharField(max_length=20)
    provider = models.CharField(max_length=100, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    speed = models.CharField(max_length=20, blank=True, default="", help_text="fast has prices of its own.")
    # As it was counted: what a session is renamed to or moved to later is not what is taken out of a sum.
    project_key = models.BigIntegerField(default=0)
    client = models.CharField(max_length=40)
    agent = models.CharField(max_length=200)
    at_us = models.BigIntegerField(help_text="When its first piece was written; its day on the Usage page.")
    ended_us = models.BigIntegerField()
    stop_reason = models.CharField(max_length=60, blank=True, default="")
    thinking = models.TextField(blank=True, default="")
    prose = models.TextField(blank=True, default="")
    call_ids = models.JSONField(default=list, blank=True, help_text="Of its tool calls, in order.")
    input_tokens = models.BigIntegerField(null=True, blank=True)
    output_tokens = models.BigIntegerField(null=True, blank=True, help_text="Thinking included.")
    cache_read_tokens = models.BigIntegerField(null=True, blank=True)
    cache_write_5m_tokens = models.BigIntegerField(null=True, blank=True)
    cache_write_1h_tokens = models.BigIntegerField(null=True, blank=True)
    web_searches = models.PositiveIntegerField(default=0)
    tool_tokens = models.BigIntegerField(
        default=0, db_default=0, help_text="Put into the prompt by the provider's own tools; priced as input."
    )
    thinking_tokens = models.BigIntegerField(
        default=0, db_default=0, help_text="How much of the output was thought, as far as it is told."
    )
    cost_micro = models.BigIntegerField(null=True, blank=True, help_text="Micro-dollars at list price.")
    priced_by = models.CharField(
        max_length=60, blank=True, default="", help_text="Whose prices: library, own."
    )
    assumed = models.CharField(
        max_length=100, blank=True, default="", help_text="What the price takes for granted."
    )
    # What only telemetry tells.
    told_micro = models.BigIntegerField(
        null=True, blank=True, help_text="Micro-dollars as the client reckons them."
    )
    duration_us = models.BigIntegerField(null=True, blank=True, help_text="As the client measured it.")
    purpose = models.CharField(
        max_length=60, blank=True, default="", help_text="What the client made the call for: sdk, compact."
    )
    copied = models.BooleanField(
        default=False, db_default=False, help_text="Of a fork: counted in the session that it happened in."
    )

    class Meta:
        db_table = "iterations"
        ordering = ["session", "at_us", "key"]
        indexes = [
            # The transcript of one session.
            models.Index(fields=["session", "at_us", "key"], name="iterations_by_time"),
            # What one run cost.
            models.Index(fields=["run"], name="iterations_of_run", condition=Q(run__isnull=False)),
            # Where telemetry of the same call meets it.
            models.Index(fields=["request_id"], name="iterations_by_request"),
            # All calls of a model, when its price is set.
            models.Index(fields=["model", "key"], name="iterations_of_model"),
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.at_us}"


class UsageBucket(models.Model):
    """Tokens and cost of a quarter of an hour (UTC): days of every time zone are made of whole quarters."""

    start_us = models.BigIntegerField()
    project_key = models.BigIntegerField(default=0, help_text="Of the project; 0 for none.")
    client = models.CharField(max_length=40)
    agent = models.CharField(max_length=200)
    model = models.CharField(max_length=200)
    requests = models.BigIntegerField(default=0)
    unpriced = models.BigIntegerField(default=0, help_text="Requests whose price nobody knows.")
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_5m_tokens = models.BigIntegerField(default=0)
    cache_write_1h_tokens = models.BigIntegerField(default=0)
    web_searches = models.BigIntegerField(default=0)
    cost_micro = models.BigIntegerField(default=0, help_text="Of the requests that have a price.")

    class Meta:
        db_table = "usage_buckets"
        ordering = ["-start_us"]
        constraints = [
            models.UniqueConstraint(
                fields=["start_us", "project_key", "client", "agent", "model"],
                name="one_usage_bucket_per_quarter",
            )
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.start_us}"


class CodeCount(models.Model):
    """What telemetry counted in a session within a quarter of an hour (UTC)."""

    session = models.ForeignKey(
        Session, on_delete=models.DB_CASCADE, related_name="code_counts", db_index=False
    )
    start_us = models.BigIntegerField()
    starts = models.BigIntegerField(default=0, help_text="How often the client began or resumed it.")
    commits = models.BigIntegerField(default=0)
    pull_requests = models.BigIntegerField(default=0)
    lines_added = models.BigIntegerField(default=0)
    lines_removed = models.BigIntegerField(default=0)

    class Meta:
        db_table = "code_counts"
        ordering = ["-start_us", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["session", "start_us"], name="one_code_count_per_quarter")
        ]
        indexes = [
            # The sums of days.
            models.Index(fields=["start_us"], name="code_counts_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.commits} commits, +{self.lines_added} -{self.lines_removed}"


class PriceOverride(models.Model):
    """A price of one's own for a model: a local model, a contract, a name the library does not know."""

    model = models.CharField(max_length=200, unique=True, help_text="Exactly as sessions name it.")
    active = models.BooleanField(default=True, help_text="Otherwise the library's price holds.")
    input_price = models.DecimalField(
        max_digits=14, decimal_places=6, help_text="US dollars for a million tokens."
    )
    output_price = models.DecimalField(max_digits=14, decimal_places=6)
    cache_read_price = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    cache_write_5m_price = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    cache_write_1h_price = models.DecimalField(max_digits=14, decimal_places=6, default=0)

    class Meta:
        db_table = "price_overrides"
        ordering = ["model"]

    def __str__(self) -> str:
        return self.model


class ImportSource(models.Model):
    """A file that sessions were read from, how far, and what in it could not be used."""

    host = models.CharField(max_length=255, blank=True, default="")
    path = models.TextField()
    path_digest = models.BinaryField(max_length=16, unique=True, help_text="Of host and path.")
    client = models.CharField(max_length=40)
    session_id = models.CharField(max_length=128, blank=True, default="")
    inode = models.BigIntegerField(default=0)
    size = models.BigIntegerField(default=0)
    modified_ns = models.BigIntegerField(default=0)
    offset = models.BigIntegerField(default=0, help_text="Bytes that are read and stored.")
    head = models.BinaryField(max_length=16, help_text="Digest of its beginning: another one, another file.")
    head_size = models.PositiveIntegerField(default=0, help_text="Bytes that the digest is of.")
    lines = models.BigIntegerField(default=0)
    blank = models.BigIntegerField(default=0)
    records = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0, help_text="Lines that are no JSON object, or too long.")
    duplicates = models.BigIntegerField(default=0, help_text="Records that stood in it before.")
    copied = models.BigIntegerField(default=0, help_text="Records that another file had first.")
    partial_tail = models.BooleanField(default=False, help_text="Its last line is still being written.")
    error = models.TextField(blank=True, default="")
    facts = models.JSONField(default=dict, blank=True)
    state = models.JSONField(default=dict, blank=True, help_text="Where its reader stands.")
    imported_at = models.DateTimeField()

    class Meta:
        db_table = "import_sources"
        ordering = ["-imported_at", "-id"]
        indexes = [models.Index(fields=["session_id"], name="import_sources_of_session")]

    def __str__(self) -> str:
        return self.path
