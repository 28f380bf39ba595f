"""Stories as people and agents write them: added, changed, deleted, brought back."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from backlog_app import words
from backlog_app.models import BacklogItem, Sprint, SprintState, StoryStatus
from backlog_app.services import places
from backlog_app.services.checklist import keep_in_step
from backlog_app.services.turns import living, note_step, take_turn
from contextdash import clock, fields, ids
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid, NotFound
from contextdash.services.changing import change_row, record
from contextdash.writer import write
from sessions_app.models import Session
from sessions_app.services.belonging import moment, owning_project_id, project_of_slug
from sessions_app.services.sessions import named_session, touch

DERIVED = frozenset({"rank", "changed_at", "started_at", "done_at"})
"""Columns that need no line of history of their own."""
CHANGEABLE = frozenset(
    {
        "story",
        "acceptance_criteria",
        "status",
        "assigned_agent",
        "priority",
        "estimate",
        "labels",
        "sprint_id",
        "epic_id",
        "project",
        "session_id",
    }
)
_STEPS = {"status", "sprint_id", "estimate", "deleted_at"}


@write
def add_story(
    *,
    story: str,
    actor: Actor,
    acceptance_criteria: str = "",
    session_id: str | None = None,
    status: str | None = None,
    assigned_agent: str | None = None,
    priority: int | float | str | None = None,
    estimate: int | None = None,
    labels: Iterable[str] = (),
    sprint_id: int | None = None,
    epic_id: int | None = None,
    project: str | None = None,
    agent_name: str = "main",
    ts: datetime | None = None,
) -> BacklogItem:
    """Write a story down at the bottom of its column.

    An unknown status is kept as sent, a priority that is none of 1 to 5 is kept beside the one it is
    ordered by. ``project`` is a slug; without one the session's project is taken.

    Raises:
        Conflict: the session was deleted, or the sprint is closed.
        Invalid: a field's value is not acceptable.
    """
    take_turn()
    session = (
        None
        if session_id is None
        else named_session(session_id=session_id, actor=actor, agent_name=agent_name)
    )
    now = clock.now()
    made_status = words.status(status) if status else StoryStatus.TODO
    order, sent = words.priority(priority)
    made = BacklogItem.objects.create(
        session=session,
        project_id=owning_project_id(project_of_slug(project), session),
        sprint=_sprint(sprint_id),
        epic=_epic(epic_id),
        story=fields.text(story, "story"),
        acceptance_criteria=fields.text(acceptance_criteria, "acceptance_criteria", required=False),
        status=made_status,
        assigned_agent=fields.optional_word(assigned_agent, "assigned_agent") or None,
        priority=order,
        priority_sent=sent,
        estimate=words.estimate(estimate),
        labels=words.labels(labels),
        rank=places.end_of(made_status),
        ts=moment(ts),
        changed_at=now,
        **_times(made_status, None, now),
    )
    keep_in_step(made, actor=actor, at=now)
    note_step(made, now)
    record(noun="sprint_backlog", row_id=made.pk, field="added", old=None, new=made.status, actor=actor)
    if session is not None:
        touch(session, story_count=1)
    return made


@write
def change_story(
    *,
    story_id: int,
    values: Mapping[str, Any],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> BacklogItem:
    """Set what ``values`` names (CHANGEABLE); a new status puts the story at the end of that column.

    Raises:
        Stale: the story has changed since the caller read it.
        NotFound: there is no such story.
        Invalid: a name or value is not acceptable.
    """
    take_turn()
    row = living(story_id)
    unknown = set(values) - CHANGEABLE
    if unknown:
        raise Invalid(f"{', '.join(sorted(unknown))}: not a field that can be changed.")
    return apply(row, _prepared(row, values), actor=actor, reason=reason, expected_version=expected_version)


def apply(
    row: BacklogItem,
    values: dict[str, Any],
    *,
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
    at: datetime | None = None,
) -> BacklogItem:
    """Compare, set, keep what follows from it in step: times, criteria, steps. Call inside a turn."""
    now = at or clock.now()
    if "status" in values and values["status"] != row.status:
        values.setdefault("rank", places.end_of(values["status"]))
        values |= _times(values["status"], row, now)
    if any(getattr(row, name) != value for name, value in values.items()):
        values["changed_at"] = now
    before = {name: getattr(row, name) for name in (*_STEPS, "acceptance_criteria")}
    change_row(
        row,
        values=values,
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        unrecorded=DERIVED,
    )
    if row.acceptance_criteria != before["acceptance_criteria"]:
        keep_in_step(row, actor=actor, at=now)
    if any(getattr(row, name) != before[name] for name in _STEPS):
        note_step(row, now)
    return row


@write
def delete_story(
    *, story_id: int, actor: Actor, reason: str = "", expected_version: int | None = None
) -> BacklogItem:
    """Take a story off the board. It keeps its place and can be restored."""
    take_turn()
    now = clock.now()
    row = living(story_id)
    apply(row, {"deleted_at": now}, actor=actor, reason=reason, expected_version=expected_version, at=now)
    if row.session is not None:
        touch(row.session, story_count=-1)
    return row


@write
def restore_story(*, story_id: int, actor: Actor, reason: str = "") -> BacklogItem:
    """Undo a deletion; a story that was not deleted stays as it is."""
    take_turn()
    row = BacklogItem.objects.filter(pk=story_id).first()
    if row is None:
        raise NotFound(f"There is no story {story_id}.")
    if row.deleted_at is not None:
        apply(row, {"deleted_at": None}, actor=actor, reason=reason)
        if row.session is not None:
            touch(row.session, story_count=1)
    return row


def _prepared(row: BacklogItem, values: Mapping[str, Any]) -> dict[str, Any]:
    """The columns to set, each checked."""
    made: dict[str, Any] = {}
    for name, value in values.items():
        match name:
            case "story":
                made[name] = fields.text(value, name)
            case "acceptance_criteria":
                made[name] = fields.text(value, name, required=False)
            case "status":
                made[name] = words.status(value)
            case "assigned_agent":
                made[name] = fields.optional_word(value, name) or None
            case "priority":
                made["priority"], made["priority_sent"] = words.priority(value)
            case "estimate":
                made[name] = words.estimate(value)
            case "labels":
                made[name] = words.labels(value or [])
            case "sprint_id":
                made[name] = value if value == row.sprint_id else _pk(_sprint(value))
            case "epic_id":
                made[name] = _pk(_epic(value, of=row))
            case "project":
                made["project_id"] = owning_project_id(project_of_slug(value), None)
            case "session_id":
                made[name] = _session_id(value)
    return made


def _times(status: str, row: BacklogItem | None, now: datetime) -> dict[str, datetime | None]:
    """When work on it began first, and when it was done last."""
    made: dict[str, datetime | None] = {"done_at": now if status == StoryStatus.DONE else None}
    if status == StoryStatus.IN_PROGRESS and (row is None or row.started_at is None):
        made["started_at"] = now
    return made


def _sprint(sprint_id: int | None) -> Sprint | None:
    if sprint_id is None:
        return None
    found = Sprint.objects.filter(pk=sprint_id).first()
    if found is None:
        raise Invalid(f"There is no sprint {sprint_id}.", field="sprint_id")
    if found.state == SprintState.CLOSED:
        raise Conflict(f"{found.name} is closed; no story joins it any more.")
    return found


def _epic(epic_id: int | None, *, of: BacklogItem | None = None) -> BacklogItem | None:
    """The parent story, which must not be the story itself or below it."""
    if epic_id is None:
        return None
    found = BacklogItem.objects.filter(pk=epic_id, deleted_at=None).first()
    if found is None:
        raise Invalid(f"There is no story {epic_id}.", field="epic_id")
    above: BacklogItem | None = found
    while of is not None and above is not None:
        if above.pk == of.pk:
            raise Conflict(f"Story {of.pk} is above story {epic_id} already; that would be a circle.")
        above = above.epic
    return found


def _pk(row: Sprint | BacklogItem | None) -> int | None:
    return None if row is None else row.pk


def _session_id(value: str | None) -> str | None:
    if value is None:
        return None
    stored = ids.session_id(value)[0]
    if not Session.objects.filter(id=stored, deleted_at=None).exists():
        raise Invalid(f"There is no session {stored}.", field="session_id")
    return stored
