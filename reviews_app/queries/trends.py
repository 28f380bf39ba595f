"""How the gate was answered and findings came and went over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from contextdash import clock
from contextdash.models import Change
from reviews_app.models import BLOCKING_RANK, Review
from reviews_app.queries.tallies import GATE_HOOKS
from sessions_app.models import HookEvent
from sessions_app.vocabulary import HookOutcome

TREND_DAYS = 28
CACHE_DAYS = 7


@dataclass(frozen=True, slots=True)
class CacheRate:
    """How often the gate was answered by a review that was there already; skipped diffs do not count."""

    hits: int
    misses: int
    skipped: int

    @property
    def asked(self) -> int:
        return self.hits + self.misses

    @property
    def percent(self) -> int | None:
        return round(100 * self.hits / self.asked) if self.asked else None


@dataclass(frozen=True, slots=True)
class Day:
    day: date
    found: int = 0
    blocking_found: int = 0
    closed: int = 0
    hits: int = 0
    misses: int = 0
    skipped: int = 0


def cache_rate(*, days: int = CACHE_DAYS) -> CacheRate:
    return _rate(_gate_events(clock.now() - timedelta(days=days)).aggregate(**_OUTCOMES))


def days(*, length: int = TREND_DAYS, project: str = "") -> Sequence[Day]:
    """The last ``length`` days in the reader's zone, the oldest first, today included.

    The gate's answers name no project, so they are of all projects.
    """
    today = timezone.localdate()
    first = today - timedelta(days=length - 1)
    start = timezone.make_aware(datetime.combine(first, datetime.min.time()))
    found = Review.objects.filter(ts__gte=start)
    closed = Change.objects.filter(
        noun="reviews", field="resolution", new__in=["resolved", "dismissed"], at__gte=start
    )
    if project:
        found = found.filter(project__slug=project)
        # The history names rows by text, so the join is made here, over the rows of a few weeks.
        ids = closed.values_list("row_id", flat=True).distinct()[:5000]
        mine = Review.objects.filter(project__slug=project, pk__in=[int(i) for i in ids if i.isdigit()])
        closed = closed.filter(row_id__in=[str(pk) for pk in mine.values_list("pk", flat=True)])
    by_found = {
        row["day"]: row
        for row in found.order_by()
        .annotate(day=TruncDate("ts"))
        .values("day")
        .annotate(n=Count("id"), blocking=Count("id", Q(severity_rank__lte=BLOCKING_RANK)))
    }
    by_closed = {
        row["day"]: row["n"]
        for row in closed.order_by().annotate(day=TruncDate("at")).values("day").annotate(n=Count("id"))
    }
    by_gate = {
        row["day"]: _rate(row)
        for row in _gate_events(start).annotate(day=TruncDate("ts")).values("day").annotate(**_OUTCOMES)
    }
    made = []
    for n in range(length):
        day = first + timedelta(days=n)
        gate = by_gate.get(day, CacheRate(0, 0, 0))
        of_day = by_found.get(day, {"n": 0, "blocking": 0})
        made.append(
            Day(
                day,
                of_day["n"],
                of_day["blocking"],
                by_closed.get(day, 0),
                gate.hits,
                gate.misses,
                gate.skipped,
            )
        )
    return made


_OUTCOMES = {
    "hits": Count("id", Q(outcome=HookOutcome.OK)),
    "misses": Count("id", Q(outcome=HookOutcome.FAIL)),
    "skipped": Count("id", Q(outcome=HookOutcome.SKIP)),
}


def _gate_events(since: datetime) -> QuerySet[HookEvent]:
    return HookEvent.objects.filter(hook_name__in=GATE_HOOKS, ts__gte=since).order_by()


def _rate(row: Mapping[str, Any]) -> CacheRate:
    return CacheRate(row["hits"], row["misses"], row["skipped"])
