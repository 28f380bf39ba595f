"""How the gate was answered and findings came and went over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Case, Count, Expression, Q, QuerySet, Value, When
from django.utils import timezone

from contextdash import clock
from contextdash.models import Change
from contextdash.prepared import Given, Prepared, given_text, given_time, totals
from reviews_app.models import BLOCKING_RANK, Review
from sessions_app.models import HookEvent
from sessions_app.vocabulary import GATE_HOOKS, HookOutcome

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
    return CacheRate(*(_RATE.one(since=clock.now() - timedelta(days=days)) or (0, 0, 0)))


def days(*, length: int = TREND_DAYS, project: str = "") -> Sequence[Day]:
    """The last ``length`` days in the reader's zone, the oldest first, today included.

    The gate's answers name no project, so they are of all projects.
    """
    today = timezone.localdate()
    first = today - timedelta(days=length - 1)
    starts = [
        timezone.make_aware(datetime.combine(first + timedelta(days=n), time.min)) for n in range(length)
    ]
    values = {f"day{n}": start for n, start in enumerate(starts)} | {"project": project}
    by_found = {n: counts for n, *counts in _FOUND.rows(length, bool(project), **values)}
    by_closed = {n: counts[0] for n, *counts in _closed(starts, project)}
    by_gate = {n: CacheRate(*counts) for n, *counts in _GATE.rows(length, **values)}
    made = []
    for n in range(length):
        gate = by_gate.get(n, CacheRate(0, 0, 0))
        found, blocking = by_found.get(n, (0, 0))
        closed = by_closed.get(n, 0)
        made.append(
            Day(first + timedelta(days=n), found, blocking, closed, gate.hits, gate.misses, gate.skipped)
        )
    return made


def _closed(starts: Sequence[datetime], project: str) -> list[tuple[int, int]]:
    """(number of the day, findings that were closed on it)"""
    rows = Change.objects.filter(
        noun="reviews", field="resolution", new__in=["resolved", "dismissed"], at__gte=starts[0]
    )
    if project:
        # The history names rows by text, so the join is made here, over the rows of a few weeks.
        ids = rows.values_list("row_id", flat=True).distinct()[:5000]
        mine = Review.objects.filter(project__slug=project, pk__in=[int(i) for i in ids if i.isdigit()])
        rows = rows.filter(row_id__in=[str(pk) for pk in mine.values_list("pk", flat=True)])
    day = _day_of("at", [Value(start) for start in starts])
    return list(rows.order_by().annotate(day=day).values_list("day").annotate(n=Count("id")))


def _found(length: int, of_project: bool) -> QuerySet[Review, Any]:
    days = [given_time(f"day{n}") for n in range(length)]
    rows = Review.objects.filter(ts__gte=days[0])
    if of_project:
        rows = rows.filter(project__slug=given_text("project"))
    counted = rows.order_by().annotate(day=_day_of("ts", days)).values_list("day")
    return counted.annotate(n=Count("id"), blocking=Count("id", Q(severity_rank__lte=BLOCKING_RANK)))


def _gate(length: int) -> QuerySet[HookEvent, Any]:
    days = [given_time(f"day{n}") for n in range(length)]
    rows = _gate_events(days[0]).annotate(day=_day_of("ts", days))
    return rows.values_list("day").annotate(**_OUTCOMES)


def _day_of(column: str, starts: Sequence[Expression], first: int = 0) -> Expression:
    """The number of the day in which a time is, found by halving: SQLite has no days of its own, and Django's
    stand-in costs a call of Python for each row."""
    if len(starts) == 1:
        return Value(first)
    middle = len(starts) // 2
    return Case(
        When(**{f"{column}__lt": starts[middle]}, then=_day_of(column, starts[:middle], first)),
        default=_day_of(column, starts[middle:], first + middle),
    )


_OUTCOMES = {
    "hits": Count("id", Q(outcome=HookOutcome.OK)),
    "misses": Count("id", Q(outcome=HookOutcome.FAIL)),
    "skipped": Count("id", Q(outcome=HookOutcome.SKIP)),
}


def _gate_events(since: datetime | Given) -> QuerySet[HookEvent]:
    return HookEvent.objects.filter(hook_name__in=GATE_HOOKS, ts__gte=since).order_by()


_FOUND = Prepared(_found)
_GATE = Prepared(_gate)
_RATE = Prepared(lambda: totals(_gate_events(given_time("since")), **_OUTCOMES))
