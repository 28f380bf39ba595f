"""Who changed what on the board, when and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Left

from backlog_app.models import Sprint, StoryStatus
from contextdash.models import Change
from sessions_app.models import Project

NOUN = "sprint_backlog"
VALUE_CHARS = 200
_NAMES = {
    "sprint_id": "sprint",
    "epic_id": "epic",
    "project_id": "project",
    "session_id": "session",
    "assigned_agent": "agent",
    "acceptance_criteria": "criteria",
    "priority_sent": "priority as sent",
}
_LONG = {"story", "acceptance_criteria"}
_STATUS = dict(StoryStatus.choices)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of history in people's words."""

    story_id: str
    what: str
    who: str
    reason: str
    at: datetime


def of_story(story_id: int, *, limit: int = 200) -> list[Entry]:
    """Newest first."""
    return _entries(list(_changes().filter(row_id=str(story_id))[:limit]))


def of_board(*, limit: int, before_id: int | None = None) -> tuple[list[Entry], int | None]:
    """Newest first, all stories; and the number to go on from, None at the end."""
    rows = _changes()
    if before_id is not None:
        rows = rows.filter(pk__lt=before_id)
    found = list(rows[: limit + 1])
    return _entries(found[:limit]), (found[limit - 1].pk if len(found) > limit else None)


def _changes() -> QuerySet[Change]:
    """Beginnings of the values only: an edited story may be megabytes long, before and after."""
    rows = Change.objects.filter(noun=NOUN).select_related("user", "token").order_by("-id")
    return rows.defer("old", "new").annotate(was=Left("old", VALUE_CHARS), now=Left("new", VALUE_CHARS))


def _entries(changes: Sequence[Any]) -> list[Entry]:
    sprints = _sprint_names(changes)
    return [
        Entry(
            story_id=change.row_id,
            what=_what(change, sprints),
            who=_who(change),
            reason=change.reason,
            at=change.at,
        )
        for change in changes
    ]


def _what(change: Any, names: dict[tuple[str, str], str]) -> str:
    field, old, new = change.field, change.was, change.now
    if field == "added":
        return f"Written down in {_STATUS.get(new or '', new)}"
    if field == "deleted_at":
        return "Deleted" if new else "Restored"
    if field == "status":
        return f"{_STATUS.get(old or '', old)} to {_STATUS.get(new or '', new)}"
    if field.startswith("criterion "):
        return f"{field.capitalize()} {'met' if new == 'met' else 'opened again'}"
    if field == "place":
        return f"Place {old} to {new}"
    if field == "labels":
        old, new = (text.strip("[]").replace("'", "") for text in (old or "", new or ""))
    name = _NAMES.get(field, field)
    if field in _LONG:
        return f"{name.capitalize()} edited"
    before = names.get((field, old or ""), old)
    after = names.get((field, new or ""), new)
    if not before:
        return (
            f"{name.capitalize()} set to {after}"
            if field in _NAMES or " " not in field
            else f"{name.capitalize()} {after}"
        )
    if not after:
        return f"{name.capitalize()} {before} removed"
    return f"{name.capitalize()} {before} to {after}"


def _who(change: Change) -> str:
    if change.token is not None:
        return change.token.name
    return change.user.get_username() if change.user is not None else "contextdash"


def _sprint_names(changes: Sequence[Any]) -> dict[tuple[str, str], str]:
    """Names of the sprints and projects that the lines speak of."""
    wanted: dict[str, set[str]] = {"sprint_id": set(), "project_id": set()}
    for change in changes:
        if change.field in wanted:
            wanted[change.field] |= {text for text in (change.was, change.now) if text}
    names: dict[tuple[str, str], str] = {}
    if wanted["sprint_id"]:
        for sprint in Sprint.objects.filter(pk__in=wanted["sprint_id"]):
            names["sprint_id", str(sprint.pk)] = sprint.name
    if wanted["project_id"]:
        for project in Project.objects.filter(pk__in=wanted["project_id"]):
            names["project_id", str(project.pk)] = project.name
    return names
