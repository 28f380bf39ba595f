from collections.abc import Sequence

from django.db.models import QuerySet

from backlog_app.models import Sprint, SprintState
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


def _of(project: str) -> QuerySet[Sprint]:
    rows = Sprint.objects.select_related("project")
    return rows.filter(project__slug=project) if project else rows
