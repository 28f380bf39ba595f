"""Sessions that are made before anybody needs them, and claimed; and the model that one is to go on with.

An unclaimed one shows in no list, since nothing came after its start and that is not dated: the first turn
ends that by itself, as a claim does.
"""

from django.db.models import F

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict
from contextdash.fields import word
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import ModelPreference, Session, WarmSession
from sessions_app.services.forks import locked

_SIGNS = ("turn_count", "event_count", "call_count", "iteration_count", "message_count", "plan_count")
"""Counters that say that something happened in a session."""


@write
def warm_up(*, session: Session, actor: Actor) -> WarmSession:
    """Keep a session that was made just now for later. Doing so again changes nothing.

    Raises:
        Conflict: something happened in it already.
    """
    held = locked(session)
    known = WarmSession.objects.filter(session=held).first()
    if known is not None:
        return known
    if held.ended_at or any(getattr(held, name) for name in _SIGNS):
        raise Conflict("This session is in use already; only a new one can be kept warm.", code="in_use")
    Session.objects.filter(key=held.key).update(started_only=True, last_us=0)
    return WarmSession.objects.create(session=held, created_us=clock.now_us())


@write
def claim_session(*, session: Session, actor: Actor) -> Session:
    """Take a warm session: it shows from now on, and nobody else gets it.

    Raises:
        Conflict: it is not warm, somebody claimed it, or its first turn has begun.
    """
    held = locked(session)
    warm = WarmSession.objects.filter(session=held).first()
    if warm is None:
        raise Conflict("This session was not kept warm.", code="not_warm")
    if warm.claimed_us is not None or held.turn_count:
        raise Conflict("Somebody else has this session. Claim another one.", code="already_claimed")
    now_us = clock.now_us()
    warm.claimed_us = now_us
    warm.save(update_fields=["claimed_us"])
    Session.objects.filter(key=held.key).update(
        started_only=False,
        last_us=now_us,
        owner=actor.user if actor.user is not None else held.owner,
        ordinal=F("ordinal") + 1,
    )
    held.refresh_from_db()
    return held


@write
def prefer_model(
    *,
    session: Session,
    provider: str,
    model: str,
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> ModelPreference | None:
    """The model that the session is to go on with, in whatever version; an empty model clears both.

    Raises:
        Conflict: the session was deleted.
        Invalid: a value is too long.
        Stale: the session is not at ``expected_version`` any more.
    """
    wanted = word(model, "model", required=False)
    by = word(provider, "provider", chars=100, required=False) if wanted else ""
    held = locked(session)
    known = ModelPreference.objects.filter(session=held).first()
    before = f"{known.provider}/{known.model}" if known else ""
    change_row(
        held,
        values={},
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        version_field="metadata_version",
        elsewhere={"preferred_model": (before, f"{by}/{wanted}" if wanted else "")},
    )
    if not wanted:
        ModelPreference.objects.filter(session=held).delete()
        return None
    return ModelPreference.objects.update_or_create(session=held, defaults={"provider": by, "model": wanted})[
        0
    ]
