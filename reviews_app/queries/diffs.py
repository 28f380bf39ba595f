"""What findings say about a diff: fresh, stale, blocked; and how often the gate was answered from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q, TextChoices

from contextdash import clock
from contextdash.cleaning import clean
from contextdash.ids import EMPTY_DIFF, diff_key
from reviews_app.models import BLOCKING_RANK, Review, Severity
from reviews_app.queries.findings import heads

ROWS_SHOWN = 50
"""The most findings behind an answer that are listed with it; the counts are of all."""
PREFIX_DIGITS = 7
"""The shortest beginning of a hash that is looked up, git's own short form."""

_HEX = frozenset("0123456789abcdef")


class Answer(TextChoices):
    FRESH = "fresh"
    STALE = "stale"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    answer: Answer
    key: str
    window: timedelta
    skip: str = ""
    """Why a skipped diff was not judged: docs-only, no-staged-files, env-override or the asker's word."""
    critical: int = 0
    high: int = 0
    reviewed_at: datetime | None = None
    rows: Sequence[Review] = ()
    """The newest findings of the diff, worst first, at most ROWS_SHOWN."""

    @property
    def passes(self) -> bool:
        return self.answer in (Answer.FRESH, Answer.SKIPPED)

    @property
    def fresh_until(self) -> datetime | None:
        return None if self.reviewed_at is None else self.reviewed_at + self.window

    @property
    def blocking(self) -> str:
        """``1 Critical and 2 High``"""
        counted = [(self.critical, Severity.CRITICAL.value), (self.high, Severity.HIGH.value)]
        return " and ".join(f"{count} {name}" for count, name in counted if count)


@dataclass(frozen=True, slots=True)
class DiffState:
    """A diff at a glance."""

    key: str
    reviewed_at: datetime
    findings: int
    open: int
    blocking: int
    answer: Answer


def judge(key: str, *, window: timedelta, skip: str = "") -> Verdict:
    """The answer for one diff hash; nothing is written."""
    if skip:
        return Verdict(Answer.SKIPPED, key, window, skip=skip)
    of_diff = Review.objects.filter(diff_key=key)
    known = of_diff.aggregate(
        last=Max("ts"), critical=Count("id", Q(open_rank=1)), high=Count("id", Q(open_rank=BLOCKING_RANK))
    )
    if known["last"] is None:
        return Verdict(Answer.UNKNOWN, key, window)
    newest = list(heads(of_diff).order_by("-ts", "-id")[:ROWS_SHOWN])
    return Verdict(
        _answer(known["critical"] + known["high"], known["last"], window),
        key,
        window,
        critical=known["critical"],
        high=known["high"],
        reviewed_at=known["last"],
        rows=sorted(newest, key=lambda row: row.severity_rank),
    )


def states_of(keys: Iterable[str], *, window: timedelta) -> Mapping[str, DiffState]:
    """The states of several diffs in one query."""
    wanted = {key for key in keys if key}
    if not wanted:
        return {}
    found = (
        Review.objects.filter(diff_key__in=wanted)
        .order_by()
        .values("diff_key")
        .annotate(
            last=Max("ts"),
            findings=Count("id"),
            still_open=Count("id", Q(open_rank__isnull=False)),
            blocking=Count("id", Q(open_rank__lte=BLOCKING_RANK)),
        )
    )
    return {
        row["diff_key"]: DiffState(
            row["diff_key"],
            row["last"],
            row["findings"],
            row["still_open"],
            row["blocking"],
            _answer(row["blocking"], row["last"], window),
        )
        for row in found
    }


def fresh_review(raw_hash: str, *, window: timedelta) -> Review | None:
    """The newest finding of that hash within the window, of any session and any severity.

    A text that is no hash is compared as it was sent; the hash of the empty diff never matches.
    """
    recent = Review.objects.filter(ts__gte=clock.now() - window)
    key = diff_key(raw_hash)
    if key == EMPTY_DIFF:
        return None
    same = recent.filter(diff_key=key) if key else recent.filter(diff_hash=clean(raw_hash))
    return same.order_by("-ts", "-id").first()


def key_of_prefix(text: str) -> str:
    """The one hash among the findings' that begins so, or empty for none or several."""
    prefix = text.strip().lower()
    if not PREFIX_DIGITS <= len(prefix) < 64 or not set(prefix) <= _HEX:
        return ""
    # A range, which the index serves where a LIKE would not; "g" follows every hex digit.
    keys = (
        Review.objects.filter(diff_key__gte=prefix, diff_key__lt=prefix + "g")
        .exclude(diff_key="")
        .order_by()
        .values_list("diff_key", flat=True)
        .distinct()[:2]
    )
    found = list(keys)
    return found[0] if len(found) == 1 else ""


def _answer(blocking: int, last: datetime, window: timedelta) -> Answer:
    if blocking:
        return Answer.BLOCKED
    return Answer.FRESH if last >= clock.now() - window else Answer.STALE
