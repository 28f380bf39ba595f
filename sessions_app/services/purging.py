"""Erasing what events hold, through the ledger's door: who, what and why are written first.

A purge is a row that is open until everything it names is erased. Whoever asked for it drives it, slice by
slice; what was cut short (a killed process) the background thread drives to its end, so that no door stays
open. Two who drive one purge at the same time do each other no harm.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F, Q

from contextdash import clock
from contextdash.actor import SYSTEM, Actor
from contextdash.background import STEP_SECONDS, background
from contextdash.errors import Forbidden
from contextdash.fields import text
from contextdash.limits import MIB
from contextdash.models.token import Scope
from contextdash.writer import write
from sessions_app.models import Event, Purge, Session
from sessions_app.services.attachments import erase_files
from sessions_app.services.ending import descendants
from sessions_app.services.partials import erase_partials

TASK = "purges"
"""The background task that drives open purges."""
SLICE_EVENTS = 200
"""The most events erased in one transaction."""
SLICE_BYTES = 8 * MIB
"""A slice ends early where its payloads, before compression, pass this."""
WALK_EVENTS = 2_000
"""How many of the oldest events retention looks at in one step."""
RETENTION_REASON = "RETENTION_DAYS"
"""The beginning of the reason of every purge that retention asked for."""

type Progress = Callable[[Purge], object]


def purge_session(
    *, session: Session, actor: Actor, reason: str, seconds: float | None = None, tell: Progress | None = None
) -> Purge:
    """Erase every event that a session and its subagents have now; its purge. ``tell`` hears of each slice.

    The files of its attachments go as well. Turns, summaries of calls and what events meant stay, as do
    decisions, mistakes, findings and stories.
    After ``seconds`` the rest is left to the background thread.

    Raises:
        Invalid: there is no reason.
        Forbidden: the actor is neither an owner nor the system itself.
    """
    purge = open_purges(session=session, actor=actor, reason=reason)[0]
    return drive_on(purge, seconds=seconds, tell=tell)


@write
def open_purges(*, session: Session, actor: Actor, reason: str) -> Sequence[Purge]:
    """The purges of a session and of each of its subagents, the session's own first."""
    _owners_only(actor)
    why = text(reason, "reason")
    at = clock.now()
    return [
        Purge.objects.create(
            session_key=one.key, user=actor.user, token=actor.token, reason=why, started_at=at
        )
        for one in (session, *descendants(session))
    ]


def drive_on(purge: Purge, *, seconds: float | None = None, tell: Progress | None = None) -> Purge:
    """Erase what a purge and those opened with it (of subagents) still name; the purge as it is then.

    Repeat it as often as you like. After ``seconds`` the rest is left to the background thread.
    """
    until = None if seconds is None else monotonic() + seconds
    together = Purge.objects.filter(finished_at=None, started_at=purge.started_at).order_by("pk")
    for one in list(together):
        if not _drive(one, until=until, tell=tell):
            background.wake(TASK)
            break
    purge.refresh_from_db()
    return purge


def _drive(purge: Purge, *, until: float | None, tell: Progress | None) -> bool:
    """Erase slice by slice to the end, or until a moment of ``monotonic``; False while more is left."""
    walk = _Walk(purge)
    while walk.step():
        if tell is not None:
            purge.refresh_from_db()
            tell(purge)
        if until is not None and monotonic() > until:
            return False
    return True


def finish_purges() -> bool:
    """The background's step: a slice of the oldest open purge; True while a purge is open."""
    purge = Purge.objects.filter(finished_at=None).order_by("pk").first()
    if purge is None:
        _walks.clear()
        return False
    if purge.pk not in _walks:
        _walks.clear()
        _walks[purge.pk] = _Walk(purge)
    _walks[purge.pk].step()
    return True


def open_retention() -> bool:
    """The background's step: where payloads are too old, a purge of them is opened. Never True."""
    days: int | None = settings.RETENTION_DAYS
    if days is None:
        return False
    before_us = clock.now_us() - int(timedelta(days=days) / timedelta(microseconds=1))
    oldest = Event.objects.order_by("key").values_list("received_us", flat=True)[:WALK_EVENTS]
    running = Purge.objects.filter(finished_at=None, session_key=None).exclude(received_before_us=None)
    if any(received_us < before_us for received_us in oldest) and not running.exists():
        _open_retention(before_us=before_us, days=days)
    return False


@write
def _open_retention(*, before_us: int, days: int) -> None:
    Purge.objects.create(
        received_before_us=before_us,
        reason=f"{RETENTION_REASON}={days}",
        started_at=clock.now(),
    )


