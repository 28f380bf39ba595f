"""Tokens and cost: of a session with its subagents, and by day, model, project, agent and client."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Protocol

from django.db.models import QuerySet, Sum
from django.utils import timezone

from contextdash import clock
from sessions_app.models import Project, Session, UsageBucket
from sessions_app.queries.code import Code, code_between
from sessions_app.queries.days import midnight_us

TOKENS = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
)
SUMS = ("requests", "unpriced", *TOKENS, "cost_micro")
NO_PROJECT = "no project"
NO_MODEL = "unknown"


@dataclass(frozen=True, slots=True)
class Spent:
    """Of sessions: money in micro-dollars, None where no call of them has a known price."""

    requests: int = 0
    unpriced: int = 0
    input: int = 0
    """Tokens of all three classes of input."""
    cached: int = 0
    """Of these, read from a cache."""
    output: int = 0
    cost_micro: int | None = None

    def __add__(self, other: "Spent") -> "Spent":
        costs = [one for one in (self.cost_micro, other.cost_micro) if one is not None]
        return Spent(
            self.requests + other.requests,
            self.unpriced + other.unpriced,
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            sum(costs) if costs else None,
        )


NOTHING = Spent()


class Counted(Protocol):
    """The counters of a session, or of its row in a list."""

    @property
    def key(self) -> int: ...
    @property
    def child_count(self) -> int: ...
    @property
    def iteration_count(self) -> int: ...
    @property
    def unpriced_count(self) -> int: ...
    @property
    def input_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def cost_micro(self) -> int | None: ...


def spent_by(session: Counted) -> Spent:
    """By the session alone, as its counters say."""
    read, fresh, written = session.cache_read_tokens, session.input_tokens, session.cache_write_tokens
    return Spent(
        session.iteration_count,
        session.unpriced_count,
        read + fresh + written,
        read,
        session.output_tokens,
        session.cost_micro,
    )


def spent_below(sessions: Iterable[Counted]) -> dict[int, Spent]:
    """By the subagents of each of these sessions, at any depth; with one query, or none."""
    roots = [session.key for session in sessions if session.child_count]
    if not roots:
        return {}
    rows = Session.objects.filter(family_root__in=roots, deleted_at=None).order_by()
    found = rows.values_list("family_root_id").annotate(
        Sum("iteration_count"),
        Sum("unpriced_count"),
        Sum("input_tokens"),
        Sum("cache_read_tokens"),
        Sum("cache_write_tokens"),
        Sum("output_tokens"),
        Sum("cost_micro"),
    )
    return {
        root: Spent(requests, unpriced, fresh + read + written, read, output, cost)
        for root, requests, unpriced, fresh, read, written, output, cost in found
    }


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of the usage is asked for: whole days of the reader's zone, and one value of each kind or all."""

    first: date
    last: date
    project: str = ""
    client: str = ""
    agent: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table."""

    name: str
    value: str
    """What the filter is set to for it."""
    numbers: Mapping[str, int]

    @property
    def cost_micro(self) -> int | None:
        """None where none of its calls has a price."""
        return self.numbers["cost_micro"] if self.numbers["requests"] > self.numbers["unpriced"] else None


@dataclass(frozen=True, slots=True)
class DayLine:
    day: date
    by_model: Mapping[str, int]
    """Micro-dollars."""
    requests: int
    unpriced: int
    output_tokens: int

    @property
    def cost_micro(self) -> int | None:
        return sum(self.by_model.values()) if self.requests > self.unpriced else None


@dataclass(frozen=True, slots=True)
class Report:
    days: Sequence[DayLine]
    models: Sequence[Line]
    projects: Sequence[Line]
    agents: Sequence[Line]
    clients: Sequence[Line]
    total: Line


def report(wanted: Wanted) -> Report:
    """Four reads of the roll-ups, whatever the number of sessions."""
    rows = _rows(wanted)
    models = _lines(rows, "model")
    sums: Counter[str] = Counter()
    for line in models:
        sums.update(line.numbers)
    return Report(
        days=_days(rows, wanted),
        models=models,
        projects=_projects(rows),
        agents=_lines(rows, "agent"),
        clients=_lines(rows, "client"),
        total=Line("All", "", {name: sums[name] for name in SUMS}),
    )


def code(wanted: Wanted) -> Code | None:
    """What telemetry counted of code; None where what is asked for is finer than that."""
    if wanted.client or wanted.agent or wanted.model:
        return None
    start_us, end_us = midnight_us(wanted.first), midnight_us(wanted.last + timedelta(days=1))
    return code_between(start_us, end_us, projects=_project_keys(wanted))


def cost_since(day: date, project: str | None) -> Line:
    """All that was spent from the beginning of a day of the reader's zone on."""
    rows = _rows(Wanted(day, day + timedelta(days=1), project or ""))
    sums = rows.order_by().aggregate(**{name: Sum(name) for name in SUMS})
    return Line("", "", {name: sums[name] or 0 for name in SUMS})


