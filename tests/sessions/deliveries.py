"""Hook deliveries for tests: bodies from tests/data, sent straight into the store."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contextdash.clock import now_us, parse_us
from contextdash.writer import writer
from sessions_app.ingest.observation import Delivery, Observation, Outcome
from sessions_app.ingest.observing import observe
from sessions_app.ingest.store import store

DATA = Path(__file__).parent.parent / "data" / "hooks"
SAMPLES = sorted((DATA / "claude").glob("*.json"))
REAL = sorted((DATA / "real" / "claude-code").glob("*.json"))
T0 = 1_790_000_000_000_000
SECOND = 1_000_000


def stream() -> list[tuple[int, dict[str, Any]]]:
    """(received µs, body) of the 39 deliveries."""
    lines = (DATA / "streams" / "claude-stream.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [(parse_us(row["received_at"]) or 0, row["body"]) for row in rows]


def stream_result() -> dict[str, Any]:
    result: dict[str, Any] = json.loads((DATA / "streams" / "claude-stream.expected.json").read_text())
    return result


def seen(
    body: dict[str, Any] | bytes,
    at_us: int | None = None,
    client: str = "claude-code",
    event: str = "",
    **facts: Any,
) -> Observation:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    delivery = Delivery(received_us=now_us() if at_us is None else at_us, **facts)
    return observe(raw, client=client, event=event, delivery=delivery)


def deliver(*observations: Observation) -> Sequence[Outcome]:
    return writer.submit(store, observations)


def body(event: str, session_id: str = "s1", **fields: Any) -> dict[str, Any]:
    return {"session_id": session_id, "hook_event_name": event, "cwd": "/src/moss", **fields}


def tool(event: str, call_id: str, name: str = "Bash", **fields: Any) -> dict[str, Any]:
    fields.setdefault("tool_input", {"command": f"run {call_id}"})
    if event == "PostToolUse":
        fields.setdefault("tool_response", {"stdout": "ok"})
    return body(event, tool_name=name, tool_use_id=call_id, **fields)
