"""What telemetry costs: requests of 500 log records in protobuf, as a busy team's agents would send them."""

from collections.abc import Iterator

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.benchmarks.load import closed_loop
from tests.benchmarks.server import running
from tests.benchmarks.writes import Row, folder

BEGAN_NS = 1_780_000_000 * 10**9
SIZE = 500


def telemetry(count: int) -> list[Row]:
    with folder() as path, running(path) as server:
        bodies = list(_bodies(count))
        result = closed_loop(
            bodies, server.connect, path="/otlp/v1/logs", content_type="application/x-protobuf", connections=2
        )
        memory = server.memory_bytes()
    bad = len(bodies) - result.good
    return [
        (
            f"telemetry, requests of {SIZE} records",
            f"{result.per_second * SIZE:,.0f} records/s" + (f" ({bad} not accepted)" if bad else ""),
            "≥ 1,500",
        ),
        ("telemetry: memory of all processes", f"{memory / 1e6:.0f} MB", "≤ 200 MB"),
    ]


def _bodies(count: int) -> Iterator[bytes]:
    """Of ten sessions; one record in two tells of a model call, the others of a tool call."""
    for start in range(0, count, SIZE):
        request = ExportLogsServiceRequest()
        group = request.resource_logs.add()
        group.resource.attributes.add(key="service.name").value.string_value = "claude-code"
        scope = group.scope_logs.add()
        for number in range(start, start + SIZE):
            record = scope.log_records.add(time_unix_nano=BEGAN_NS + number * 10**6)
            told = _model_call(number) if number % 2 else _tool_call(number)
            record.body.string_value = f"claude_code.{told['event.name']}"
            for key, value in told.items():
                record.attributes.add(key=key).value.string_value = value
        yield request.SerializeToString()


def _model_call(number: int) -> dict[str, str]:
    return {
        **_common(number, "api_request"),
        "model": "claude-opus-4-8",
        "request_id": f"req_{number}",
        "input_tokens": "100",
        "output_tokens": "42",
        "cache_read_tokens": "15000",
        "cost_usd_micros": "14050",
        "duration_ms": "3200",
        "query_source": "sdk",
    }


def _tool_call(number: int) -> dict[str, str]:
    return {
        **_common(number, "tool_result"),
        "tool_name": "Bash",
        "tool_use_id": f"toolu_{number}",
        "tool_input": '{"command": "pytest -q tests/test_calculator.py", "description": "Run the tests"}',
        "success": "true",
        "duration_ms": "130",
        "tool_result_size_bytes": "4096",
    }


def _common(number: int, name: str) -> dict[str, str]:
    return {
        "session.id": f"bench-{number // 2 % 10}",
        "prompt.id": f"prompt-{number // 2000}",
        "event.name": name,
        "event.sequence": str(number),
        "terminal.type": "kitty",
    }
