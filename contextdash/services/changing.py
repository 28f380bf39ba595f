"""The one way a row of a person's noun changes: compare, set, and write down who, what and why."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Stale
from contextdash.fields import word
from contextdash.limits import REASON_CHARS
from contextdash.models import Change


def record(
    *, noun: str, row_id: object, field: str, old: object, new: object, actor: Actor, reason: str = ""
) -> Change:
    """Write one line of history."""
    return Change.objects.create(
        noun=noun,
        row_id=str(row_id),
        field=field,
        old=_text(old),
        new=_text(new),
        user=actor.user,
        token=actor.token,
        reason=_checked(reason),
        at=clock.now(),
    )


def change_row[M: models.Model](
    row: M,
    *,
    values: Mapping[str, Any],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
    version_field: str = "version",
    unrecorded: frozenset[str] = frozenset(),
    elsewhere: Mapping[str, tuple[object, object]] = {},
) -> M:
    """Set the fields of ``values`` that differ; call it inside a write.

    The row must still have the version that it was read with (or ``expected_version``, what the caller of
    the API saw), so of two that change it at once the second is told. ``unrecorded`` names derived fields
    that need no line of history of their own. ``elsewhere`` names what the caller keeps in another table, as
    (old, new): it moves the version and has its line. Nothing differs: nothing is written, the version stays.

    Raises:
        Stale: the row has another version by now.
        Invalid: the reason is above its limit.
    """
    model = type(row)
    seen = getattr(row, version_field)
    if expected_version is not None and expected_version != seen:
        raise _stale(seen)
    differing = {name: value for name, value in values.items() if getattr(row, name) != value}
    moved = {name: pair for name, pair in elsewhere.items() if pair[0] != pair[1]}
    if not (differing or moved):
        return row
    updated = model._default_manager.filter(pk=row.pk, **{version_field: seen}).update(
        **differing, **{version_field: seen + 1}
    )
    if not updated:
        now = model._default_manager.filter(pk=row.pk).values_list(version_field, flat=True).first()
        raise _stale(now)
    at, why = clock.now(), _checked(reason)
    told = {name: (getattr(row, name), new) for name, new in differing.items() if name not in unrecorded}
    Change.objects.bulk_create(
        Change(
            noun=model._meta.db_table,
            row_id=str(getattr(row, "id", row.pk)),
            field=name,
            old=_text(old),
            new=_text(new),
            user=actor.user,
            token=actor.token,
            reason=why,
            at=at,
        )
        for name, (old, new) in (told | moved).items()
    )
    for name, value in differing.items():
        setattr(row, name, value)
    setattr(row, version_field, seen + 1)
    return row


def _checked(reason: str) -> str:
    return word(reason, "reason", chars=REASON_CHARS, required=False)


def _stale(current: int | None) -> Stale:
    now = "" if current is None else f" It is at version {current} now."
    return Stale(f"Somebody changed this in the meantime.{now} Read it again and repeat the change.")


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value.pk) if isinstance(value, models.Model) else str(value)
