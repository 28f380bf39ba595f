"""Spans of the GenAI conventions: nested agents, totals, conversations, prompts, several requests."""

import json
from typing import Any

import pytest
from django.db import transaction

from sessions_app.models import Iteration, Run, Session, ToolCall, Turn
from tests.otlp.sending import Exporter

pytestmark = pytest.mark.django_db

TRACE = "0af7651916cd43dd8448eb211c80319c"
BEGAN = 1_794_906_150


def span(number: int, parent: int | None, operation: str, seconds: tuple[float, float], **told: Any) -> Any:
    """A span of TRACE; attribute names with ``__`` for dots."""
    attributes = {"gen_ai.operation.name": operation}
    attributes |= {f"gen_ai.{name.replace('__', '.')}": value for name, value in told.items()}
    failed = attributes.pop("gen_ai.failed", None)
    if failed:
        attributes["error.type"] = failed
    start, end = (f"{int((BEGAN + at) * 1_000_000_000)}" for at in seconds)
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "parentSpanId": "" if parent is None else f"{parent:016x}",
        "name": f"{operation} something",
        "startTimeUnixNano": start,
        "endTimeUnixNano": end,
        "status": {"code": 2, "message": "it broke"} if failed else {},
        "attributes": [{"key": key, "value": any_value(value)} for key, value in attributes.items()],
    }


def any_value(value: Any) -> Any:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value if isinstance(value, str) else json.dumps(value)}


def request(*spans: Any, service: str = "Travel Agent") -> Any:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def said(role: str, text: str) -> Any:
    return [{"role": role, "parts": [{"type": "text", "content": text}]}]


TOKENS: dict[str, Any] = {
    "usage__input_tokens": 1000,
    "usage__cache_read__input_tokens": 400,
    "usage__cache_creation__input_tokens": 100,
    "usage__output_tokens": 50,
    "response__model": "claude-opus-4-8",
    "provider__name": "anthropic",
}
MODEL_CALL_MICRO = 500 * 5 + 400 * 0.5 + 100 * 6.25 + 50 * 25

TRIP = [
    span(
        *(1, None, "invoke_agent", (0, 9)),
        agent__name="planner",
        conversation__id="trip-7",
        input__messages=said("user", "Plan a trip to Rome"),
        output__messages=said("assistant", "Here is your trip."),
        usage__input_tokens=9999,
        usage__output_tokens=999,
        response__model="claude-opus-4-8",
    ),
    span(2, 1, "chat", (0.1, 1), output__messages=said("assistant", "First flights."), **TOKENS),
    span(
        *(3, 1, "execute_tool", (1, 3)),
        tool__name="flights",
        tool__call__id="call_f",
        tool__call__arguments={"query": "to Rome", "passengers": 2},
        tool__call__result={"found": 3},
    ),
    span(4, 1, "execute_tool", (3, 8), tool__name="delegate", tool__call__id="call_d"),
    span(5, 4, "invoke_agent", (3.1, 7.9), agent__name="hotels", failed="limit"),
    span(6, 5, "chat", (3.2, 4), **TOKENS),
    span(7, 5, "execute_tool", (4, 5), tool__name="book", tool__call__id="call_b", failed="timeout"),
]


def story() -> dict[str, Any]:
    return {
        "sessions": list(
            Session.objects.order_by("id").values_list(
                *("id", "parent__id", "agent_name", "client", "title", "call_count", "failed_count"),
                *("iteration_count", "output_tokens", "cost_micro"),
            )
        ),
        "runs": list(
            Run.objects.order_by("turn__turn_id").values_list(
                *("session__id", "turn__turn_id", "turn__prompt", "status", "answer", "error", "ended_us"),
            )
        ),
        "calls": list(
            ToolCall.objects.order_by("call_id").values_list(
                *("session__id", "call_id", "name", "state", "summary", "error", "duration_us"),
                "run__turn__turn_id",
            )
        ),
        "iterations": list(
            Iteration.objects.order_by("at_us").values_list("session__id", "run__turn__turn_id", "prose")
        ),
    }


