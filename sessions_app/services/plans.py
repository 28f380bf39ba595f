"""Plans: a snapshot is a new version only when its text differs; a person or agent moves its status."""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePosixPath

from django.db import IntegrityError, transaction

from contextdash.actor import Actor
from contextdash.cleaning import clean, one_line
from contextdash.errors import Invalid, Stale
from contextdash.fields import text, word
from contextdash.ids import digest16
from contextdash.limits import PATH_CHARS, TITLE_CHARS
from contextdash.redaction import mask
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import Plan, Project, Session
from sessions_app.services.belonging import moment, own_name, owning_project_id, owning_session
from sessions_app.services.sessions import touch
from sessions_app.vocabulary import PlanStatus

_NAMED = re.compile(r"^(?:#[ \t]+|name:[ \t]*)(?P<title>\S.*)$", re.MULTILINE)
_TASK = re.compile(r"^[ \t>]{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}\[(?P<mark>[ xX])\][ \t]", re.MULTILINE)
_TITLE_SEARCH_CHARS = 20_000
TRIES = 5
"""How often a version is tried again that others were quicker to write."""


@write
def snapshot_plan(
    *,
    session: Session | str,
    title: str | None,
    path: str,
    body: str,
    created_by: str = "orchestrator",
    status: str | None = None,
    actor: Actor,
    project: Project | None = None,
    newest_seen: int | None = None,
    at: datetime | None = None,
) -> Plan:
    """The plan's newest version: a new row when the body differs from it, else the one that is there.

    Without a title it is the body's first ``# `` or ``name:`` line, else the file's name. A told status
    moves a version that is already there as well, save back to proposed: hooks say that each time.

    Raises:
        Invalid: the path or body is empty, or longer than its limit.
        Conflict: the session was deleted.
        Stale: the writer began with version ``newest_seen`` (0 for none), and it is not the newest any more.
    """
    body = text(body, "body_md")
    path = word(path, "path", chars=PATH_CHARS)
    owner = owning_session(session, actor=actor)
    assert owner is not None, "a plan always has a session"  # noqa: S101 - narrows the type
    project_id = owning_project_id(project, owner)
    done, tasks = progress(body)
    told = Plan(
        session=owner,
        project_id=project_id,
        title=_title(title, body, path),
        path=path,
        body_md=body,
        body_digest=digest16(body.encode()),
        plan_key=digest16(str(project_id).encode(), path.encode()),
        task_count=tasks,
        task_done=done,
        status=word(status or PlanStatus.PROPOSED, "status"),
        created_by=word(created_by or own_name(owner, actor), "created_by"),
        ts=moment(at),
    )
    if newest_seen is not None:
        _check_newest(bytes(told.plan_key), newest_seen)
    kept = _kept(told)
    if kept is told:
        touch(owner, plan_count=1)
    elif status and status not in (kept.status, PlanStatus.PROPOSED):
        return change_plan(plan=kept, values={"status": status}, actor=actor)
    return kept


def _check_newest(plan_key: bytes, seen: int) -> None:
    newest = Plan.objects.filter(plan_key=plan_key, newest=True).values_list("number", flat=True).first() or 0
    if newest != seen:
        raise Stale(
            f"Version {newest} was written in the meantime. Compare with it, then write yours anew.",
            field="body_md",
            current=newest,
        )


def _kept(told: Plan) -> Plan:
    """The version that is there already with this text, else ``told`` as the newest."""
    for more_tries in reversed(range(TRIES)):
        newest = Plan.objects.select_for_update().filter(plan_key=told.plan_key, newest=True).first()
        if newest is not None and bytes(newest.body_digest) == told.body_digest:
            return newest
        try:
            with transaction.atomic():
                if newest is not None:
                    Plan.objects.filter(pk=newest.pk).update(newest=False)
                    told.number = newest.number + 1
                told.save(force_insert=True)
        except IntegrityError:  # PostgreSQL: somebody else made the newest at this very moment
            if not more_tries:
                raise
            told.pk = None
        else:
            return told
    raise AssertionError("the last try returns or raises")


@write
def change_plan(
    *,
    plan: Plan,
    values: Mapping[str, object],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> Plan:
    """Set ``status`` or ``title`` of one version. Its text never changes: another text is another version.

    Raises:
        Invalid: another field is named, or a value is not acceptable.
        Stale: somebody changed it in the meantime.
    """
    checked: dict[str, object] = {}
    for name, value in values.items():
        if name == "status":
            checked[name] = word(_told(value), name)
        elif name == "title":
            checked[name] = word(_told(value), name, chars=TITLE_CHARS)
        else:
            raise Invalid(f"{name} of a plan cannot be changed.", field=name)
    before = plan.version
    change_row(plan, values=checked, actor=actor, reason=reason, expected_version=expected_version)
    if plan.version != before:
        touch(plan.session)
    return plan


def progress(body: str) -> tuple[int, int]:
    """(ticked, all) of the task list items in a Markdown text."""
    marks = [found["mark"] for found in _TASK.finditer(body)]
    return sum(mark != " " for mark in marks), len(marks)


def _told(value: object) -> str:
    return "" if value is None else str(value)


def _title(told: str | None, body: str, path: str) -> str:
    if told and told.strip():
        return one_line(mask(clean(told)), TITLE_CHARS)
    found = _NAMED.search(body, 0, _TITLE_SEARCH_CHARS)
    if found is not None:
        return one_line(found["title"].strip("\"' #"), TITLE_CHARS) or _file_name(path)
    return _file_name(path)


def _file_name(path: str) -> str:
    return one_line(PurePosixPath(path.replace("\\", "/")).name, TITLE_CHARS) or "Untitled plan"
