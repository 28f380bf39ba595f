"""The JSON export: everything that is kept of a session, with every event's whole payload."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from contextdash import clock
from sessions_app.api.ledger_outs import call_out, event_out, turn_out
from sessions_app.api.outs import session_out
from sessions_app.export.reading import events, family, in_slices, nouns, row_out
from sessions_app.models import Iteration, Session, ToolCall, Turn
from sessions_app.queries.sessions_api import ReadEvent, payload_value

FORMAT = 1
"""Counts up when a reader of an older export would misread a new one."""


def pieces(session: Session) -> Iterator[str]:
    """One JSON object: ``export``, ``exported_at`` and ``sessions``, the session itself and its subagents."""
    head = {"export": FORMAT, "exported_at": clock.iso(clock.now())}
    yield _dumped(head)[:-1] + ', "sessions": ['
    for place, one in enumerate(family(session)):
        yield ",\n" if place else "\n"
        yield from _session(one)
    yield "\n]}\n"


def _session(session: Session) -> Iterator[str]:
    yield '{"session": ' + _dumped(session_out(session))
    turns = (
        Turn.objects.filter(session=session)
        .order_by("number")
        .select_related("session")
        .prefetch_related("runs")
    )
    yield from _list("turns", (turn_out(turn) for turn in in_slices(turns)))
    calls = ToolCall.objects.filter(session=session).select_related("child", "run")
    calls = calls.order_by("started_us", "key")
    yield from _list("tool_calls", (call_out(call) for call in in_slices(calls, size=100)))
    thoughts = Iteration.objects.filter(session=session).order_by("at_us", "key")
    yield from _list("model_calls", (row_out(row) for row in in_slices(thoughts)))
    for noun in nouns():
        yield from _list(noun.noun, (row_out(row) for row in in_slices(noun.rows(session).order_by("pk"))))
    read = (ReadEvent(event, payload_value(event.payload), False) for event in events(session))
    yield from _list("events", (event_out(one) for one in read))
    yield "}"


def _list(name: str, rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield f', "{name}": ['
    for place, row in enumerate(rows):
        yield (",\n" if place else "\n") + _dumped(row)
    yield "]"


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