def test_an_agent_its_tools_and_the_agent_that_it_asked(exporter: Exporter) -> None:
    assert exporter.send(request(*TRIP)).content == b"{}"
    main, child = Session.objects.get(parent=None), Session.objects.get(parent__isnull=False)
    assert (main.id, main.client, main.agent_name) == ("trip-7", "travel-agent", "planner")
    assert (main.title, main.child_count) == ("Plan a trip to Rome", 1)
    assert (child.agent_name, child.call_count, child.failed_count) == ("hotels", 1, 1)
    # Of the agent's own sum nothing is counted: its calls are.
    assert (main.iteration_count, main.cost_micro) == (1, MODEL_CALL_MICRO)
    assert (main.input_tokens, main.cache_read_tokens, main.cache_write_tokens) == (500, 400, 100)
    runs = {run.turn.session_id: run for run in Run.objects.select_related("turn")}
    assert (runs[main.key].status, runs[main.key].answer) == ("completed", "Here is your trip.")
    assert (runs[child.key].status, runs[child.key].error) == ("failed", "limit: it broke")
    assert runs[main.key].turn.prompt == "Plan a trip to Rome"
    assert (runs[main.key].ended_us or 0) - runs[main.key].started_us == 9_000_000
    calls = {call.call_id: call for call in ToolCall.objects.all()}
    assert calls["call_f"].summary == "to Rome"
    assert (calls["call_f"].duration_us, calls["call_f"].input_size) == (2_000_000, 34)
    assert (calls["call_b"].state, calls["call_b"].error) == ("failed", "timeout: it broke")
    assert Iteration.objects.get(session=main).prose == "First flights."


def test_children_come_before_their_parents_as_exporters_send_them(exporter: Exporter) -> None:
    with transaction.atomic():
        exporter.send(request(*TRIP))
        wanted = story()
        transaction.set_rollback(True)
    exporter.send(request(*reversed(TRIP)))
    assert story() == wanted


def test_the_sum_of_an_agent_goes_when_its_calls_come_later_or_came_earlier(exporter: Exporter) -> None:
    agent, chat = TRIP[0], TRIP[1]
    exporter.send(request(agent))
    assert Session.objects.get().output_tokens == 999
    exporter.send(request(chat))
    session = Session.objects.get()
    assert (session.iteration_count, session.output_tokens, session.cost_micro) == (1, 50, MODEL_CALL_MICRO)
    exporter.send(request(agent))
    session.refresh_from_db()
    assert (session.iteration_count, session.output_tokens) == (1, 50)


def test_a_call_that_came_before_its_agent_is_counted_with_it(exporter: Exporter) -> None:
    exporter.send(request(TRIP[1]))
    assert Session.objects.get().id == TRACE  # nobody has named the conversation yet
    exporter.send(request(TRIP[0]))
    main = Session.objects.get(id="trip-7")
    early = Session.objects.get(id=TRACE)
    assert early.parent == main
    assert (main.output_tokens, early.output_tokens) == (0, 50)
    exporter.send(request(TRIP[2]))
    assert ToolCall.objects.get().session == main  # since then the trace's conversation is known


def test_what_is_no_genai_span_is_counted_only(exporter: Exporter) -> None:
    other = span(9, None, "x", (0, 1))
    other["attributes"] = [{"key": "http.method", "value": {"stringValue": "GET"}}]
    assert exporter.send(request(other)).content == b"{}"
    assert not Session.objects.exists()


def test_two_turns_of_one_conversation(exporter: Exporter) -> None:
    again = json.loads(json.dumps(TRIP[0]).replace(TRACE, "ff" * 16).replace("Plan a trip", "Plan another"))
    again["spanId"] = "aa" * 8
    again["startTimeUnixNano"], again["endTimeUnixNano"] = (
        str(int(again[name]) + 60_000_000_000) for name in ("startTimeUnixNano", "endTimeUnixNano")
    )
    exporter.send(request(TRIP[0]))
    exporter.send(request(again))
    session = Session.objects.get()
    assert (session.turn_count, session.iteration_count) == (2, 2)
    assert list(Turn.objects.order_by("number").values_list("prompt", flat=True)) == [
        *("Plan a trip to Rome", "Plan another to Rome"),
    ]
