"""Turns and runs that writers open, and what they say of a run afterwards."""

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Max

from contextdash import clock
from contextdash.actor import Actor
from contextdash.cleaning import clean, one_line
from contextdash.errors import Conflict, Invalid
from contextdash.fields import optional_text, word
from contextdash.ids import mint
from contextdash.limits import NAME_CHARS, TITLE_CHARS
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import Run, Session, SessionState, ToolCall, Turn
from sessions_app.services.ledger_append import locked_run
from sessions_app.services.sessions import named_session
from sessions_app.vocabulary import CallState, RunStatus

STATUSES = {
    **{status: status for status in RunStatus.values},
    "created": RunStatus.RUNNING,
    "waiting_for_user": RunStatus.RUNNING,
    "cancelled": RunStatus.INTERRUPTED,
    "aborted": RunStatus.INTERRUPTED,
}
"""The words for a run's status that writers may use, and ours."""

CHANGEABLE = frozenset({"status", "answer", "error", "failure_class", "abort_source"})


@write
def open_turn(
    *,
    session_id: str,
    actor: Actor,
    turn_id: str | None = None,
    prompt: str | None = None,
    started_us: int | None = None,
) -> tuple[Turn, bool]:
    """The session's turn of that id, and whether it was made just now; without an id one is minted.

    A session that nobody knows is made as that id.

    Raises:
        Conflict: the session was deleted, or the turn is known with another prompt.
        Invalid: an id is empty or too long.
    """
    wanted = mint() if turn_id is None else _id(turn_id, "turn_id")
    said = optional_text(prompt, "prompt") or ""
    named = named_session(session_id=session_id, actor=actor)
    session = Session.objects.select_for_update().get(key=named.key)
    found = Turn.objects.filter(session=session, turn_id=wanted).first()
    if found is not None:
        if said and found.prompt and found.prompt != said:
            raise Conflict(f"Turn {wanted} is known with another prompt.", field="prompt")
        if said and not found.prompt:
            found.prompt = said
            found.save(update_fields=["prompt"])
            _touch(session, prompt=said)
        return found, False
    at_us = _believed(started_us)
    turn = Turn.objects.create(
        session=session,
        state=SessionState.objects.filter(session=session).latest("version"),
        number=session.turn_count + 1,
        turn_id=wanted,
        prompt=said,
        started_us=at_us,
    )
    _touch(session, prompt=said, turns=1)
    return turn, True


@write
def open_run(
    *,
    turn: Turn,
    actor: Actor,
    run_id: str | None = None,
    invocation_id: str | None = None,
    started_us: int | None = None,
) -> tuple[Run, bool]:
    """A run of the turn that its writer alone numbers, and whether it was made just now.

    Ids that are left out are minted. A known invocation is the same run.

    Raises:
        Conflict: the invocation or the run is known otherwise, or the session was deleted.
        Invalid: an id is empty or too long.
    """
    invocation = mint() if invocation_id is None else _id(invocation_id, "invocation_id")
    session = Session.objects.select_for_update().get(key=turn.session_id)
    if session.deleted_at is not None:
        raise Conflict(f"Session {session.id} was deleted; its id is not used again.", code="deleted_session")
    known = Run.objects.filter(invocation_id=invocation).first()
    if known is not None:
        return _same_run(known, turn, run_id), False
    wanted = mint() if run_id is None else _id(run_id, "run_id")
    if Run.objects.filter(session=session, run_id=wanted).exists():
        raise Conflict(
            f"Run {wanted} is known with another invocation.", code="identity_conflict", field="run_id"
        )
    newest = Run.objects.filter(turn=turn).aggregate(number=Max("number"))["number"] or 0
    try:
        with transaction.atomic():
            run = Run.objects.create(
                session=session,
                turn=turn,
                number=newest + 1,
                run_id=wanted,
                invocation_id=invocation,
                started_us=_believed(started_us),
                ledger=True,
            )
    except IntegrityError:  # PostgreSQL: another session opened the invocation at this very moment
        return _same_run(Run.objects.get(invocation_id=invocation), turn, run_id), False
    Turn.objects.filter(key=turn.key).update(ended_us=None)
    _touch(session)
    return run, True


@write
def change_run(
    *,
    run: Run,
    values: Mapping[str, Any],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> Run:
    """Set fields of CHANGEABLE. A status that ends the run ends it now; the terminal event alone seals it.

    Raises:
        Conflict: the run is sealed and the status says otherwise, or its session was deleted.
        Invalid: another field is named, or a value is not acceptable.
        Stale: somebody changed it in the meantime.
    """
    unknown = values.keys() - CHANGEABLE
    if unknown:
        raise Invalid(f"{min(unknown)} of a run cannot be changed.", field=min(unknown))
    run = locked_run(run.key)
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if name == "status":
            checked |= _status(run, str(value))
        elif name in ("answer", "error"):
            checked[name] = optional_text(value, name) or ""
        else:
            checked[name] = word(value, name, chars=NAME_CHARS, required=False)
    changed = change_row(
        run,
        values=checked,
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        unrecorded=frozenset({"ended_us"}),
    )
    if "ended_us" in checked:
        Turn.objects.filter(key=run.turn_id).update(ended_us=checked["ended_us"])
    if checked.get("ended_us") is not None:
        ToolCall.objects.filter(run=run, state=CallState.PREPARED).update(
            state=CallState.INTERRUPTED, ended_us=checked["ended_us"]
        )
    _touch(run.session)
    return changed


def _status(run: Run, told: str) -> dict[str, Any]:
    status = STATUSES.get(told)
    if status is None:
        raise Invalid(f"status: send one of {', '.join(STATUSES)}.", field="status")
    if status == run.status:
        return {}
    if run.sealed:
        raise Conflict(
            f"The run ended {run.status}; its terminal event says so.", code="run_sealed", field="status"
        )
    return {"status": status, "ended_us": None if status == RunStatus.RUNNING else clock.now_us()}


def _same_run(known: Run, turn: Turn, run_id: str | None) -> Run:
    if known.turn_id != turn.key or (run_id is not None and known.run_id != run_id):
        raise Conflict(
            "This invocation belongs to another run, turn or session.",
            code="invocation_identity_conflict",
            field="invocation_id",
        )
    return known


def _id(raw: str, field: str) -> str:
    """An id as it was sent: it is never changed to fit."""
    if not raw.strip() or len(raw) > NAME_CHARS or clean(raw) != raw:
        raise Invalid(f"{field} must be 1 to {NAME_CHARS} characters.", field=field)
    return raw


def _believed(at_us: int | None) -> int:
    now_us = clock.now_us()
    return now_us if at_us is None else min(at_us, now_us)


def _touch(session: Session, *, prompt: str = "", turns: int = 0) -> None:
    """Say that something was told of the session; its first prompt is its request and title."""
    values: dict[str, Any] = {"ordinal": F("ordinal") + 1, "turn_count": F("turn_count") + turns}
    if prompt and session.user_request is None:
        values["user_request"] = prompt
    if prompt and not session.title:
        values["title"] = one_line(prompt, TITLE_CHARS)
    Session.objects.filter(key=session.key).update(**values, last_us=clock.now_us(), started_only=False)
