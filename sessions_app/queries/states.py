"""The one word that says what a session is doing, computed when it is read; and the same words as filters."""

from typing import Protocol

from django.db.models import Q
from django.db.models.expressions import Combinable

from contextdash import clock
from sessions_app.vocabulary import Activity, SessionStatus

STALE_AFTER_US = 10 * 60 * 1_000_000
"""A working session that says nothing for so long is stale: its program may have died without a word."""

STUCK_AFTER_US = 30 * 60 * 1_000_000
"""One call may run long and silent, so a session with an open call gets this much before it is stale."""

PHANTOM_AFTER_US = 10 * 60 * 1_000_000
"""A session of which only the start was seen leaves the lists after so long."""

STATES = {
    "working": "Working",
    "waiting": "Needs you",
    "stale": "Stale",
    "idle": "Idle",
    "errored": "Errored",
    "compacted": "Compacted",
    "closed": "Closed",
}
"""The words of the status filter, in the order in which people look for them."""


class Acting(Protocol):
    """What tells what a session is doing: of a session, or of its row in a list."""

    @property
    def activity(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def current_call(self) -> str: ...
    @property
    def last_us(self) -> int: ...


def state_of(session: Acting, now_us: int | None = None) -> str:
    """One of STATES, or the session's status as sent when it is none of ours."""
    if session.activity == Activity.WAITING:
        return "waiting"
    if session.activity == Activity.WORKING:
        return "stale" if is_stale(session, now_us or clock.now_us()) else "working"
    if session.status != SessionStatus.ACTIVE:
        return session.status
    return "closed" if session.activity == Activity.ENDED else "idle"


def is_stale(session: Acting, now_us: int) -> bool:
    silence = STUCK_AFTER_US if session.current_call else STALE_AFTER_US
    return session.activity == Activity.WORKING and session.last_us < now_us - silence


def states_q(states: tuple[str, ...], now_us: int | Combinable) -> Q:
    """Sessions in any of these states; an unknown word finds none."""
    found = Q(key__in=[])
    for state in states:
        found |= _state_q(state, now_us)
    return found


def _state_q(state: str, now_us: int | Combinable) -> Q:
    # The condition of the index of live sessions: said, so that SQLite can use it.
    live = ~Q(activity=Activity.ENDED)
    at_rest = ~Q(activity__in=[Activity.WAITING, Activity.WORKING])
    stale = Q(current_call="", last_us__lt=now_us - STALE_AFTER_US) | Q(last_us__lt=now_us - STUCK_AFTER_US)
    match state:
        case "waiting":
            return live & Q(activity=Activity.WAITING)
        case "working":
            return live & Q(activity=Activity.WORKING) & ~stale
        case "stale":
            return live & Q(activity=Activity.WORKING) & stale
        case "idle":
            return at_rest & Q(status=SessionStatus.ACTIVE) & ~Q(activity=Activity.ENDED)
        case "closed":
            return at_rest & (
                Q(status=SessionStatus.CLOSED) | Q(status=SessionStatus.ACTIVE, activity=Activity.ENDED)
            )
        case "errored" | "compacted":
            return at_rest & Q(status=state)
        case _:
            return Q(key__in=[])
