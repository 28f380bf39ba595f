"""Hooks that fail: of the newest reports, which hook failed how often."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from contextdash import clock
from sessions_app.models import HookEvent
from sessions_app.vocabulary import HookOutcome

WINDOW = timedelta(hours=24)
REPORTS = 500
"""Only so many of the newest reports are read, since the navigation asks on every page."""

FEWEST = 3
SHARE = 0.2
"""A hook is failing when at least FEWEST of its reports are failures, and this share of them."""


@dataclass(slots=True)
class Hook:
    name: str
    runs: int = 0
    failures: list[datetime] = field(default_factory=list)
    """Newest first."""

    @property
    def is_failing(self) -> bool:
        return len(self.failures) >= max(FEWEST, SHARE * self.runs)


@dataclass(frozen=True, slots=True)
class Reports:
    runs: int
    failed: int
    failing: Sequence[Hook]

    @property
    def percent_well(self) -> float | None:
        return None if not self.runs else 100 * (self.runs - self.failed) / self.runs


def reports() -> Reports:
    rows = HookEvent.objects.filter(ts__gte=clock.now() - WINDOW).order_by("-ts", "-id")
    hooks: dict[str, Hook] = {}
    for name, outcome, ts in rows.values_list("hook_name", "outcome", "ts")[:REPORTS]:
        hook = hooks.setdefault(name, Hook(name))
        hook.runs += 1
        if outcome == HookOutcome.FAIL:
            hook.failures.append(ts)
    return Reports(
        runs=sum(hook.runs for hook in hooks.values()),
        failed=sum(len(hook.failures) for hook in hooks.values()),
        failing=[hook for hook in hooks.values() if hook.is_failing],
    )
