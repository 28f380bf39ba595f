"""A large database in a minute: one session, made by real deliveries, copied with SQL as often as asked."""

import json
import sqlite3
from pathlib import Path

from tests.benchmarks.events import deliveries
from tests.benchmarks.load import closed_loop
from tests.benchmarks.server import make_token, running_bare

EVENTS_PER_SESSION = 100
BIG_SESSION = "bench-010-0000"
BIG_SESSION_EVENTS = 10_000

KEYS = {
    "session_states": {"session_id": "sessions"},
    "turns": {"session_id": "sessions", "state_id": "session_states"},
    "runs": {"session_id": "sessions", "turn_id": "turns"},
    "events": {"session_id": "sessions", "run_id": "runs"},
    "tool_calls": {
        "session_id": "sessions",
        "run_id": "runs",
        "call_event_id": "events",
        "result_event_id": "events",
    },
    "session_events": {"session_id": "sessions", "event_id": "events"},
}
"""The tables that a session fills, in order, and where their columns point."""

FRESH = {
    "sessions": {
        "id": "printf('seed-%06d', n)",
        "title": "printf('Session %d of many', n)",
        # A minute apart, the first copy the newest.
        "last_us": "t.last_us - n * 60000000",
        "started_us": "t.started_us - n * 60000000",
        "activity": "'idle'",
    },
    "runs": {"invocation_id": "lower(hex(randomblob(16)))", "status": "'completed'"},
    "events": {"identity": "randomblob(16)"},
    "tool_calls": {"call_id": "printf('toolu_%d_%s', n, t.call_id)"},
}


def seed(folder: Path, sessions: int) -> str:
    """Fill a fresh database; a token for it. About 100 events a session, and one session of 10,000."""
    token = make_token(folder)
    with running_bare(folder, token) as server:
        bodies = []
        for body in deliveries(EVENTS_PER_SESSION // 2, seed=9, sessions=1):
            before = {**body, "hook_event_name": "PreToolUse"}
            bodies += [before, body]
        for lines in (bodies, list(deliveries(BIG_SESSION_EVENTS, seed=10, sessions=1))):
            jobs = [_batch(lines[place : place + 500]) for place in range(0, len(lines), 500)]
            result = closed_loop(
                jobs,
                server.connect,
                path="/api/v1/ingest",
                connections=1,
                content_type="application/x-ndjson",
            )
            if set(result.statuses) != {200}:
                raise RuntimeError(f"seeding failed: {result.statuses}")
    _copy(server.database, sessions)
    return token


def _batch(bodies: list[dict[str, object]]) -> bytes:
    lines = ({"type": "hook", "client": "claude-code", "body": body} for body in bodies)
    return "\n".join(json.dumps(line) for line in lines).encode()


def _copy(database: Path, sessions: int) -> None:
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -200000")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY)")
    connection.executemany("INSERT INTO numbers VALUES (?)", ((n,) for n in range(sessions)))
    source = connection.execute("SELECT key FROM sessions WHERE id = 'bench-009-0000'").fetchone()[0]
    # table → (its smallest key of the source, rows of the source, first new key)
    spans = {"sessions": (source, 1, _next_key(connection, "sessions"))}
    _insert(connection, "sessions", {}, spans, f"t.key = {source}")
    for table, points in KEYS.items():
        low, high = connection.execute(
            f"SELECT min(key), max(key) FROM {table} WHERE session_id = {source}"
        ).fetchone()
        if low is not None:
            spans[table] = (low, high - low + 1, _next_key(connection, table))
            _insert(connection, table, points, spans, f"t.session_id = {source}")
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _insert(
    connection: sqlite3.Connection,
    table: str,
    points: dict[str, str],
    spans: dict[str, tuple[int, int, int]],
    where: str,
) -> None:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    values = []
    for column in columns:
        target = table if column == "key" else points.get(column)
        if target is not None:
            low, width, first = spans[target]
            values.append(f"{first} + n * {width} + t.{column} - {low}")
        else:
            values.append(FRESH.get(table, {}).get(column, f"t.{column}"))
    names = ", ".join(f'"{column}"' for column in columns)
    connection.execute(
        f"INSERT INTO {table} ({names}) SELECT {', '.join(values)} FROM numbers, {table} t WHERE {where}"
    )


def _next_key(connection: sqlite3.Connection, table: str) -> int:
    key: int = connection.execute(f"SELECT max(key) + 1 FROM {table}").fetchone()[0]
    return key
