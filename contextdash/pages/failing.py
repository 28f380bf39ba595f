"""Hooks that fail: of the newest reports, which hook failed how often."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Q, QuerySet

from contextdash import clock
from contextdash.prepared import Prepared, given_time
from sessions_app.models import HookEvent
from sessions_app.vocabulary import GATE_HOOKS, HookOutcome

WINDOW = timedelta(hours=24)
REPORTS = 500
"""Only so many of the newest reports are read, since the navigation asks on every page."""

FEWEST = 3
SHARE = 0.2
"""A hook is failing when at least FEWEST of its reports are failures, and this share of them."""


@dataclass(frozen=True, slots=True)
class Hook:
    name: str
    runs: int
    failures: int
    failed_first: datetime | None

    @property
    def is_failing(self) -> bool:
        return self.failures >= max(FEWEST, SHARE * self.runs)


@dataclass(frozen=True, slots=True)
class Reports:
    runs: int
    failed: int
    failing: Sequence[Hook]

    @property
    def percent_well(self) -> float | None:
        return None if not self.runs else 100 * (self.runs - self.failed) / self.runs


def _by_hook() -> QuerySet[HookEvent, Any]:
    newest = (
        HookEvent.objects.filter(ts__gte=given_time("since")).order_by("-ts", "-id").values("id")[:REPORTS]
    )
    # The gate's "fail" is its answer, that a diff is not to be committed: the hook did what it is for.
    failed = Q(outcome=HookOutcome.FAIL) & ~Q(hook_name__in=GATE_HOOKS)
    rows = HookEvent.objects.filter(id__in=newest).order_by("hook_name").values("hook_name")
    counted = rows.annotate(
        runs=Count("id"), failures=Count("id", filter=failed), first=Min("ts", filter=failed)
    )
    return counted.values_list("hook_name", "runs", "failures", "first")


_BY_HOOK = Prepared(_by_hook)


def reports() -> Reports:
    hooks = [Hook(*row) for row in _BY_HOOK.rows(since=clock.now() - WINDOW)]
    return Reports(
        runs=sum(hook.runs for hook in hooks),
        failed=sum(hook.failures for hook in hooks),
        failing=[hook for hook in hooks if hook.is_failing],
    )
