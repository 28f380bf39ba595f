"""Burn-down, cumulative flow, velocity, cycle and lead time: numbers from the recorded steps."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from backlog_app import words
from backlog_app.models import BacklogItem, Sprint, SprintState, StoryStatus, StoryStep
from contextdash import clock

VELOCITY_SPRINTS = 8
FLOW_DAYS = 30
TIMES_DAYS = 90
PERCENTILES = (50, 85, 95)


@dataclass(frozen=True, slots=True)
class Day:
    day: date
    scope: int
    done: int

    @property
    def left(self) -> int:
        return self.scope - self.done


@dataclass(frozen=True, slots=True)
class Burndown:
    """One sprint's days so far; the numbers are points, or stories where none has an estimate."""

    unit: str
    start: int
    """What was in the sprint when it began."""
    days: list[Day]
    total_days: int
    unestimated: int

    @property
    def now(self) -> Day | None:
        return self.days[-1] if self.days else None

    @property
    def stays_open(self) -> int | None:
        """What is left at the end if it goes on at the pace so far; None before anything was done."""
        if not self.days or not self.days[-1].done:
            return None
        pace = self.days[-1].done / len(self.days)
        return max(0, round(self.days[-1].left - pace * (self.total_days - len(self.days))))


@dataclass(frozen=True, slots=True)
class FlowDay:
    day: date
    counts: dict[str, int]
    """Column → stories in it at the day's end."""


@dataclass(frozen=True, slots=True)
class Pace:
    sprint: Sprint
    unit: str
    promised: int
    done: int


@dataclass(frozen=True, slots=True)
class Times:
    """Percentiles in microseconds; None where no story tells."""

    stories: int
    values: dict[int, int | None]
    left_out: int
    """Stories whose clock ran backwards, or whose beginning nobody recorded."""


def burndown(sprint: Sprint) -> Burndown:
    """Day by day, at the day's end in the reader's zone; today as it stands, a closed sprint as it closed."""
    if sprint.started_at is None or sprint.starts_on is None or sprint.ends_on is None:
        return Burndown("points", 0, [], 0, 0)
    tracks = _tracks(_ever_in(sprint.pk))
    end = sprint.closed_at or clock.now()
    weigh, unit, unestimated = _weights(tracks, sprint, end)
    days = []
    for day in _days(timezone.localdate(sprint.started_at), timezone.localdate(end)):
        moment = min(_end_of(day), end)
        days.append(_sum(day, tracks, sprint, moment, weigh))
    start = _sum(sprint.starts_on, tracks, sprint, sprint.started_at + timedelta(microseconds=1), weigh)
    total = max((sprint.ends_on - sprint.starts_on).days + 1, len(days))
    return Burndown(unit, start.scope, days, total, unestimated)


def cumulative(*, project: str, sprint: Sprint | None = None, days: int = FLOW_DAYS) -> list[FlowDay]:
    """How many stories stood in each column at each day's end."""
    stories = BacklogItem.objects.all()
    if project:
        stories = stories.filter(project__slug=project)
    steps = StoryStep.objects.filter(story__in=stories.order_by())
    if sprint is not None:
        steps = _ever_in(sprint.pk)
    tracks = _tracks(steps)
    end = (sprint.closed_at if sprint is not None else None) or clock.now()
    last = timezone.localdate(end)
    first = last - timedelta(days=days - 1)
    if sprint is not None and sprint.started_at is not None:
        first = timezone.localdate(sprint.started_at)
    elif tracks:
        # Days before anything was written down are no news.
        first = max(first, timezone.localdate(min(track.moments[0] for track in tracks)))
    made = []
    for day in _days(first, last):
        counts = dict.fromkeys((*words.COLUMNS, "other"), 0)
        for track in tracks:
            step = track.at(min(_end_of(day), end))
            if step is not None and not step.deleted and (sprint is None or step.sprint_id == sprint.pk):
                counts[words.column(step.status)] += 1
        made.append(FlowDay(day, counts))
    return made


