"""What happened on the way to the model that answered."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import F

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid
from contextdash.fields import text, word
from contextdash.limits import KIB, ROUTING_EVENTS
from contextdash.writer import write
from sessions_app.models import Iteration, RoutingEvent, Session
from sessions_app.services.documents import document
from sessions_app.services.forks import locked

WORDS = {
    "provider": 100,
    "model": 200,
    "from_provider": 100,
    "from_model": 200,
    "to_provider": 100,
    "to_model": 200,
    "reason": 200,
}
NUMBERS = ("attempt", "delay_ms", "elapsed_ms")
DATA_BYTES = 16 * KIB


@write
def add_routing(
    *, iteration: Iteration, events: Sequence[Mapping[str, Any]], actor: Actor
) -> list[RoutingEvent]:
    """Append what happened, in order; all of the model call's routing then.

    Each has ``type`` and may have fields of WORDS and NUMBERS, ``status`` (of HTTP), ``error``, ``at_us``,
    ``data`` (all else), and ``position``: one that is known at its position with the same content is accepted
    and not written.

    Raises:
        Conflict: another event is at that position, or the session was deleted.
        Invalid: a value is not acceptable, a position leaves a gap, or more than ROUTING_EVENTS.
    """
    session = locked(iteration.session)
    known = list(RoutingEvent.objects.filter(iteration=iteration).order_by("position"))
    for event in events:
        position = event.get("position")
        position = len(known) if position is None else position
        row = RoutingEvent(
            iteration=iteration, position=position, created_us=clock.now_us(), **_checked(event)
        )
        if position < len(known):
            _same(known[position], row)
            continue
        if position > len(known):
            raise Invalid(f"The next position is {len(known)}.", field="position")
        if position >= ROUTING_EVENTS:
            raise Invalid(
                f"A model call has at most {ROUTING_EVENTS} of them (ROUTING_EVENTS).", field="events"
            )
        row.save()
        known.append(row)
    Session.objects.filter(key=session.key).update(ordinal=F("ordinal") + 1)
    return known


def _checked(event: Mapping[str, Any]) -> dict[str, Any]:
    # Some clients write the type with a leading colon, as their language writes words.
    checked: dict[str, Any] = {"type": word(str(event.get("type") or "").lstrip(":"), "type")}
    for name, chars in WORDS.items():
        checked[name] = word(event.get(name), name, chars=chars, required=False)
    for name in NUMBERS:
        value = event.get(name)
        if value is not None and not 0 <= value < 2**31:
            raise Invalid(f"{name} must be 0 or more.", field=name)
        checked[name] = value
    status = event.get("status")
    if status is not None and not 0 <= status < 1000:
        raise Invalid("status must be that of an answer over HTTP.", field="status")
    checked["status"] = status
    checked["error"] = text(event.get("error"), "error", required=False)
    checked["at_us"] = event.get("at_us")
    checked["data"] = document(event.get("data") or {}, "data", most=DATA_BYTES, name="16 KiB")
    return checked


def _same(known: RoutingEvent, told: RoutingEvent) -> None:
    for name in ("type", *WORDS, *NUMBERS, "status", "error", "at_us", "data"):
        if getattr(known, name) != getattr(told, name):
            raise Conflict(f"Position {known.position} is known with another {name}.", field=name)
