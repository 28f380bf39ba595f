"""The board: columns of cards, by lanes or not, with what each card and column head says."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.models import Count, F, QuerySet, Sum
from django.db.models.functions import Left
from django.utils import timezone

from backlog_app import words
from backlog_app.models import BacklogItem, BoardClock, Sprint, StoryStatus, WipLimit
from backlog_app.queries import readiness
from backlog_app.queries.cards import Extras, extras
from backlog_app.queries.filters import UNASSIGNED, Filters, apply, current_sprint
from contextdash.cleaning import one_line
from contextdash.rendering import states
from contextdash.rendering.ansi import plain
from contextdash.rendering.text import visible
from reviews_app.queries import tallies

COLUMN_CARDS = 200
"""An open column shows so many from its top; the list shows all."""
DONE_CARDS = 20
TITLE_CHARS = 120
LANES_MOST = 12
_READ_CHARS = 600


class Card(NamedTuple):
    """What a card shows, as texts."""

    id: str
    v: str
    """The story's version."""
    title: str
    sent: str
    """An unknown status, as sent."""
    priority: str
    priority_sent: str
    lane_priority: str
    points: str
    lane_agent: str
    agent: str
    slot: str
    letters: str
    total: str
    met: str
    percent: str
    """Of the criteria that are met, in steps of 5: the stylesheet has a width for each."""
    all_met: bool
    why: str
    tied: str


_HEADS: dict[str, tuple[str, str, str]] = {
    StoryStatus.TODO: ("To do", "s-idle", ""),
    StoryStatus.IN_PROGRESS: ("In progress", "s-half", "col--live"),
    StoryStatus.REVIEW: ("In review", "s-review", ""),
    StoryStatus.BLOCKED: ("Blocked", "s-person", "col--person"),
    StoryStatus.DONE: ("Done", "s-done", "col--done"),
    "other": ("Other", "s-idle", ""),
}


@dataclass(slots=True)
class Column:
    status: str
    title: str
    shape: str
    css: str
    stories: int = 0
    points: int = 0
    limit: int | None = None
    """The column's WIP limit, of the whole board whatever is filtered."""
    standing: int = 0
    """What counts against the limit."""
    cards: list[Card] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return self.limit is not None and self.standing > self.limit

    @property
    def hidden(self) -> int:
        return self.stories - len(self.cards)


@dataclass(slots=True)
class Lane:
    title: str
    kind: str
    columns: list[Column]
    number: int

    @property
    def stories(self) -> int:
        return sum(len(column.cards) for column in self.columns)


@dataclass(slots=True)
class Board:
    columns: list[Column]
    lanes: list[Lane]
    """One without a title where no lanes were asked for."""
    agents: Sequence[str]

    @property
    def empty(self) -> bool:
        return not any(column.stories for column in self.columns)

    @property
    def blocked(self) -> int:
        return next(column.stories for column in self.columns if column.status == StoryStatus.BLOCKED)


@dataclass(frozen=True, slots=True)
class SprintFacts:
    sprint: Sprint
    unit: str
    done: int
    scope: int
    day: int
    days: int

    @property
    def stays_open(self) -> int | None:
        """What is left at the end at the pace so far; None where nothing tells."""
        if not self.done or self.day <= 0:
            return None
        return max(0, round(self.scope - self.done / self.day * max(self.days, self.day)))


def version() -> str:
    """What a live page of the board compares: its own number and that of findings, which hold cards up."""
    stories = BoardClock.objects.values_list("version", flat=True).first() or 0
    return f"{stories}.{tallies.writes()}"


def draw(by: Filters) -> Board:
    found = apply(BacklogItem.objects.filter(deleted_at=None), by)
    counts = _counts(found)
    columns = _columns(counts, by)
    rows = {column.status: _rows(found, column) for column in columns if column.stories}
    everything = _extras(rows)
    agents: dict[str, tuple[int, str, str]] = {}
    for column in columns:
        column.cards = [_card(row, everything, agents) for row in rows.get(column.status, ())]
    return Board(columns, _lanes(columns, by.lane), _agents(by))


def sprint_facts(by: Filters) -> SprintFacts | None:
    """The sprint that the board is narrowed to, else the one under way."""
    if by.sprint_number is not None:
        sprint = Sprint.objects.filter(pk=by.sprint_number).first()
    else:
        sprint = current_sprint(by.project)
    if sprint is None:
        return None
    rows = BacklogItem.objects.filter(sprint=sprint, deleted_at=None).order_by()
    points = Sum("estimate", default=0)
    grouped = rows.values("status").annotate(n=Count("pk"), points=points)
    by_status = {row["status"]: (row["n"], row["points"]) for row in grouped}
    unit = int(any(number for _, number in by_status.values()))
    today = timezone.localdate()
    starts, ends = sprint.starts_on or today, sprint.ends_on or today
    return SprintFacts(
        sprint=sprint,
        unit="points" if unit else "stories",
        done=by_status.get(StoryStatus.DONE, (0, 0))[unit],
        scope=sum(numbers[unit] for numbers in by_status.values()),
        day=(today - starts).days + 1 if sprint.started_at else 0,
        days=(ends - starts).days + 1,
    )


