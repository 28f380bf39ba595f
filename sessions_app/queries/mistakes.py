"""Mistakes: what recurs, by category and cause, and what has no lesson yet."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from django.db.models import Q
from django.db.models.functions import Left
from django.utils import timezone

from contextdash.errors import NotFound
from contextdash.paging import Page, page
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
    rows = Mistake.objects.filter(belongs(None, project)).order_by("-ts", "-id")
    newest = list(
        rows.values_list("category", "cause_key", "agent_name", "lesson_file", "ts", "id")[:OVERVIEW_OF]
    )
    by_category: Counter[str] = Counter(row[0] for row in newest)
    unlearned: Counter[str] = Counter(row[0] for row in newest if not row[3])
    by_cause = defaultdict(list)
    for row in newest:
        if row[1]:
            by_cause[row[1]].append(row)
    causes = [
        Cause(
            key=key,
            text="",
            newest=group[0][5],
            count=len(group),
            last=group[0][4],
            agents=sorted({row[2] for row in group}),
            lesson=next((row[3] for row in group if row[3]), ""),
        )
        for key, group in by_cause.items()
        if len(group) > 1
    ]
    # What came back most and has no lesson is what a person can cure.
    causes.sort(key=lambda cause: (bool(cause.lesson), -cause.count, -cause.last.timestamp()))
    causes = _with_texts(causes[:CAUSES])
    return Overview(
        categories=[Category(name, count, unlearned[name]) for name, count in by_category.most_common()],
        causes=causes,
        weeks=_weeks([row[4] for row in newest]),
        agents=sorted({row[2] for row in newest}),
        counted=len(newest),
        without_lesson=sum(unlearned.values()),
    )


def list_version() -> str:
    """Changes with every new mistake and every change of one."""
    newest = Mistake.objects.order_by("-id").values_list("id", flat=True).first() or 0
    return f"{newest}.{newest_change()}"


def _with_texts(causes: Sequence[Cause]) -> list[Cause]:
    rows = Mistake.objects.filter(pk__in=[cause.newest for cause in causes])
    texts = dict(rows.values_list("pk", Left("root_cause", 300)))
    return [replace(cause, text=texts.get(cause.newest, "")) for cause in causes]


def _weeks(times: Sequence[datetime]) -> list[Week]:
    """The last WEEKS weeks in the reader's time zone, oldest first, empty ones too."""
    today = timezone.localdate()
    this = today - timedelta(days=today.weekday())
    mondays = [this - timedelta(weeks=back) for back in range(WEEKS - 1, -1, -1)]
    starts = [timezone.make_aware(datetime.combine(monday, time.min)) for monday in mondays]
    counted = Counter(bisect_right(starts, moment) for moment in times)
    return [Week(monday, counted[at]) for at, monday in enumerate(mondays, start=1)]
