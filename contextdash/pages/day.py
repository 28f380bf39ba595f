"""The day's figures and its deliveries by quarter of an hour. A day is the reader's."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from backlog_app.models import BacklogItem, Sprint, SprintState, StoryStatus
from backlog_app.queries.filters import current_sprint
from contextdash import clock
from contextdash.pages import failing
from contextdash.prepared import Prepared, given_number, given_text, totals
from sessions_app.models import Decision, HookBucket, Mistake, Session
from sessions_app.queries import usage
from sessions_app.queries.texts import with_starts

QUARTER_US = 15 * 60 * 1_000_000
CHART_HEIGHT = 84
LISTED = 8


@dataclass(frozen=True, slots=True)
class Figures:
    sessions: int
    turns: int
    calls: int
    failed: int
    """Turns, calls and failures are those of the sessions that were active today."""
    events: int
    refused: int
    hooks: failing.Reports
    spent: usage.Line

    @property
    def failed_percent(self) -> float | None:
        return 100 * self.failed / self.calls if self.calls else None


@dataclass(frozen=True, slots=True)
class Bar:
    """One quarter of an hour; x and width in percent, y and height in px of CHART_HEIGHT."""

    at: datetime
    events: int
    x: str
    width: str
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Chart:
    bars: Sequence[Bar]
    top: int
    hours: Sequence[tuple[str, int]]
    """Every second hour of the day that has begun, with its events."""


@dataclass(frozen=True, slots=True)
class SprintNow:
    sprint: Sprint
    counts: Sequence[tuple[str, str, int]]
    """(status, word, stories) in the order of the board."""
    parts: Sequence[tuple[str, str, str]]
    """(css class, x, width) of the meter, in percent."""


def start() -> datetime:
    """Midnight in the reader's zone."""
    return timezone.localtime(clock.now()).replace(hour=0, minute=0, second=0, microsecond=0)


def _sessions(of_project: bool) -> QuerySet[Session, Any]:
    rows = Session.objects.filter(deleted_at=None, last_us__gte=given_number("since_us"))
    return totals(
        rows.filter(project__slug=given_text("project")) if of_project else rows,
        sessions=Count("key"),
        turns=Sum("turn_count"),
        calls=Sum("call_count"),
        failed=Sum("failed_count"),
    )


_SESSIONS = Prepared(_sessions)
_DELIVERED = Prepared(
    lambda: totals(
        HookBucket.objects.filter(start_us__gte=given_number("since_us")),
        events=Sum("accepted"),
        refused=Sum("refused"),
    )
)


def figures(project: str | None, hooks: failing.Reports) -> Figures:
    since_us = clock.to_us(start())
    of_sessions = _SESSIONS.one(bool(project), since_us=since_us, project=project) or (0,) * 4
    delivered = _DELIVERED.one(since_us=since_us) or (0, 0)
    names = ("sessions", "turns", "calls", "failed", "events", "refused")
    numbers = {name: n or 0 for name, n in zip(names, (*of_sessions, *delivered), strict=True)}
    spent = usage.cost_since(start().date(), project)
    return Figures(**numbers, hooks=hooks, spent=spent)


def chart() -> Chart:
    begin = start()
    begin_us, end_us = clock.to_us(begin), clock.to_us(begin + timedelta(days=1))
    rows = HookBucket.objects.filter(start_us__gte=begin_us, start_us__lt=end_us).order_by("start_us")
    counted = {
        row["start_us"]: row["events"] or 0
        for row in rows.values("start_us").annotate(events=Sum("accepted"))
    }
    top = max(counted.values(), default=0)
    slots = (end_us - begin_us) // QUARTER_US  # 92 or 100 where the clocks change
    width = f"{100 / slots * 0.8:.2f}%"
    bars = []
    for start_us, events in counted.items():
        height = round(CHART_HEIGHT * events / top) if top else 0
        x = f"{100 * (start_us - begin_us) / (end_us - begin_us):.2f}%"
        at = timezone.localtime(clock.from_us(start_us))
        bars.append(Bar(at, events, x, width, CHART_HEIGHT + 4 - height, height))
    return Chart(bars=bars, top=top, hours=_hours(begin, bars))


def sprint_now(project: str | None) -> SprintNow | None:
    sprint = current_sprint(project or "")
    if sprint is None and not project:
        sprint = Sprint.objects.filter(state=SprintState.ACTIVE).order_by("-id").first()
    if sprint is None:
        return None
    rows = BacklogItem.objects.filter(sprint=sprint, deleted_at=None).order_by()
    counted = dict(rows.values_list("status").annotate(Count("id")))
    order = (
        StoryStatus.DONE,
        StoryStatus.IN_PROGRESS,
        StoryStatus.REVIEW,
        StoryStatus.BLOCKED,
        StoryStatus.TODO,
    )
    counts = [(status.value, status.label, counted.get(status, 0)) for status in order]
    return SprintNow(sprint=sprint, counts=counts, parts=_meter(counts))


def decided(project: str | None) -> Sequence[Decision]:
    rows = Decision.objects.filter(ts__gte=start())
    rows = rows.filter(project__slug=project) if project else rows
    return list(with_starts(rows, 200, "choice", "rationale").order_by("-ts", "-id")[:LISTED])


def learned(project: str | None) -> Sequence[Mistake]:
    rows = Mistake.objects.filter(ts__gte=start())
    rows = rows.filter(project__slug=project) if project else rows
    return list(with_starts(rows, 200, "summary", "root_cause", "fix").order_by("-ts", "-id")[:LISTED])


def _hours(begin: datetime, bars: Sequence[Bar]) -> list[tuple[str, int]]:
    now = timezone.localtime(clock.now())
    made = []
    for hour in range(0, now.hour + 1, 2):
        events = sum(bar.events for bar in bars if bar.at.hour // 2 * 2 == hour)
        made.append((f"{begin.replace(hour=hour):%H:%M}", events))
    return made


def _meter(counts: Sequence[tuple[str, str, int]]) -> list[tuple[str, str, str]]:
    css = {StoryStatus.DONE: "done", StoryStatus.IN_PROGRESS: "live", StoryStatus.BLOCKED: "person"}
    whole = sum(count for _, _, count in counts)
    parts, x = [], 0.0
    for status, _, count in counts:
        if count and status != StoryStatus.TODO:
            width = 100 * count / whole
            parts.append((css.get(StoryStatus(status), ""), f"{x:.1f}%", f"{width:.1f}%"))
            x += width
    return parts
