"""Model calls that writers tell of: their texts, tokens and cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid
from contextdash.fields import text, word
from contextdash.ids import digest16, mint
from contextdash.limits import COST_OF_CALL, NAME_CHARS, TOKENS_OF_CALL
from contextdash.writer import write
from sessions_app.models import Iteration, Run, Session
from sessions_app.pricing import PriceBook
from sessions_app.services.ledger_append import locked_run
from sessions_app.services.usage import TOKENS, Ledger, price_of
from sessions_app.vocabulary import Source

WORDS = {
    "response_id": NAME_CHARS,
    "request_id": NAME_CHARS,
    "provider": 100,
    "model": 200,
    "speed": 20,
    "stop_reason": 60,
}
"""Short texts that a writer may tell, each as long as its column."""
TEXTS = ("thinking", "prose")
NUMBERS = (*TOKENS, "web_searches", "cost_micro")
"""Whole numbers that a writer may tell; the cost in micro-dollars."""


@write
def write_iteration(
    *,
    run: Run,
    values: Mapping[str, Any],
    call_ids: Sequence[str] = (),
    started_us: int | None = None,
    ended_us: int | None = None,
    actor: Actor,
) -> tuple[Iteration, bool]:
    """A model call of the run, and whether it was new. ``values`` are of WORDS, TEXTS and NUMBERS.

    ``response_id`` is what makes it the same; without one, each is another. A call that a transcript or
    telemetry told of first is not written again. A cost that is told holds, unless there is a price of one's
    own; without one the list price is taken.

    Raises:
        Conflict: the call is known with other numbers or texts, or the session was deleted.
        Invalid: a value is not acceptable.
    """
    checked = _checked(values)
    calls = [word(one, "call_ids") for one in call_ids]
    run = locked_run(run.key)
    session = run.session
    own_id = checked.get("response_id") or mint()
    identity = digest16(b"iteration", (session.client or "api").encode(), own_id.encode())
    known = Iteration.objects.filter(identity=identity).first()
    told = {**checked, "call_ids": calls}
    if known is not None:
        return _same(known, told, session), False
    now_us = clock.now_us()
    at_us = now_us if started_us is None else min(started_us, now_us)
    told_micro = checked.pop("cost_micro", None)
    row = Iteration(
        session=session,
        run=run,
        identity=identity,
        source=Source.API,
        project_key=session.project_id or 0,
        client=session.client or "api",
        agent=session.agent_name,
        at_us=at_us,
        ended_us=max(at_us, at_us if ended_us is None else min(ended_us, now_us)),
        call_ids=calls,
        told_micro=told_micro,
        **checked,
    )
    row.cost_micro, row.priced_by = price_of(row, PriceBook())
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:  # PostgreSQL: another session told of it at this very moment
        return _same(Iteration.objects.get(identity=identity), told, session), False
    ledger = Ledger()
    ledger.add(row)
    ledger.store()
    fresh = {} if session.model or not row.model else {"model": row.model}
    Session.objects.filter(key=session.key).update(
        **fresh, last_us=Greatest(F("last_us"), Value(now_us)), started_only=False
    )
    return row, True


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            continue
        if name in WORDS:
            checked[name] = word(value, name, chars=WORDS[name], required=False)
        elif name in TEXTS:
            checked[name] = text(value, name, required=False)
        elif name in NUMBERS:
            limit = "COST_OF_CALL" if name == "cost_micro" else "TOKENS_OF_CALL"
            most = COST_OF_CALL if name == "cost_micro" else TOKENS_OF_CALL
            if not 0 <= value <= most:
                raise Invalid(f"{name} must be 0 to {most} ({limit}).", field=name)
            checked[name] = value
        else:
            raise Invalid(f"{name} is no field of a model call.", field=name)
    return checked


def _same(known: Iteration, told: Mapping[str, Any], session: Session) -> Iteration:
    """The stored call, where what is told of it again is what is known."""
    if known.session_id != session.key:
        raise Conflict("Another session has a call of this response_id.", field="response_id")
    if known.source != Source.API:
        return known
    for name, value in told.items():
        stored = known.told_micro if name == "cost_micro" else getattr(known, name)
        if stored != value:
            raise Conflict(f"The call is known with another {name}.", field=name)
    return known
