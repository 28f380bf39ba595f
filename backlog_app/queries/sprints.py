from collections.abc import Mapping, Sequence

from django.db.models import QuerySet

from backlog_app import words
from backlog_app.models import Sprint, SprintState, StoryStatus, WipLimit
from contextdash.errors import NotFound
from contextdash.paging import Page, page


def one(sprint_id: int) -> Sprint:
    """
    Raises:
        NotFound: there is none of that number.
    """
    found = Sprint.objects.select_related("project").filter(pk=sprint_id).first()
    if found is None:
        raise NotFound(f"There is no sprint {sprint_id}.")
    return found


def newest(*, project: str, state: str, limit: int, cursor: str | None) -> Page[Sprint]:
    rows = _of(project)
    if state:
        rows = rows.filter(state=state)
    return page(rows, limit=limit, cursor=cursor, time_field="created_at")


def joinable(*, project: str = "") -> Sequence[Sprint]:
    """Sprints that a story can still join, the active one first."""
    rows = _of(project).exclude(state=SprintState.CLOSED)
    return sorted(rows, key=lambda sprint: (sprint.state != SprintState.ACTIVE, sprint.pk))


def wip_limits(project: str) -> Mapping[str, int | None]:
    """How many stories each column should hold at most, of the project or, without one, of all."""
    owned = {"project__slug": project} if project else {"project": None}
    known = dict(WipLimit.objects.filter(**owned).values_list("status", "stories"))
    return {name: known.get(name) for name in words.COLUMNS if name != StoryStatus.DONE}


def _of(project: str) -> QuerySet[Sprint]:
    rows = Sprint.objects.select_related("project")
    return rows.filter(project__slug=project) if project else rows
