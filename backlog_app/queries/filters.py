"""What a board, list or API call is narrowed to; the same names in every address."""

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import QueryDict

from backlog_app import words
from backlog_app.models import BacklogItem, Sprint, SprintState
from contextdash import clock
from contextdash.viewkit import whole_number

LANES = ("agent", "priority")
UNASSIGNED = "-"


@dataclass(frozen=True, slots=True)
class Filters:
    """Empty means any. ``sprint`` is a number, ``current``, ``none`` or empty."""

    project: str = ""
    agent: str = ""
    priority: str = ""
    sprint: str = ""
    label: str = ""
    epic: str = ""
    text: str = ""
    moved: str = ""
    """``today``: moved or changed within a day."""
    status: str = ""
    lane: str = ""

    @classmethod
    def from_query(cls, query: QueryDict) -> "Filters":
        made = cls(
            **{each.name: query.get(each.name, "").strip()[:200].replace("\0", "") for each in fields(cls)}
        )
        return made if made.lane in ("", *LANES) else replace(made, lane="")

    @property
    def sprint_number(self) -> int | None:
        """The sprint's number, where one is named by it."""
        return _number(self.sprint) if self.sprint not in ("", "current", "none") else None

    @property
    def narrowed(self) -> bool:
        """Whether anything but project and lanes is filtered."""
        return any(
            getattr(self, name) for name in ("agent", "priority", "sprint", "label", "epic", "text", "moved")
        )

    def address(self, **changes: str) -> str:
        """The query string with some values replaced; empty ones are left out."""
        values = {each.name: getattr(self, each.name) for each in fields(self)} | changes
        return urlencode({name: value for name, value in values.items() if value})


def apply(rows: QuerySet[BacklogItem], by: Filters) -> QuerySet[BacklogItem]:
    if by.project:
        rows = rows.filter(project__slug=by.project)
    if by.agent:
        rows = rows.filter(assigned_agent=None if by.agent == UNASSIGNED else by.agent)
    if by.priority:
        rows = rows.filter(priority=words.priority(by.priority)[0])
    if by.sprint:
        rows = _of_sprint(rows, by)
    if by.epic:
        rows = rows.filter(epic_id=_number(by.epic))
    if by.moved:
        rows = rows.filter(changed_at__gte=clock.now() - timedelta(days=1))
    if by.status:
        rows = _of_status(rows, by.status)
    if by.label:
        # JSON text on both databases: a label is found with its quotes around it.
        rows = rows.filter(pk__in=[row.pk for row in rows.only("pk", "labels") if by.label in row.labels])
    for term in by.text.split():
        found = Q(story__icontains=term) | Q(acceptance_criteria__icontains=term)
        number = whole_number(term.upper().removeprefix("S-").removeprefix("#"))
        rows = rows.filter(found if number is None else found | Q(pk=number))
    return rows


def current_sprint(project: str) -> Sprint | None:
    """The active sprint of the project, else that of all projects."""
    active = Sprint.objects.filter(state=SprintState.ACTIVE)
    own = active.filter(project__slug=project).first() if project else None
    return own or active.filter(project=None).first()


def _of_sprint(rows: QuerySet[BacklogItem], by: Filters) -> QuerySet[BacklogItem]:
    if by.sprint == "none":
        return rows.filter(sprint=None)
    if by.sprint == "current":
        return rows.filter(sprint=current_sprint(by.project))
    return rows.filter(sprint_id=_number(by.sprint))


def _of_status(rows: QuerySet[BacklogItem], status: str) -> QuerySet[BacklogItem]:
    if status == "other":
        return rows.exclude(status__in=words.COLUMNS)
    return rows.filter(status=words.status(status))


def _number(text: str) -> int:
    """The number, or -1, which no row has."""
    number = whole_number(text)
    return -1 if number is None else number
