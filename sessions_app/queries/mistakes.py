"""Mistakes: what recurs, by category and cause, and what has no lesson yet."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Left
from django.utils import timezone

from contextdash.errors import NotFound
from contextdash.paging import Page, page
from contextdash.prepared import Prepared, given_number, given_text, given_time, newest_id, totals
from contextdash.queries.history import newest_change
from sessions_app.models import Mistake
from sessions_app.queries.belonging import belongs
from sessions_app.queries.texts import with_starts

OVERVIEW_OF = 2_000
"""Figures are counted over the newest mistakes only, so that the page costs the same at any size."""
ENTRY_CHARS = 1_000
CAUSES = 20
WEEKS = 12
_NO_LESSON = Q(lesson_file=None) | Q(lesson_file="")


@dataclass(frozen=True, slots=True)
class Filters:
    session: str | None = None
    agent: str | None = None
    project: str | None = None
    category: str | None = None
    cause: str | None = None
    text: str | None = None
    without_lesson: bool = False

    def condition(self) -> Q:
        wanted = belongs(self.session, self.project)
        if self.agent:
            wanted &= Q(agent_name=self.agent)
        if self.category:
            wanted &= Q(category=self.category)
        if self.cause:
            wanted &= Q(cause_key=self.cause)
        if self.text:
            wanted &= (
                Q(summary__icontains=self.text)
                | Q(root_cause__icontains=self.text)
                | Q(fix__icontains=self.text)
            )
        if self.without_lesson:
            wanted &= _NO_LESSON
        return wanted


@dataclass(frozen=True, slots=True)
class Category:
    name: str
    count: int
    without_lesson: int


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause that came back."""

    key: str
    text: str
    count: int
    last: datetime
    agents: Sequence[str]
    lesson: str
    """Of the newest mistake that has one; empty when none has."""
    newest: int
    """The id of the newest mistake of this cause, whose words are shown."""


@dataclass(frozen=True, slots=True)
class Week:
    monday: date
    count: int


@dataclass(frozen=True, slots=True)
class Overview:
    categories: Sequence[Category]
    causes: Sequence[Cause]
    weeks: Sequence[Week]
    agents: Sequence[str]
    counted: int
    without_lesson: int


def mistake_list(filters: Filters, *, limit: int, cursor: str | None, chars: int) -> Page[Mistake]:
    """Newest first; the long texts are read up to ``chars`` characters."""
    rows = Mistake.objects.filter(filters.condition()).select_related("session", "project")
    return page(
        with_starts(rows, chars, "summary", "root_cause", "fix", "lesson_md"), limit=limit, cursor=cursor
    )


def mistake_of(pk: int) -> Mistake:
    """
    Raises:
        NotFound: there is none.
    """
    found = Mistake.objects.select_related("session", "project").filter(pk=pk).first() if pk < 2**63 else None
    if found is None:
        raise NotFound(f"There is no mistake {pk}.")
    return found


def same_cause(mistake: Mistake) -> list[Mistake]:
    """Other mistakes of the same normalised cause, newest first."""
    if not mistake.cause_key:
        return []
    rows = Mistake.objects.filter(cause_key=mistake.cause_key).exclude(pk=mistake.pk)
    rows = rows.select_related("session")
    return list(
        with_starts(rows, 300, "summary", "root_cause", "fix", "lesson_md").order_by("-ts", "-id")[:CAUSES]
    )


def overview(project: str | None) -> Overview:
    """What the newest OVERVIEW_OF mistakes say together."""
    newest = _OVERVIEW.rows(bool(project), project=project)
    by_category: Counter[str] = Counter(row[0] for row in newest)
    unlearned: Counter[str] = Counter(row[0] for row in newest if not row[3])
    by_cause = defaultdict(list)
    for row in newest:
        if row[1]:
            by_cause[row[1]].append(row)
    recurring = [group for group in by_cause.values() if len(group) > 1]
    # What came back most and has no lesson is what a person can cure; they are by time already.
    recurring.sort(key=lambda group: (any(row[3] for row in group), -len(group)))
    return Overview(
        categories=[Category(name, count, unlearned[name]) for name, count in by_category.most_common()],
        causes=_causes(recurring[:CAUSES]),
        weeks=_weeks(project, newest[-1][4] if newest else 0),
        agents=sorted({row[2] for row in newest}),
        counted=len(newest),
        without_lesson=sum(unlearned.values()),
    )


def list_version() -> str:
    """Changes with every new mistake and every change of one."""
    return f"{newest_id(Mistake)}.{newest_change()}"


def _newest(of_project: bool) -> QuerySet[Mistake, Any]:
    rows = Mistake.objects.filter(belongs(None, given_text("project") if of_project else None))
    columns = rows.values_list("category", "cause_key", "agent_name", "lesson_file", "id")
    return columns.order_by("-ts", "-id")[:OVERVIEW_OF]


_OVERVIEW = Prepared(_newest)
"""Without times: to make 2,000 of them takes longer than all the rest of the page."""


def _causes(groups: Sequence[Sequence[tuple[Any, ...]]]) -> list[Cause]:
    """Of rows of the same cause, the newest first in each."""
    rows = Mistake.objects.filter(pk__in=[group[0][4] for group in groups])
    told = {pk: (text, ts) for pk, text, ts in rows.values_list("pk", Left("root_cause", 300), "ts")}
    return [
        Cause(
            key=group[0][1],
            text=told[group[0][4]][0],
            newest=group[0][4],
            count=len(group),
            last=told[group[0][4]][1],
            agents=sorted({row[2] for row in group}),
            lesson=next((row[3] for row in group if row[3]), ""),
        )
        for group in groups
        if group[0][4] in told
    ]


def _weeks(project: str | None, oldest: int) -> list[Week]:
    """The last WEEKS weeks in the reader's time zone, oldest first, empty ones too; of the mistakes since the
    one of the id ``oldest``."""
    today = timezone.localdate()
    this = today - timedelta(days=today.weekday())
    mondays = [this - timedelta(weeks=back) for back in range(WEEKS - 1, -1, -1)]
    starts = [timezone.make_aware(datetime.combine(monday, time.min)) for monday in mondays]
    values = {f"monday{n}": start for n, start in enumerate(starts)}
    counts = _WEEKS.one(bool(project), project=project, oldest=oldest, **values) or (0,) * WEEKS
    since = [*counts, 0]
    return [Week(monday, since[n] - since[n + 1]) for n, monday in enumerate(mondays)]


def _since_mondays(of_project: bool) -> QuerySet[Mistake, Any]:
    """How many are from the first Monday on, from the second on, and so forth."""
    mondays = [given_time(f"monday{n}") for n in range(WEEKS)]
    first = Mistake.objects.filter(pk=given_number("oldest")).values("ts")[:1]
    # Bounded by the first of them alone: SQLite begins at one bound, and of two it may take the farther.
    rows = Mistake.objects.filter(
        belongs(None, given_text("project") if of_project else None), ts__gte=first
    ).filter(Q(ts__gt=first) | Q(ts=first, id__gte=given_number("oldest")))
    counts = {f"n{n}": Count("id", filter=Q(ts__gte=monday)) for n, monday in enumerate(mondays)}
    return totals(rows, **counts)


_WEEKS = Prepared(_since_mondays)
