"""Sprints: planned, started, closed; and how many stories a column should hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.utils import timezone

from backlog_app import words
from backlog_app.models import BacklogItem, Sprint, SprintState, StoryStatus, WipLimit
from backlog_app.services.stories import apply
from backlog_app.services.turns import take_turn
from contextdash import clock, fields
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid, NotFound
from contextdash.services.changing import change_row, record
from contextdash.writer import write
from sessions_app.services.belonging import project_of_slug

DAYS_DEFAULT = 14
DAYS_MOST = 366
WIP_MOST = 1000
CHANGEABLE = frozenset({"name", "goal", "starts_on", "ends_on"})


@dataclass(frozen=True, slots=True)
class Closing:
    sprint: Sprint
    carried: int
    """Unfinished stories that moved on."""


@write
def create_sprint(
    *,
    name: str,
    actor: Actor,
    goal: str = "",
    project: str | None = None,
    starts_on: date | None = None,
    ends_on: date | None = None,
) -> Sprint:
    """Plan a sprint of a project (a slug), or of all."""
    take_turn()
    _check_days(starts_on, ends_on)
    made = Sprint.objects.create(
        name=fields.word(name, "name"),
        goal=fields.text(goal, "goal", required=False),
        project=project_of_slug(project),
        starts_on=starts_on,
        ends_on=ends_on,
        created_at=clock.now(),
    )
    record(noun="sprints", row_id=made.pk, field="added", old=None, new=made.name, actor=actor)
    return made


@write
def change_sprint(
    *,
    sprint_id: int,
    values: Mapping[str, Any],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> Sprint:
    """Set name, goal or days.

    Raises:
        Stale: it has changed since the caller read it.
    """
    take_turn()
    row = _sprint(sprint_id)
    unknown = set(values) - CHANGEABLE
    if unknown:
        raise Invalid(f"{', '.join(sorted(unknown))}: not a field that can be changed.")
    made = dict(values)
    if "name" in made:
        made["name"] = fields.word(made["name"], "name")
    if "goal" in made:
        made["goal"] = fields.text(made["goal"], "goal", required=False)
    _check_days(made.get("starts_on", row.starts_on), made.get("ends_on", row.ends_on))
    return change_row(row, values=made, actor=actor, reason=reason, expected_version=expected_version)


@write
def start_sprint(
    *, sprint_id: int, actor: Actor, reason: str = "", expected_version: int | None = None
) -> Sprint:
    """Begin a planned sprint; without days it begins today and lasts DAYS_DEFAULT.

    Raises:
        Conflict: it was started before, or another sprint of the project is active.
    """
    take_turn()
    row = _sprint(sprint_id)
    if row.state != SprintState.PLANNED:
        raise Conflict(f"{row.name} was started before; it is {row.state}.")
    active = Sprint.objects.filter(project=row.project, state=SprintState.ACTIVE).first()
    if active is not None:
        raise Conflict(f"{active.name} is still active. Close it first.")
    starts = row.starts_on or timezone.localdate()
    return change_row(
        row,
        values={
            "state": SprintState.ACTIVE,
            "started_at": clock.now(),
            "starts_on": starts,
            "ends_on": row.ends_on or starts + timedelta(days=DAYS_DEFAULT - 1),
        },
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        unrecorded=frozenset({"started_at"}),
    )


@write
def close_sprint(
    *,
    sprint_id: int,
    actor: Actor,
    move_to_id: int | None = None,
    reason: str = "",
    expected_version: int | None = None,
) -> Closing:
    """End a sprint: its unfinished stories go to another one, or to none, each with a line of history.

    Raises:
        Conflict: it is not active, or the other one is closed.
    """
    take_turn()
    row = _sprint(sprint_id)
    if row.state != SprintState.ACTIVE:
        raise Conflict(f"{row.name} is {row.state}, so it cannot be closed.")
    target = None if move_to_id is None else _sprint(move_to_id)
    if target is not None and (target.state == SprintState.CLOSED or target.pk == row.pk):
        raise Conflict(f"{target.name} takes no stories: choose a planned or active sprint.")
    now = clock.now()
    change_row(
        row,
        values={"state": SprintState.CLOSED, "closed_at": now},
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        unrecorded=frozenset({"closed_at"}),
    )
    unfinished = list(
        BacklogItem.objects.filter(sprint=row, deleted_at=None).exclude(status=StoryStatus.DONE)
    )
    for story in unfinished:
        apply(
            story,
            {"sprint_id": None if target is None else target.pk},
            actor=actor,
            reason=f"{row.name} closed",
            at=now,
        )
    return Closing(row, len(unfinished))


@write
def set_limit(
    *, status: str, stories: int | None, actor: Actor, project: str | None = None, reason: str = ""
) -> None:
    """How many stories a column should hold at most, of one project or of all; None takes the limit away."""
    take_turn()
    column = words.status(status)
    if column not in words.COLUMNS:
        raise Invalid(f"The columns are {', '.join(words.COLUMNS)}.", field="status")
    if stories is not None and not 1 <= stories <= WIP_MOST:
        raise Invalid(f"A limit is 1 to {WIP_MOST} stories.", field="stories")
    owner = project_of_slug(project)
    known = WipLimit.objects.filter(project=owner, status=column).first()
    old = None if known is None else known.stories
    if old == stories:
        return
    if known is None:
        WipLimit.objects.create(project=owner, status=column, stories=stories or 0)
    elif stories is None:
        known.delete()
    else:
        known.stories = stories
        known.save(update_fields=["stories"])
    record(
        noun="wip_limits", row_id=column, field="stories", old=old, new=stories, actor=actor, reason=reason
    )


def _sprint(sprint_id: int) -> Sprint:
    found = Sprint.objects.filter(pk=sprint_id).first()
    if found is None:
        raise NotFound(f"There is no sprint {sprint_id}.")
    return found


def _check_days(starts_on: date | None, ends_on: date | None) -> None:
    if starts_on and ends_on and not 0 <= (ends_on - starts_on).days < DAYS_MOST:
        raise Invalid(f"A sprint ends after it starts and lasts at most {DAYS_MOST} days.", field="ends_on")