class _Walk:
    """What one purge erases, in slices. Where it got to is only remembered here: another begins anew."""

    def __init__(self, purge: Purge) -> None:
        self._purge = purge
        self._after = 0
        self._most = max(1, SLICE_EVENTS // 4)
        self._asked_us = clock.to_us(purge.started_at)

    def step(self) -> bool:
        """One slice; False when nothing was left and the purge is closed."""
        keys, size, more = self._by_session() if self._purge.session_key else self._by_age()
        if keys:
            begun = monotonic()
            _erase(purge=self._purge, keys=keys, size=size)
            self._fit(monotonic() - begun)
        elif not more:
            _close(purge=self._purge)
        return bool(keys) or more

    def _fit(self, took: float) -> None:
        """The next slice holds as many as fit the time that a step may take."""
        if took > STEP_SECONDS / 2:
            self._most = max(1, self._most // 2)
        elif took < STEP_SECONDS / 5:
            self._most = min(SLICE_EVENTS, self._most * 2)

    def _by_session(self) -> tuple[list[int], int, bool]:
        # What arrived after somebody asked is not what they saw and meant.
        rows = Event.objects.filter(session=self._purge.session_key, received_us__lte=self._asked_us)
        found = rows.order_by("ordinal").values_list("key", "payload_size")[: self._most]
        keys, size = _slice(list(found))
        return keys, size, False

    def _by_age(self) -> tuple[list[int], int, bool]:
        """The oldest by key: events are stored as they are received, so no index by time is needed."""
        before_us = self._purge.received_before_us or 0
        rows = Event.objects.filter(key__gt=self._after).order_by("key")
        found = list(rows.values_list("key", "received_us")[:WALK_EVENTS])
        old = [key for key, received_us in found if received_us < before_us][: self._most]
        if old:
            sized = Event.objects.filter(key__in=old).order_by("key").values_list("key", "payload_size")
            keys, size = _slice(list(sized))
            return keys, size, True
        # None here is too old. Those of a clock that was ahead say nothing about what follows them.
        now_us = clock.now_us()
        reached = any(received_us <= now_us for _, received_us in found)
        if found:
            self._after = found[-1][0]
        return [], 0, bool(found) and not reached


_walks: dict[int, _Walk] = {}
"""The one of the background thread, by its purge."""


def _slice(rows: Sequence[tuple[int, int]]) -> tuple[list[int], int]:
    """The keys of the first rows within SLICE_BYTES, at least one, and their bytes."""
    keys: list[int] = []
    total = 0
    for key, size in rows:
        if keys and total + size > SLICE_BYTES:
            break
        keys.append(key)
        total += size
    return keys, total


@write
def _erase(*, purge: Purge, keys: Sequence[int], size: int) -> None:
    with _overwritten():
        # Raw: what referred to an event stays and Django has nothing to collect.
        erased = Event.objects.filter(key__in=keys)._raw_delete(using="default")
    if erased:
        Purge.objects.filter(pk=purge.pk).update(
            events_deleted=F("events_deleted") + erased, bytes_deleted=F("bytes_deleted") + size
        )


@write
def _close(*, purge: Purge) -> None:
    _erase_files(purge)
    Purge.objects.filter(pk=purge.pk, finished_at=None).update(finished_at=clock.now())
    if purge.session_key is not None:
        Session.objects.filter(key=purge.session_key).update(ordinal=F("ordinal") + 1)


def _erase_files(purge: Purge) -> None:
    """The files of attachments and the streams that the purge names: once their events are gone."""
    which = (
        Q(session=purge.session_key, received_us__lte=clock.to_us(purge.started_at))
        if purge.session_key is not None
        else Q(received_us__lt=purge.received_before_us or 0)
    )
    until_us = purge.received_before_us or clock.to_us(purge.started_at)
    with _overwritten():
        size = erase_files(which)
        # Texts whose final event never came are bytes as well.
        erase_partials(session_key=purge.session_key, until_us=until_us)
    if size:
        Purge.objects.filter(pk=purge.pk).update(bytes_deleted=F("bytes_deleted") + size)


class _overwritten:  # noqa: N801 - used as a with statement
    """SQLite fills with zeros what is deleted meanwhile, so that the file does not go on holding it."""

    def __enter__(self) -> None:
        self._set("ON")

    def __exit__(self, *_: Any) -> None:
        self._set("OFF")

    def _set(self, state: str) -> None:
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute(f"PRAGMA secure_delete = {state}")


def _owners_only(actor: Actor) -> None:
    if actor == SYSTEM or (actor.token is not None and actor.token.grants(Scope.ADMIN)):
        return
    if actor.user is None or not actor.user.is_owner:
        raise Forbidden("Only an owner erases what events hold.")