def velocity(*, project: str) -> list[Pace]:
    """The last closed sprints, oldest first: what they began with and what they finished."""
    closed = Sprint.objects.filter(state=SprintState.CLOSED).order_by("-closed_at", "-id")
    if project:
        closed = closed.filter(project__slug=project)
    paces = []
    for sprint in list(closed[:VELOCITY_SPRINTS])[::-1]:
        burned = burndown(sprint)
        paces.append(Pace(sprint, burned.unit, burned.start, burned.now.done if burned.now else 0))
    return paces


def lead_times(*, project: str, sprint: Sprint | None = None) -> Times:
    """From written down to done."""
    return _times(_done(project, sprint), "ts")


def cycle_times(*, project: str, sprint: Sprint | None = None) -> Times:
    """From first in progress to done."""
    return _times(_done(project, sprint), "started_at")


@dataclass(slots=True)
class _Track:
    """The steps of one story, in order."""

    moments: list[datetime]
    steps: list[StoryStep]

    def at(self, moment: datetime) -> StoryStep | None:
        """Where it stood just before ``moment``."""
        found = bisect_right(self.moments, moment - timedelta(microseconds=1))
        return self.steps[found - 1] if found else None


def _ever_in(sprint_id: int) -> QuerySet[StoryStep]:
    members = StoryStep.objects.filter(sprint_id=sprint_id).order_by().values("story")
    return StoryStep.objects.filter(story__in=members)


def _tracks(steps: QuerySet[StoryStep]) -> list[_Track]:
    by_story: dict[int, _Track] = defaultdict(lambda: _Track([], []))
    for step in steps.order_by("at", "id"):
        track = by_story[step.story_id]
        track.moments.append(step.at)
        track.steps.append(step)
    return list(by_story.values())


def _weights(tracks: list[_Track], sprint: Sprint, end: datetime) -> tuple[bool, str, int]:
    """(whether to add points, the unit's name, stories without an estimate)."""
    here = [step for track in tracks if (step := track.at(end)) and step.sprint_id == sprint.pk]
    bare = sum(step.estimate is None for step in here)
    points = any(step.estimate for track in tracks for step in track.steps if step.sprint_id == sprint.pk)
    return points, "points" if points else "stories", bare if points else 0


def _sum(day: date, tracks: list[_Track], sprint: Sprint, moment: datetime, points: bool) -> Day:
    scope = done = 0
    for track in tracks:
        step = track.at(moment)
        if step is None or step.deleted or step.sprint_id != sprint.pk:
            continue
        weight = (step.estimate or 0) if points else 1
        scope += weight
        done += weight if step.status == StoryStatus.DONE else 0
    return Day(day, scope, done)


def _days(first: date, last: date) -> Iterable[date]:
    return (first + timedelta(days=n) for n in range(max(0, (last - first).days) + 1))


def _end_of(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day + timedelta(days=1), time.min))


def _done(project: str, sprint: Sprint | None) -> QuerySet[BacklogItem]:
    rows = BacklogItem.objects.filter(deleted_at=None, done_at__isnull=False)
    if sprint is not None:
        return rows.filter(sprint=sprint)
    rows = rows.filter(done_at__gte=clock.now() - timedelta(days=TIMES_DAYS))
    return rows.filter(project__slug=project) if project else rows


def _times(rows: QuerySet[BacklogItem], begin: str) -> Times:
    pairs = list(rows.order_by().values_list(begin, "done_at"))
    spans = sorted(
        (end - start) // timedelta(microseconds=1) for start, end in pairs if start and end and end >= start
    )
    return Times(
        stories=len(spans),
        values={percent: _percentile(spans, percent) for percent in PERCENTILES},
        left_out=len(pairs) - len(spans),
    )


def _percentile(ordered: Sequence[int], percent: int) -> int | None:
    """The smallest value that ``percent`` of the values do not exceed."""
    if not ordered:
        return None
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
