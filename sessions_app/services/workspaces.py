"""Places on disk as clients tell of them: the real folder, private copies of it, and which one is in focus.

A place is its host and folder. A client that makes a row for each of its visits to a folder tells of one
place; a draft that was discarded and made again in the same folder is active again.
"""

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid
from contextdash.fields import word
from contextdash.limits import HOST_CHARS, NAME_CHARS, PLACE_CHARS
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import Workspace, WorkspaceFocus
from sessions_app.vocabulary import WorkspaceState

_CHARS = {"kind": 40, "state": 40, "label": NAME_CHARS, "repo": NAME_CHARS, "mechanism": 40}
CHANGEABLE = frozenset({*_CHARS, "project", "parent", "forked_us"})


@write
def tell_workspace(
    *,
    root: str,
    actor: Actor,
    host: str = "",
    values: Mapping[str, Any] | None = None,
    created_us: int | None = None,
) -> tuple[Workspace, bool]:
    """The workspace of that host and folder, and whether it was made just now; what is told is set.

    ``values`` are fields of CHANGEABLE.

    Raises:
        Invalid: no folder, another field, or a value is not acceptable.
        Stale: somebody changed it in the meantime.
    """
    place = {
        "host": word(host, "host", chars=HOST_CHARS, required=False),
        "root": word(root, "root", chars=PLACE_CHARS),
    }
    found = Workspace.objects.filter(**place).first()
    if found is not None:
        return change_workspace(workspace=found, values=values or {}, actor=actor), False
    checked = _checked(None, values or {})
    at = clock.from_us(min(created_us or clock.now_us(), clock.now_us()))
    try:
        with transaction.atomic():
            return Workspace.objects.create(**place, **checked, created_at=at), True
    except IntegrityError:  # PostgreSQL: a hook told of it at this very moment
        found = Workspace.objects.get(**place)
    return change_workspace(workspace=found, values=values or {}, actor=actor), False


@write
def change_workspace(
    *,
    workspace: Workspace,
    values: Mapping[str, Any],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> Workspace:
    """Set fields of CHANGEABLE. A state of discarded stamps when; active again takes that back.

    Raises:
        Conflict: its parent is below it.
        Invalid: another field is named, or a value is not acceptable.
        Stale: somebody changed it in the meantime.
    """
    return change_row(
        workspace,
        values=_checked(workspace, values),
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        unrecorded=frozenset({"discarded_at"}),
    )


@write
def focus_workspace(*, workspace: Workspace, actor: Actor) -> WorkspaceFocus:
    """Somebody works here now: the one workspace in focus of its repository on its host.

    Raises:
        Conflict: it was discarded.
        Invalid: nobody said which repository it is of.
    """
    held = Workspace.objects.select_for_update().get(pk=workspace.pk)
    if not held.repo:
        raise Invalid("Say first which repository this is of (repo).", field="repo")
    if held.state == WorkspaceState.DISCARDED:
        raise Conflict("This workspace was discarded.", code="discarded")
    at_us = clock.now_us()
    Workspace.objects.filter(pk=held.pk).update(focused_us=at_us)
    return WorkspaceFocus.objects.update_or_create(
        host=held.host, repo=held.repo, defaults={"workspace": held, "updated_us": at_us}
    )[0]


def _checked(known: Workspace | None, values: Mapping[str, Any]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if name not in CHANGEABLE:
            raise Invalid(f"{name} of a workspace cannot be told.", field=name)
        if name in _CHARS:
            checked[name] = word(value, name, chars=_CHARS[name], required=name in ("kind", "state"))
        else:
            checked[name] = value
    _check_parent(known, checked.get("parent"))
    if "state" in checked:
        gone = checked["state"] == WorkspaceState.DISCARDED
        was = known.discarded_at if known is not None else None
        checked["discarded_at"] = (was or clock.now()) if gone else None
    return checked


def _check_parent(known: Workspace | None, parent: Workspace | None) -> None:
    above, seen = parent, set[int]()
    while above is not None and above.pk not in seen:
        if known is not None and above.pk == known.pk:
            raise Conflict("A workspace is no copy of itself.", field="parent")
        seen.add(above.pk)
        above = above.parent
