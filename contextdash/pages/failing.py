"""Hooks that fail: which have failed often of late, and how often."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Min, Q

from contextdash import clock
from sessions_app.models import HookEvent
from sessions_app.vocabulary import HookOutcome

WINDOW = timedelta(hours=24)
FEWEST = 3
SHARE = 0.2
"""A hook is failing when at least FEWEST of its runs in WINDOW failed, and this share of them."""


@dataclass(frozen=True, slots=True)
class FailingHook:
    name: str
    failed: int
    runs: int
    first: datetime
    last: datetime


def hooks() -> Sequence[FailingHook]:
    bad = Q(outcome=HookOutcome.FAIL)
    rows = (
        HookEvent.objects.filter(ts__gte=clock.now() - WINDOW)
        .order_by()
        .values("hook_name")
        .annotate(
            runs=Count("id"),
            failed=Count("id", filter=bad),
            first=Min("ts", filter=bad),
            last=Max("ts", filter=bad),
        )
        .filter(failed__gte=FEWEST)
    )
    found = (
        FailingHook(row["hook_name"], row["failed"], row["runs"], row["first"], row["last"]) for row in rows
    )
    return sorted((hook for hook in found if hook.failed >= SHARE * hook.runs), key=lambda hook: hook.first)
