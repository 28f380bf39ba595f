"""Lines of writers' own logs: kept in bulk, the oldest dropped."""

from collections.abc import Mapping, Sequence
from typing import Any

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Invalid, TooLarge
from contextdash.fields import text, word
from contextdash.limits import LOG_DATA_BYTES, LOG_LINES, LOG_ROWS
from contextdash.writer import write
from sessions_app.models import Iteration, LogEntry, Run, Session
from sessions_app.services.belonging import owning_session
from sessions_app.services.documents import document

SLICE_ROWS = 2000
"""How many old lines go in one step."""


@write
def write_logs(*, lines: Sequence[Mapping[str, Any]], actor: Actor) -> list[LogEntry]:
    """All of the lines, or none.

    Each has ``level`` and ``event``, and may have ``message``, ``data``, ``at_us`` and what it is about:
    ``session_id`` (made when nobody knows it), ``run_id`` or ``iteration_id`` (keys).

    Raises:
        Conflict: a session was deleted.
        Invalid: a value is not acceptable.
        TooLarge: more than LOG_LINES, or data above LOG_DATA_BYTES.
    """
    if len(lines) > LOG_LINES:
        raise TooLarge(f"Send at most {LOG_LINES} lines at once (LOG_LINES).", field="lines")
    sessions: dict[str, Session | None] = {}
    now_us = clock.now_us()
    rows = []
    for line in lines:
        session_id = line.get("session_id")
        if session_id is not None and session_id not in sessions:
            sessions[session_id] = owning_session(session_id, actor=actor)
        at_us = line.get("at_us")
        row = LogEntry(
            level=word(line.get("level"), "level", chars=40).lower(),
            event=word(str(line.get("event") or "").lstrip(":"), "event"),
            message=text(line.get("message"), "message", required=False),
            data=document(line.get("data"), "data", most=LOG_DATA_BYTES, name="LOG_DATA_BYTES"),
            session=sessions[session_id] if session_id is not None else None,
            at_us=now_us if at_us is None else min(at_us, now_us),
        )
        _place(row, line.get("run_id"), line.get("iteration_id"))
        rows.append(row)
    return LogEntry.objects.bulk_create(rows)


@write
def forget_logs() -> bool:
    """The background's step: beyond LOG_ROWS lines the oldest go. True while more are left."""
    newest = LogEntry.objects.order_by("-key").values_list("key", flat=True).first()
    if newest is None:
        return False
    # Keys are handed out in order, so the count needs no walk through the table.
    old = LogEntry.objects.filter(key__lte=newest - LOG_ROWS).order_by("key")
    keys = list(old.values_list("key", flat=True)[:SLICE_ROWS])
    return LogEntry.objects.filter(key__in=keys).delete()[0] == SLICE_ROWS


def _place(row: LogEntry, run_key: int | None, iteration_key: int | None) -> None:
    """The narrowest place that is told; the session follows from it."""
    if iteration_key is not None:
        call = Iteration.objects.select_related("session", "run").filter(key=iteration_key).first()
        if call is None:
            raise Invalid(f"There is no model call {iteration_key}.", field="iteration_id")
        _belongs(row, call.session, "iteration_id")
        row.iteration, row.run = call, call.run
    if run_key is not None:
        run = Run.objects.select_related("session").filter(key=run_key).first()
        if run is None:
            raise Invalid(f"There is no run {run_key}.", field="run_id")
        _belongs(row, run.session, "run_id")
        row.run = run


def _belongs(row: LogEntry, session: Session, field: str) -> None:
    if row.session is not None and row.session.key != session.key:
        raise Invalid(f"{field} is of another session.", field=field)
    row.session = session
