"""A turn is tried once more: a further run of it, which what comes later belongs to."""

from django.db.models import F

from contextdash import clock, ids
from contextdash.actor import Actor
from contextdash.errors import Invalid
from contextdash.fields import word
from contextdash.writer import write
from sessions_app.models import Run, RunDetail, Session, ToolCall, Turn
from sessions_app.services.forks import locked
from sessions_app.vocabulary import CallState, RunStatus


@write
def retry_turn(*, turn: Turn, actor: Actor, provider: str = "", model: str = "") -> Run:
    """The turn's next run. An attempt that still ran is over: it is interrupted, with its open calls.

    Where a writer kept the ledger of the newest attempt, the next one is the writer's too.

    Raises:
        Conflict: the session was deleted.
        Invalid: the turn has no run yet, or a value is too long.
    """
    checked = {
        "provider": word(provider, "provider", chars=100, required=False),
        "model": word(model, "model", required=False),
    }
    session = locked(turn.session)
    newest = Run.objects.filter(turn=turn).order_by("-number").first()
    if newest is None:
        raise Invalid("This turn was never tried: open its first run instead.", field="turn_id")
    now_us = clock.now_us()
    if newest.status == RunStatus.RUNNING:
        Run.objects.filter(key=newest.key).update(
            status=RunStatus.INTERRUPTED, ended_us=now_us, version=F("version") + 1
        )
        ToolCall.objects.filter(run=newest, state=CallState.PREPARED).update(
            state=CallState.INTERRUPTED, ended_us=now_us
        )
    made = Run.objects.create(
        session=session,
        turn=turn,
        number=newest.number + 1,
        run_id=ids.mint() if newest.ledger else "",
        invocation_id=ids.mint(),
        started_us=now_us,
        ledger=newest.ledger,
    )
    RunDetail.objects.create(run=made, retried_from=newest, **checked)
    Turn.objects.filter(key=turn.key).update(ended_us=None)
    Session.objects.filter(key=session.key).update(
        ordinal=F("ordinal") + 1, last_us=now_us, started_only=False
    )
    return made
