"""Telemetry that nobody's exporter sends: stored or refused within a moment, never a failure of ours."""

import math
from typing import Any

import pytest

from contextdash.limits import TOKENS_OF_CALL
from sessions_app.models import Iteration, Session, ToolCall

pytestmark = pytest.mark.django_db

_SPELT = {"nan": "NaN", "inf": "Infinity"}
"""How OTLP/JSON writes them."""
AT = 1_780_000_000_000_000_000
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 2}
AGENT = {"gen_ai.operation.name": "invoke_agent"}


def attributes(told: dict[str, Any]) -> list[dict[str, Any]]:
    sorts = {str: "stringValue", int: "intValue", float: "doubleValue"}
    held = {
        key: value if math.isfinite(value) else _SPELT[str(value)]
        for key, value in told.items()
        if isinstance(value, float)
    }
    return [{"key": key, "value": {sorts[type(value)]: held.get(key, value)}} for key, value in told.items()]


def span(number: int, parent: int = 0, trace: str = "ab" * 16, **told: Any) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}",
        "name": "chat",
        "startTimeUnixNano": str(AT + number),
        "endTimeUnixNano": str(AT + number + 1000),
        "attributes": attributes(told),
    }


def spans(*sent: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(sent)}]}]}


def log(name: str, **told: Any) -> dict[str, Any]:
    told = {"session.id": "s-1", "event.name": name, "event.sequence": 1, **told}
    record = {"timeUnixNano": str(AT), "body": {"stringValue": f"claude_code.{name}"}}
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [{**record, "attributes": attributes(told)}]}]}]}


@pytest.mark.parametrize(
    "parents",
    [
        {1: 1},
        {1: 2, 2: 1},
        {1: 2, 2: 3, 3: 2},
        {1: 2, 2: 3, 3: 4, 4: 1},
    ],
)
@pytest.mark.parametrize("told", [CHAT, AGENT])
def test_spans_that_are_their_own_ancestors_are_stored(exporter, parents, told):
    sent = spans(*(span(one, parent, **told) for one, parent in parents.items()))
    for _ in range(2):
        assert exporter.send(sent).json() == {}
    assert Iteration.objects.count() == (len(parents) if told is CHAT else 0)


@pytest.mark.parametrize("told", [CHAT, AGENT])
def test_a_chain_of_thousands_of_spans_takes_a_look_at_each(exporter, told, monkeypatch):
    from sessions_app.ingest.otlp import genai

    looked = 0
    plain = genai.operation

    def counted(one: Any) -> str:
        nonlocal looked
        looked += 1
        return plain(one)

    monkeypatch.setattr(genai, "operation", counted)
    monkeypatch.setattr(genai, "_take", lambda taker, one, traces: traces.turn(one))
    assert exporter.send(spans(*(span(one, one - 1, **told) for one in range(1, 2001)))).json() == {}
    assert looked < 16_000


def test_ids_of_spans_are_those_of_their_trace(exporter):
    first, second = (span(1, trace=trace, **CHAT) for trace in ("ab" * 16, "cd" * 16))
    named = {**span(1, trace="ef" * 16, **{"session.id": "s-1"}), "name": "claude_code.interaction"}
    assert exporter.send(spans(first, second, named)).json() == {}
    assert Iteration.objects.count() == 2
    assert Session.objects.count() == 3


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e308, -1.5, -1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("as_protobuf", [False, True])
def test_numbers_that_nothing_can_be_are_no_counts(exporter, number, as_protobuf):
    names = ("tool_input_size_bytes", "tool_result_size_bytes", "duration_ms")
    result = log("tool_result", tool_use_id="t-1", success="true", **dict.fromkeys(names, number))
    names = (
        "output_tokens",
        "input_tokens",
        "cache_read_tokens",
        "cost_usd",
        "cost_usd_micros",
        "duration_ms",
    )
    request = log("api_request", request_id="r-1", **dict.fromkeys(names, number))
    called = spans(span(1, **CHAT | {"gen_ai.usage.input_tokens": number}))
    for sent in (result, request, called):
        for _ in range(2):
            assert exporter.send(sent, as_protobuf=as_protobuf).status_code == 200
    call = ToolCall.objects.get(call_id="t-1")
    assert (call.input_size, call.output_size, call.duration_us or 0) == (0, 0, 0)
    assert set(Iteration.objects.values_list("input_tokens", flat=True)) == {0}


@pytest.mark.parametrize("told", ["--5", "-", "9" * 19, "٣", "1_0", "²", ""])
def test_texts_that_are_no_numbers_are_none(exporter, told):
    sent = span(1, **CHAT) | {"startTimeUnixNano": told, "traceId": "ab" * 16}
    sent["attributes"].append({"key": "gen_ai.usage.input_tokens", "value": {"intValue": told}})
    assert exporter.send(spans(sent)).status_code == 200
    assert Iteration.objects.get().input_tokens == 0


def test_no_request_ends_the_sums(exporter):
    """Money of a session is whole micro-dollars in 64 bits."""
    most = {"gen_ai.usage.input_tokens": TOKENS_OF_CALL, "gen_ai.usage.output_tokens": TOKENS_OF_CALL}
    beyond = dict.fromkeys(most, 2**47)
    named = {"gen_ai.request.model": "claude-opus-4-5", "gen_ai.provider.name": "anthropic"}
    for told in (most, beyond):
        number = 0 if told is most else 600
        sent = (span(number + one, **CHAT | named | told) for one in range(1, 600))
        assert exporter.send(spans(*sent)).json() == {}
    assert Session.objects.get().input_tokens == 599 * TOKENS_OF_CALL


@pytest.mark.parametrize(
    "given",
    [
        '{"command": "cut \\ud83d", "file_path": "a\\u0000b\\ud800"}',
        '{"\\ud800": {"\\u0000": 1}}',
        "[" * 100_000,
        '{"a":' * 50_000,
        "1" * 6000,
    ],
)
def test_json_within_texts_is_read_within_the_same_limits(exporter, given):
    for number, tool in enumerate(("Bash", "Read", "apply_patch")):
        named = {"tool_use_id": tool, "tool_name": tool, "event.sequence": number}
        assert exporter.send(log("tool_result", success="true", tool_input=given, **named)).json() == {}
    told = {"gen_ai.tool.name": "Read", "gen_ai.tool.call.arguments": given}
    assert exporter.send(spans(span(1, **told))).json() == {}
    assert ToolCall.objects.count() == 4


@pytest.mark.parametrize("apart", [False, True])
def test_traces_that_are_each_others_conversations_make_no_circle(exporter, page, apart):
    one, two = "b1" * 16, "b2" * 16
    for round_ in range(3):
        sent = [
            span(round_ * 2 + place, trace=trace, **CHAT, **{"gen_ai.conversation.id": named})
            for place, (trace, named) in enumerate(((one, two), (two, one)), 1)
        ]
        for part in [[each] for each in sent] if apart else [sent]:
            assert exporter.send(spans(*part)).json() == {}
    parents = dict(Session.objects.values_list("id", "parent__id"))
    assert None in parents.values()
    for session in parents:
        for panel in ("", "subagents/", "waterfall/", "transcript/"):
            assert page.get(f"/sessions/{session}/{panel}").status_code == 200
