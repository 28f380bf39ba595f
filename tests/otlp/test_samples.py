"""The samples, in both encodings: their figures hold exactly, and sent again they change nothing."""

import json
from collections import Counter
from typing import Any

import pytest

from sessions_app.ingest.otlp import wire
from sessions_app.models import CodeCount, Event, HookBucket, Iteration, Session, ToolCall, Turn
from sessions_app.queries.payloads import payload_of
from tests.otlp.sending import DATA, REAL, Exporter, protobuf, sample, signal_of

pytestmark = pytest.mark.django_db

EXPECTED = json.loads((DATA / "expected.json").read_text())
SAMPLES = ["v1-logs.json", "v1-traces.json", "v1-metrics.json", "v1-traces-genai-semconv.json"]


def decoded(name: str, *, as_protobuf: bool) -> dict[str, Any]:
    body = sample(name)
    raw = protobuf(body) if as_protobuf else json.dumps(body).encode()
    return wire.decode(raw, signal_of(body), protobuf=as_protobuf)


@pytest.mark.parametrize("name", [*SAMPLES, *(f"real/{path.name}" for path in REAL)])
def test_both_encodings_say_the_same(name: str) -> None:
    readers = {"logs": wire.log_records, "traces": wire.spans, "metrics": wire.points}
    read = readers[signal_of(sample(name))]
    assert list(read(decoded(name, as_protobuf=True))) == list(read(decoded(name, as_protobuf=False)))


@pytest.mark.parametrize("as_protobuf", [False, True])
def test_the_figures_of_the_samples(as_protobuf: bool) -> None:
    points = list(wire.points(decoded("v1-metrics.json", as_protobuf=as_protobuf)))
    tokens: dict[str, Counter[str]] = {}
    for point in points:
        if point.name == "claude_code.token.usage":
            told = point.attributes
            tokens.setdefault(told["model"], Counter())[told["type"]] += int(point.value)
    assert tokens == EXPECTED["metrics"]["tokens_delta_sum"]
    cost = sum(point.value for point in points if point.name == "claude_code.cost.usage")
    assert round(cost, 6) == EXPECTED["metrics"]["cost_usd_delta_sum"]
    assert {point.attributes["session.id"] for point in points} == {EXPECTED["metrics"]["session_id"]}
    records = list(wire.log_records(decoded("v1-logs.json", as_protobuf=as_protobuf)))
    assert len(records) == EXPECTED["logs"]["records"]
    assert [record.name for record in records].count("api_request") == EXPECTED["logs"]["api_requests"]
    spans = list(wire.spans(decoded("v1-traces.json", as_protobuf=as_protobuf)))
    assert len(spans) == EXPECTED["traces"]["spans"]
    assert [span.name for span in spans if not span.parent_id] == [EXPECTED["traces"]["root"]]
    assert {len(span.trace_id) for span in spans} == {32}


def everything() -> dict[str, Any]:
    return {
        "sessions": list(
            Session.objects.order_by("id").values_list(
                *("id", "turn_count", "call_count", "failed_count", "compaction_count", "event_count"),
                *("iteration_count", "input_tokens", "output_tokens", "cache_read_tokens", "cost_micro"),
            )
        ),
        "turns": Turn.objects.count(),
        "calls": list(ToolCall.objects.order_by("call_id").values_list("call_id", "state", "duration_us")),
        "iterations": list(Iteration.objects.order_by("at_us").values_list("request_id", "cost_micro")),
        "code": list(CodeCount.objects.values_list("starts", "commits", "lines_added", "lines_removed")),
        "events": Event.objects.count(),
    }


