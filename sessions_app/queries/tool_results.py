"""What went into named tool calls and what came out, as a program reads it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contextdash.errors import Invalid
from contextdash.limits import EVENT_PAGE_BYTES, EVENT_PAYLOAD_BYTES, NAME_CHARS, PAGE_ROWS
from sessions_app.models import Event, Session, ToolCall
from sessions_app.queries.payloads import body_of, error_of, input_of, output_of


@dataclass(frozen=True, slots=True)
class ToolResult:
    call: ToolCall
    input: Any
    output: Any
    error: Any
    cut: bool
    """Its events are too large to be sent along, or were erased."""


def tool_results(session: Session, ids: Sequence[str]) -> tuple[Sequence[ToolResult], Sequence[str]]:
    """The calls of these client's ids in the order asked for, and the ids that no call has.

    Payloads together end at EVENT_PAGE_BYTES, one at EVENT_PAYLOAD_BYTES: what is beyond is told as cut.

    Raises:
        Invalid: no id, or more than PAGE_ROWS.
    """
    wanted = list(dict.fromkeys(one.strip()[:NAME_CHARS] for one in ids if one.strip()))
    if not 1 <= len(wanted) <= PAGE_ROWS:
        raise Invalid(f"ids must name 1 to {PAGE_ROWS} tool calls (PAGE_ROWS).", field="ids")
    rows = ToolCall.objects.filter(session=session, call_id__in=wanted).select_related("child", "run")
    found = {call.call_id: call for call in rows}
    calls = [found[one] for one in wanted if one in found]
    events = _events(calls)
    return [_result(call, events) for call in calls], [one for one in wanted if one not in found]


def _events(calls: Sequence[ToolCall]) -> dict[int, Event]:
    keys = [key for call in calls for key in (call.call_event_id, call.result_event_id) if key is not None]
    sizes = dict(Event.objects.filter(key__in=keys).values_list("key", "payload_size"))
    taken, total = [], 0
    for key in keys:
        size = sizes.get(key)
        if size is not None and size <= EVENT_PAYLOAD_BYTES and total + size <= EVENT_PAGE_BYTES:
            taken.append(key)
            total += size
    return Event.objects.in_bulk(taken)


def _result(call: ToolCall, events: dict[int, Event]) -> ToolResult:
    named = {call.call_event_id, call.result_event_id} - {None}
    before = body_of(events.get(call.call_event_id or 0))
    after = body_of(events.get(call.result_event_id or 0))
    given = input_of(before)
    return ToolResult(
        call,
        input_of(after) if given is None else given,
        output_of(after),
        error_of(after) if error_of(after) is not None else (call.error or None),
        bool(named - set(events)),
    )
