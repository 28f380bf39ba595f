"""Projects as people arrange them, and the order of sessions in one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, QuerySet

from contextdash import clock
from sessions_app.models import Project, Session
from sessions_app.queries.sessions_api import find_session
from sessions_app.services.places import order_of

_COLOR = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})|[a-z]{3,20}")

SHOWN = 200
"""How many sessions the page of a project shows in order."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A project in the list of projects."""

    project: Project
    sessions: int
    """Without subagents and deleted ones."""
    newest: datetime | None

    @property
    def color(self) -> str:
        return drawable(self.project.color)


def drawable(color: str) -> str:
    """A colour as it is written into a picture; empty for what is none."""
    return color if _COLOR.fullmatch(color) else ""


def named_sessions(references: Sequence[str]) -> list[Session]:
    """
    Raises:
        NotFound, Conflict: as ``find_session``.
    """
    return [find_session(reference) for reference in references]


def ordered(project: Project, limit: int | None = None) -> list[Session]:
    """The project's sessions in the order that people chose; no subagents, none that was deleted."""
    order = order_of(project)
    known = {row.key: row for row in _of(project).defer("user_request", "extra")}
    found = [known[key] for key in order if key in known]
    return found[:limit]


def ordered_ids(project: Project) -> list[str]:
    ids = dict(_of(project).values_list("key", "id"))
    return [ids[key] for key in order_of(project) if key in ids]


def listed(*, archived: bool) -> list[Listed]:
    """In the order that people chose; archived ones alone, or the others."""
    rows = Project.objects.exclude(archived_at=None) if archived else Project.objects.filter(archived_at=None)
    mine = Q(session__parent=None, session__deleted_at=None)
    counted = rows.annotate(
        session_total=Count("session", filter=mine), newest_us=Max("session__last_us", filter=mine)
    )
    return [
        Listed(row, row.session_total, clock.from_us(row.newest_us) if row.newest_us else None)
        for row in counted.order_by("position", "pk")[:1000]
    ]


def _of(project: Project) -> QuerySet[Session]:
    return Session.objects.filter(project=project, parent=None, deleted_at=None)