def test_sent_again_in_the_other_encoding_nothing_changes(exporter: Exporter) -> None:
    for name in SAMPLES:
        answer = exporter.send(sample(name))
        assert (answer.status_code, answer.content) == (200, b"{}")
    first = everything()
    for name in SAMPLES:
        answer = exporter.send(sample(name), as_protobuf=True, zipped=True)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer["Content-Type"] == "application/x-protobuf"
    assert everything() == first
    counted = HookBucket.objects.filter(client="claude-code telemetry", event="api_request")
    assert list(counted.values_list("accepted", "duplicate")) == [(1, 1)]
    claude = Session.objects.get(id=EXPECTED["metrics"]["session_id"])
    assert claude.client == "claude-code"
    assert claude.iteration_count == EXPECTED["logs"]["api_requests"]
    assert (claude.cost_micro, claude.compaction_count, claude.title) == (
        189_200,
        1,
        "",
    )  # the prompt is redacted
    assert first["code"] == [(1, 0, 7, 0)]


def test_genai_spans_of_any_tool_become_sessions(exporter: Exporter) -> None:
    exporter.send(sample("v1-traces-genai-semconv.json"))
    wanted = EXPECTED["genai"]
    planner = Session.objects.get(id="conv-1")
    assert (planner.client, planner.agent_name, planner.title) == ("some-agent", "planner", "planner")
    assert planner.input_tokens + planner.cache_read_tokens == wanted["input_tokens_total"]
    assert planner.cache_read_tokens == wanted["of_which_cache_read"]
    assert planner.output_tokens == wanted["output_tokens"]
    assert planner.cost_micro == 300 * 2.5 + 900 * 0.25 + 80 * 15
    call = ToolCall.objects.get()
    assert call.session.id == "6683fc7a45f1c7cd7a1d467dba5ba0b4"
    assert (call.call_id, call.name, call.state, call.error, call.duration_us) == (
        *("call_1", "lookup", "failed", "timeout"),
        1_000_000,
    )
    assert Session.objects.filter(failed_count=1).count() == wanted["failed_tools"]


def test_the_telemetry_of_a_real_run(exporter: Exporter) -> None:
    """Its logs and traces alone: all is there, each thing once, the subagent's with the subagent."""
    for path in REAL:
        assert exporter.send(json.loads(path.read_text())).status_code == 200
    main = Session.objects.get(parent=None)
    child = Session.objects.get(parent=main)
    assert (main.title, main.turn_count, main.call_count, main.failed_count) == (
        *("Write a calculator module that adds integers", 1, 6, 2),
    )
    assert (child.agent_id, child.call_count, child.failed_count) == ("aab213d8bc2217f57", 2, 1)
    assert (main.iteration_count, child.iteration_count) == (10, 3)
    # As the client's own metrics have it: 0.01405 + 0.020075 + 0.0097875 + 0.020075 + 0.0106875 dollars.
    assert (main.cost_micro or 0) + (child.cost_micro or 0) == pytest.approx(74_675, abs=7)
    outside = Iteration.objects.get(run=None)
    assert (outside.purpose, outside.cost_micro) == ("generate_session_title", 14_050)
    assert Iteration.objects.filter(session=child, run__turn__session=child).count() == 3
    assert ToolCall.objects.filter(session=child, run__turn__session=child).count() == 2


def test_what_says_nothing_is_counted_and_not_stored(exporter: Exporter) -> None:
    exporter.send(json.loads(REAL[0].read_text()))
    names = set(Event.objects.values_list("name", flat=True))
    assert names == {"api_request", "assistant_response", "user_prompt"}
    counted = dict(HookBucket.objects.filter(client="claude-code telemetry").values_list("event", "accepted"))
    assert counted["hook_registered"] == 9
    assert sum(counted.values()) == 14


def test_who_a_person_is_is_not_kept(exporter: Exporter) -> None:
    body = sample("v1-logs.json")
    for record in body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
        record["attributes"].append({"key": "user.email", "value": {"stringValue": "mia@example.com"}})
    exporter.send(body)
    assert Event.objects.exists()
    kept = [str(payload_of(event)) for event in Event.objects.all()]
    assert not any("mia@" in text or "organization.id" in text for text in kept)
