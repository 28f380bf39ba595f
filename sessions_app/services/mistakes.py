"""Mistakes: what went wrong, its cause and cure, and the lesson."""

import re
from collections.abc import Mapping
from datetime import datetime

from contextdash.actor import Actor
from contextdash.errors import Invalid
from contextdash.fields import optional_text, optional_word, text, word
from contextdash.ids import digest16
from contextdash.limits import PATH_CHARS
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import Mistake, Project, Session
from sessions_app.services.belonging import moment, owning_project_id, owning_session
from sessions_app.services.sessions import touch
from sessions_app.vocabulary import MistakeCategory

_NUMBER = re.compile(r"\b(?:0x)?[0-9a-f]*\d[0-9a-f]*\b")
_NOT_A_WORD = re.compile(r"[^\w#]+")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
SLUG_CHARS = 40
_CAUSE_CHARS = 10_000


@write
def log_mistake(
    *,
    agent_name: str,
    summary: str,
    category: str = MistakeCategory.OTHER,
    root_cause: str | None = None,
    fix: str | None = None,
    lesson_file: str | None = None,
    lesson_md: str | None = None,
    actor: Actor,
    session: Session | str | None = None,
    project: Project | None = None,
    at: datetime | None = None,
) -> Mistake:
    """Write a mistake down. A lesson that is written without a file gets a name for one.

    Raises:
        Invalid: agent or summary is empty, or a limit is passed.
        Conflict: the session was deleted.
    """
    owner = owning_session(session, actor=actor)
    cause = optional_text(root_cause, "root_cause")
    words = text(summary, "summary")
    at = moment(at)
    lesson = optional_text(lesson_md, "lesson_md")
    path = optional_word(lesson_file, "lesson_file", chars=PATH_CHARS)
    made = Mistake.objects.create(
        session=owner,
        project_id=owning_project_id(project, owner),
        agent_name=word(agent_name, "agent_name"),
        category=word(category or MistakeCategory.OTHER, "category"),
        summary=words,
        root_cause=cause,
        fix=optional_text(fix, "fix"),
        lesson_file=path or (lesson_path(words, at) if lesson else path),
        lesson_md=lesson,
        cause_key=cause_key(cause),
        ts=at,
    )
    if owner is not None:
        touch(owner, mistake_count=1)
    return made


@write
def change_mistake(
    *,
    mistake: Mistake,
    values: Mapping[str, object],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> Mistake:
    """Set fields of a mistake: agent_name, category, summary, root_cause, fix, lesson_file, lesson_md.

    Raises:
        Invalid: another field is named, or a value is not acceptable.
        Stale: somebody changed it in the meantime.
    """
    before = mistake.version
    change_row(
        mistake,
        values=_named(mistake, _checked(values)),
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        unrecorded=frozenset({"cause_key"}),
    )
    if mistake.version != before and mistake.session is not None:
        touch(mistake.session)
    return mistake


def cause_key(root_cause: str | None) -> str:
    """32 hex digits that are equal for causes which differ in case, punctuation and numbers only."""
    cause = (root_cause or "")[:_CAUSE_CHARS].casefold()
    words = _NOT_A_WORD.sub(" ", _NUMBER.sub("#", cause)).strip()
    return digest16(words.encode()).hex() if words else ""


def lesson_path(summary: str, at: datetime) -> str:
    """``.github/Lessons/2026-07-06-nullable-read.md``, where the older system kept its lessons."""
    slug = _NOT_SLUG.sub("-", summary[:200].lower()).strip("-")[:SLUG_CHARS].strip("-")
    return f".github/Lessons/{at:%Y-%m-%d}-{slug or 'untitled'}.md"


def _named(mistake: Mistake, checked: dict[str, object]) -> dict[str, object]:
    """The values, with a name for the file of a lesson that has none: so "has a lesson" is one column."""
    if checked.get("lesson_md") and not checked.get("lesson_file", mistake.lesson_file):
        summary = str(checked.get("summary", mistake.summary))
        checked["lesson_file"] = lesson_path(summary, mistake.ts)
    return checked


def _checked(values: Mapping[str, object]) -> dict[str, object]:
    checked: dict[str, object] = {}
    for name, value in values.items():
        told = None if value is None else str(value)
        if name in ("agent_name", "category"):
            checked[name] = word(told, name)
        elif name == "summary":
            checked[name] = text(told, name)
        elif name in ("fix", "lesson_md"):
            checked[name] = optional_text(told, name)
        elif name == "root_cause":
            checked[name] = cause = optional_text(told, name)
            checked["cause_key"] = cause_key(cause)
        elif name == "lesson_file":
            checked[name] = optional_word(told, name, chars=PATH_CHARS)
        else:
            raise Invalid(f"{name} of a mistake cannot be changed.", field=name)
    return checked
