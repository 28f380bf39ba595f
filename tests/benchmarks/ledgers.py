"""What appends to a ledger cost: batches of 100 events, as one writer's agents send them."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.events import text
from tests.benchmarks.load import Connection, closed_loop
from tests.benchmarks.server import Server, family, running
from tests.benchmarks.writes import Row, folder


def appends(count: int, size: int = 100) -> list[Row]:
    with folder() as path, running(path) as server:
        with server.connect() as connection:
            run = _opened(connection)
        bodies = list(_bodies(run, count, size))
        before = _cpu_seconds(server)
        result = closed_loop(bodies, server.connect, path=f"/api/v1/runs/{run['id']}/events", connections=4)
        spent = (_cpu_seconds(server) - before) / (result.good * size) * 1e6
        memory = server.memory_bytes()
    bad = len(bodies) - result.good
    return [
        (
            f"ledger appends of {size}, 4 connections",
            f"{result.per_second * size:,.0f} events/s" + (f" ({bad} not accepted)" if bad else ""),
            "≥ 5,000",
        ),
        ("ledger appends: the server's own time", f"{spent:.0f} µs an event", "≤ 200 µs"),
        ("ledger appends: memory of all processes", f"{memory / 1e6:.0f} MB", "≤ 200 MB"),
    ]


def _opened(connection: Connection) -> dict[str, Any]:
    turn = json.loads(connection.call("/api/v1/sessions/bench/turns", b'{"turn_id": "turn-1"}').body)
    path = f"/api/v1/turns/{turn['id']}/runs"
    run: dict[str, Any] = json.loads(connection.call(path, b'{"run_id": "r", "invocation_id": "i"}').body)
    return run


def _bodies(run: dict[str, Any], count: int, size: int) -> Iterator[bytes]:
    rng = random.Random(7)  # noqa: S311 - sameness is the point
    events = [event for step in range(count // 4) for event in _step(run, step, rng)]
    for start in range(0, count, size):
        yield json.dumps({"events": events[start : start + size]}, separators=(",", ":")).encode()


def _step(run: dict[str, Any], number: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Thinking, text, a call and its response: 0.7 KB an event, a fifth of it names."""
    call = f"call_{number:07d}"
    command = {"command": text(rng, 20), "timeout_ms": 120_000}
    output = {"kind": "terminal", "exitCode": 0, "output": {"stdout": text(rng, 60), "stderr": ""}}
    told: list[tuple[str, str, dict[str, Any]]] = [
        ("model", "agent", {"kind": "thinking", "text": text(rng, 40)}),
        ("model", "agent", {"kind": "text", "text": text(rng, 30)}),
        ("model", "agent", {"kind": "function_call", "id": call, "name": "Bash", "args": command}),
        ("tool", "tool", {"kind": "function_response", "id": call, "name": "Bash", "result": output}),
    ]
    for place, (role, author, content) in enumerate(told):
        yield {
            "id": f"event-{number:07d}-{place}",
            "invocationId": run["invocation_id"],
            "runId": run["run_id"],
            "sessionId": "bench",
            "turnId": "turn-1",
            "ts": 1_780_000_000_000 + number * 4000 + place * 1000,
            "partial": False,
            "role": role,
            "author": author,
            "content": content,
        }


def _cpu_seconds(server: Server) -> float:
    """Processor time of the server and all its children so far."""
    ticks = 0
    for pid in family(server.process.pid):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