def _counts(found: QuerySet[BacklogItem]) -> dict[str, tuple[int, int]]:
    """Column → stories and points."""
    counts: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    rows = found.order_by().values("status").annotate(n=Count("pk"), points=Sum("estimate", default=0))
    for row in rows:
        name = words.column(row["status"])
        stories, points = counts[name]
        counts[name] = (stories + row["n"], points + row["points"])
    return counts


def _columns(counts: dict[str, tuple[int, int]], by: Filters) -> list[Column]:
    names = [*words.COLUMNS, *(["other"] if counts["other"][0] else [])]
    limits = dict(
        WipLimit.objects.filter(
            **({"project__slug": by.project} if by.project else {"project": None})
        ).values_list("status", "stories")
    )
    standing = _standing(by, limits, counts)
    return [
        Column(name, *_HEADS[name], *counts[name], limits.get(name), standing.get(name, 0)) for name in names
    ]


def _standing(by: Filters, limits: dict[str, int], counts: dict[str, tuple[int, int]]) -> dict[str, int]:
    """How many stories count against the limits, filters or not."""
    if not limits or not by.narrowed:
        return {name: stories for name, (stories, _) in counts.items()}
    everything = apply(BacklogItem.objects.filter(deleted_at=None), Filters(project=by.project))
    rows = everything.filter(status__in=limits).order_by().values("status").annotate(n=Count("pk"))
    return {row["status"]: row["n"] for row in rows}


def _rows(found: QuerySet[BacklogItem], column: Column) -> list[dict[str, Any]]:
    if column.status == "other":
        rows = found.exclude(status__in=words.COLUMNS).order_by("status", "rank")
    else:
        rows = found.filter(status=column.status).order_by("rank")
    most = DONE_CARDS if column.status == StoryStatus.DONE else COLUMN_CARDS
    # The beginning of the text only: a story may be megabytes long.
    cards: Iterable[Any] = rows.annotate(begin=Left("story", _READ_CHARS)).values(
        "pk",
        "version",
        "begin",
        "status",
        "priority",
        "priority_sent",
        "estimate",
        "assigned_agent",
        "criteria_total",
        "criteria_met",
        "changed_at",
    )[:most]
    return list(cards)


def _extras(rows: dict[str, list[dict[str, Any]]]) -> Extras:
    open_ids = [row["pk"] for status, column in rows.items() if status != StoryStatus.DONE for row in column]
    return extras(open_ids, [row["pk"] for row in rows.get(StoryStatus.BLOCKED, ())])


def _card(row: dict[str, Any], more: Extras, agents: dict[str, tuple[int, str, str]]) -> Card:
    pk, status, total, met = row["pk"], row["status"], row["criteria_total"], row["criteria_met"]
    name = row["assigned_agent"]
    if name and name not in agents:
        shown = visible(plain(name))
        agents[name] = (states.agent_slot(shown), states.monogram(shown), shown)
    slot, letters, agent = agents[name] if name else (0, "", "")
    stale = status == StoryStatus.IN_PROGRESS and readiness.stood_still(
        row["changed_at"], more.last_us.get(pk, 0)
    )
    return Card(
        id=str(pk),
        v=str(row["version"]),
        title=one_line(visible(plain(row["begin"])), TITLE_CHARS) or "(no words)",
        sent=status if status not in words.COLUMNS else "",
        priority=f"P{row['priority']}" if not row["priority_sent"] else "",
        priority_sent=row["priority_sent"],
        lane_priority=str(row["priority"]),
        points="" if row["estimate"] is None else str(row["estimate"]),
        lane_agent=name or "",
        agent=agent,
        slot=str(slot),
        letters=letters,
        total=str(total) if total else "",
        met=str(met),
        percent=str(met * 20 // total * 5) if total else "",
        all_met=bool(total) and met == total,
        why=more.why.get(pk, "") if status != StoryStatus.DONE else "",
        tied="no movement" if stale else more.tied.get(pk, ""),
    )


def _lanes(columns: list[Column], lane: str) -> list[Lane]:
    if not lane:
        return [Lane("", "", columns, 0)]
    key = attrgetter(f"lane_{lane}")
    values = sorted({key(card) for column in columns for card in column.cards}, key=_lane_order)
    lanes = []
    for number, value in enumerate(values[:LANES_MOST], start=1):
        last = number == LANES_MOST and len(values) > LANES_MOST
        rest = set(values[number - 1 :]) if last else {value}
        title = "everybody else" if last else (value if lane == "agent" else f"P{value}")
        parted = [
            Column(
                column.status,
                column.title,
                column.shape,
                column.css,
                cards=[card for card in column.cards if key(card) in rest],
            )
            for column in columns
        ]
        lanes.append(Lane(title, lane, parted, number))
    return lanes


def _lane_order(value: str) -> tuple[bool, str]:
    """Names and priorities in order, nobody last."""
    return (value == "", value)


def _agents(by: Filters) -> Sequence[str]:
    rows = BacklogItem.objects.filter(deleted_at=None).exclude(assigned_agent=None)
    if by.project:
        rows = rows.filter(project__slug=by.project)
    names = rows.order_by("assigned_agent").values_list(F("assigned_agent"), flat=True).distinct()
    return [UNASSIGNED, *names[:50]]


def known_agents(project: str = "") -> Sequence[str]:
    """Who has stories, nobody first."""
    return _agents(Filters(project=project))
