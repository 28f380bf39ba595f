"""Many stories at once: pasted lines, a CSV file, one change for a selection."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from backlog_app import csv_text, words
from backlog_app.models import BacklogItem, Sprint, SprintState
from backlog_app.services.stories import add_story, change_story, delete_story
from backlog_app.services.turns import take_turn
from contextdash.actor import Actor
from contextdash.errors import Invalid, NotFound, Refused, TooLarge
from contextdash.writer import write

LINES_MOST = 500
_BULLETS = "-*+• \t"


@dataclass(slots=True)
class Outcome:
    added: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    same: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)
    """Line or story number, and why."""


@write
def add_lines(*, text: str, actor: Actor, **common: Any) -> Outcome:
    """A story a line, in order; ``common`` is what they share (project, sprint_id, priority …).

    Raises:
        TooLarge: more than LINES_MOST lines.
    """
    take_turn()
    lines = [line.strip().lstrip(_BULLETS) for line in text.splitlines()]
    wanted = [line for line in lines if line]
    if len(wanted) > LINES_MOST:
        raise TooLarge(f"At most {LINES_MOST} lines at once (LINES_MOST).")
    return Outcome(added=[add_story(story=line, actor=actor, **common).pk for line in wanted])


@write
def change_many(
    *, versions: Mapping[int, int], values: Mapping[str, Any], actor: Actor, reason: str = ""
) -> Outcome:
    """One change for every story of ``versions`` (number → the version that was seen).

    ``values`` may also hold ``add_label`` and ``delete``. A story that has changed meanwhile is left alone
    and told of.
    """
    take_turn()
    done = Outcome()
    for story_id, version in versions.items():
        try:
            with transaction.atomic():
                changed = _change_one(story_id, version, dict(values), actor, reason)
        except Refused as refusal:
            done.refused.append((story_id, refusal.detail))
            continue
        if changed.version == version:
            done.same += 1
        else:
            done.changed.append(story_id)
    return done


@write
def take_csv(*, lines: Sequence[csv_text.Line], actor: Actor) -> Outcome:
    """Add what has no number, change what has one; a bad line is told of and takes no other with it."""
    take_turn()
    done = Outcome()
    for line in lines:
        try:
            with transaction.atomic():
                _take_line(line, actor, done)
        except Refused as refusal:
            done.refused.append((line.number, refusal.detail))
    return done


def _change_one(
    story_id: int, version: int, values: dict[str, Any], actor: Actor, reason: str
) -> BacklogItem:
    if values.pop("delete", False):
        return delete_story(story_id=story_id, actor=actor, reason=reason, expected_version=version)
    label = values.pop("add_label", "")
    if label:
        row = BacklogItem.objects.filter(pk=story_id).first()
        values["labels"] = [*(row.labels if row is not None else []), label]
    return change_story(
        story_id=story_id, values=values, actor=actor, reason=reason, expected_version=version
    )


def _take_line(line: csv_text.Line, actor: Actor, done: Outcome) -> None:
    cells = line.cells
    values: dict[str, Any] = {name: cells[name] for name in _TEXTS if name in cells}
    if "estimate" in cells:
        values["estimate"] = _number(cells["estimate"], "estimate")
    if "labels" in cells:
        values["labels"] = cells["labels"].split(",")
    if "sprint" in cells:
        values["sprint_id"] = _sprint_id(cells["sprint"])
    number = cells.get("id", "").strip()
    if not number:
        done.added.append(
            add_story(actor=actor, session_id=cells.get("session_id") or None, **_given(values)).pk
        )
        return
    row = BacklogItem.objects.filter(pk=_number(number, "id") or 0, deleted_at=None).first()
    if row is None:
        raise NotFound(f"There is no story {number[:20]}.")
    values = {name: value for name, value in values.items() if not _same(row, name, value)}
    changed = change_story(story_id=row.pk, values=values, actor=actor, reason="CSV")
    if changed.version == row.version:
        done.same += 1
    else:
        done.changed.append(row.pk)


_TEXTS = ("story", "acceptance_criteria", "status", "assigned_agent", "priority", "project")


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {"story": ""} | {name: value for name, value in values.items() if value not in ("", None)}


def _same(row: BacklogItem, name: str, value: Any) -> bool:
    """Whether the file says what is there already: then a closed sprint or a gone project is no error."""
    match name:
        case "priority":
            return bool(value == (row.priority_sent or str(row.priority)))
        case "project":
            return bool(value == (row.project.slug if row.project else ""))
        case "labels":
            return bool(words.labels(value) == row.labels)
        case "assigned_agent":
            return bool((value or None) == row.assigned_agent)
        case _:
            return bool(getattr(row, name) == value)


def _number(text: str, name: str) -> int | None:
    trimmed = text.strip()
    if not trimmed:
        return None
    if not (trimmed.isascii() and trimmed.isdigit() and len(trimmed) < 19):
        raise Invalid(f"{name} is not a number.", field=name)
    return int(trimmed)


def _sprint_id(name: str) -> int | None:
    """The sprint of that name, an open one before a closed one."""
    trimmed = name.strip()
    if not trimmed:
        return None
    found: Iterable[Sprint] = Sprint.objects.filter(name=trimmed).order_by("-id")
    best = min(found, key=lambda sprint: sprint.state == SprintState.CLOSED, default=None)
    if best is None:
        raise Invalid(f"There is no sprint {trimmed[:100]!r}.", field="sprint")
    return best.pk