def _rows(wanted: Wanted) -> QuerySet[UsageBucket]:
    rows = UsageBucket.objects.filter(
        start_us__gte=midnight_us(wanted.first), start_us__lt=midnight_us(wanted.last + timedelta(days=1))
    )
    for name in ("client", "agent", "model"):
        if value := getattr(wanted, name):
            rows = rows.filter(**{name: "" if value == NO_MODEL else value})
    if (keys := _project_keys(wanted)) is not None:
        rows = rows.filter(project_key__in=keys)
    return rows


def _project_keys(wanted: Wanted) -> list[int] | None:
    """Those of the project that is asked for; 0 stands for none."""
    if not wanted.project:
        return None
    known = Project.objects.filter(slug=wanted.project).values_list("pk", flat=True)
    return [0] if wanted.project == NO_PROJECT else list(known)


def _lines(rows: QuerySet[UsageBucket], name: str) -> list[Line]:
    """Dearest first; what has no price by its tokens after them."""
    lines = [
        Line(row[name] or NO_MODEL, row[name] or NO_MODEL, {key: row[f"sum_{key}"] or 0 for key in SUMS})
        for row in _summed(rows, name)
    ]
    return _sorted(line for line in lines if line.numbers["requests"])


def _projects(rows: QuerySet[UsageBucket]) -> list[Line]:
    found = list(_summed(rows, "project_key"))
    known = {row.pk: row for row in Project.objects.filter(pk__in=[row["project_key"] for row in found])}
    sums: dict[tuple[str, str], Counter[str]] = {}
    for row in found:
        project = known.get(row["project_key"])
        key = (project.name, project.slug) if project else (NO_PROJECT, NO_PROJECT)
        sums.setdefault(key, Counter()).update({name: row[f"sum_{name}"] or 0 for name in SUMS})
    lines = [Line(name, slug, {key: sums[name, slug][key] for key in SUMS}) for name, slug in sums]
    return _sorted(line for line in lines if line.numbers["requests"])


def _summed(rows: QuerySet[UsageBucket], *names: str) -> Iterable[Mapping[str, Any]]:
    sums = {f"sum_{name}": Sum(name) for name in SUMS}
    found: Iterable[Mapping[str, Any]] = rows.order_by().values(*names).annotate(**sums)
    return found


def _sorted(lines: Iterable[Line]) -> list[Line]:
    return sorted(
        lines, key=lambda line: (-line.numbers["cost_micro"], -line.numbers["output_tokens"], line.name)
    )


def _days(rows: QuerySet[UsageBucket], wanted: Wanted) -> list[DayLine]:
    """Quarters of an hour put into days; those of one day are summed by the reader's midnight."""
    days = [wanted.first + timedelta(days=n) for n in range((wanted.last - wanted.first).days + 1)]
    starts = [midnight_us(day) for day in days]
    costs: list[Counter[str]] = [Counter() for _ in days]
    counts: list[Counter[str]] = [Counter() for _ in days]
    for row in _summed(rows, "start_us", "model"):
        place = bisect_right(starts, row["start_us"]) - 1
        costs[place][row["model"] or NO_MODEL] += row["sum_cost_micro"] or 0
        for name in ("requests", "unpriced", "output_tokens"):
            counts[place][name] += row[f"sum_{name}"] or 0
    return [
        DayLine(day, cost, count["requests"], count["unpriced"], count["output_tokens"])
        for day, cost, count in zip(days, costs, counts, strict=True)
    ]


def today() -> date:
    """In the reader's zone."""
    return timezone.localdate(clock.now())
