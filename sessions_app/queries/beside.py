"""What few sessions have, kept in tables of its own: told as names and values, for who wants to look."""

import json
from collections.abc import Iterable
from typing import Any

from django.db.models import Model

from contextdash import clock
from sessions_app.models import (
    Aggregate,
    CopiedUsage,
    LogEntry,
    ModelPreference,
    ProjectPlace,
    RoutingEvent,
    RunDetail,
    Session,
    SessionState,
    ToolOperation,
    WarmSession,
    WorkspaceFocus,
)
from sessions_app.queries.claims import Claims

ROWS = 50
"""The most of each kind."""
VALUE_CHARS = 2_000
"""How much of one value is shown."""


def beside(session: Session) -> list[Claims]:
    """The kinds that there are of a session."""
    states = SessionState.objects.filter(session=session, version__gt=0).order_by("version")
    focus = WorkspaceFocus.objects.filter(workspace=session.place_id)
    # What a run's content says is in the transcript, without what is private.
    details = RunDetail.objects.filter(run__session=session).defer("content").order_by("run")
    operations = ToolOperation.objects.filter(run__session=session).order_by("run", "key")
    routing = RoutingEvent.objects.filter(iteration__session=session).order_by("iteration", "position")
    found = [
        Claims("Versions", "Versions after the first, in their chain.", _told(states)),
        Claims("Made ahead", "It was made before anybody needed it.", _told(_of(WarmSession, session))),
        Claims("Model to go on with", "Whatever it began with.", _told(_of(ModelPreference, session))),
        Claims("Focus", "Its workspace is the one in focus.", _told(focus) if session.place_id else []),
        Claims("Place", "Where people put it in its project.", _told(_of(ProjectPlace, session))),
        Claims("Copied usage", "Counted where it happened.", _told(_of(CopiedUsage, session))),
        Claims(
            "Runs", "What writers told of runs: prior outcome, context, error.", _told(details, "content")
        ),
        Claims("Tool operations", "States and versions of dispatched calls.", _told(operations)),
        Claims("Routing", "On the way to the models that answered.", _told(routing)),
        Claims("Documents", "What extensions keep.", _told(_newest(Aggregate, session, "-updated_us"))),
        Claims(
            "Log", "Lines of its writers' logs, newest first.", _told(_newest(LogEntry, session, "-at_us"))
        ),
    ]
    return [one for one in found if one.rows]


def _of(model: Any, session: Session) -> Any:
    return model.objects.filter(session=session)


def _newest(model: Any, session: Session, order: str) -> Any:
    return _of(model, session).order_by(order, "-pk")


def _told(rows: Any, *without: str) -> list[dict[str, Any]]:
    return [_row(row, without) for row in rows[:ROWS]]


def _row(row: Model, without: Iterable[str]) -> dict[str, Any]:
    names = (field.attname for field in row._meta.concrete_fields if field.name not in without)
    return {name: _value(name, getattr(row, name)) for name in names}


def _value(name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return clock.iso(clock.from_us(value)) if name.endswith("_us") and value else value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) > VALUE_CHARS:
        return f"{text[:VALUE_CHARS]}… ({len(text):,} characters)"
    return value if isinstance(value, str | dict | list) else text
