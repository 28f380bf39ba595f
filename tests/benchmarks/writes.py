"""What deliveries cost: one by one and in batches, and what they leave behind."""

import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks import events
from tests.benchmarks.load import Result, closed_loop, open_loop
from tests.benchmarks.server import Server, running, running_noop

HOOKS = "/api/v1/hooks/claude-code"
INGEST = "/api/v1/ingest"
CONNECTIONS = 8

type Row = tuple[str, str, str]
"""What, measured, wanted."""


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="contextdash-bench-") as path:
        yield Path(path)


def noop(server: str, count: int) -> Row:
    with folder() as path, running_noop(path, server) as started:
        result = closed_loop(events.bodies(count), started.connect, path=HOOKS, connections=CONNECTIONS)
    return (f"no-op application, {server}, saturated", _rate(result), "")


def steady(seconds: int) -> list[Row]:
    """200 posts a second, as they come, from 8 connections."""
    with folder() as path, running(path) as server:
        closed_loop(events.bodies(400, seed=1), server.connect, path=HOOKS, connections=CONNECTIONS)
        jobs = events.bodies(200 * seconds)
        result = open_loop(jobs, server.connect, path=HOOKS, connections=CONNECTIONS, rate=200)
    return [
        ("200 posts/s: p50", f"{result.ms(50):.1f} ms", ""),
        ("200 posts/s: p95", f"{result.ms(95):.1f} ms", "≤ 20 ms"),
        ("200 posts/s: slowest", f"{result.ms(100):.0f} ms", "≤ 250 ms"),
        ("200 posts/s: not accepted", str(len(jobs) - result.good), "0"),
    ]


def saturated(count: int, *options: str, wanted: str) -> list[Row]:
    """As many posts as 8 connections get answered; then what they left in memory and on disk."""
    label = "granian" if options else "gunicorn"
    with folder() as path, running(path, *options) as server:
        before = server.database.stat().st_size
        with _watching_the_log(server) as highest:
            result = closed_loop(events.bodies(count), server.connect, path=HOOKS, connections=CONNECTIONS)
        memory = server.memory_bytes()
        grown = _settled_size(server) - before
        return [
            (f"posts, {label}, saturated", _rate(result), wanted),
            (f"posts, {label}: p95", f"{result.ms(95):.1f} ms", ""),
            (f"{label}: memory of all processes", f"{memory / 1e6:.0f} MB", "≤ 200 MB"),
            (f"{label}: log while loaded", f"{highest[0] / 1e6:.1f} MB", "≤ 40 MB"),
            (f"{label}: disk per 10,000 events", f"{grown / result.good * 1e4 / 1e6:.1f} MB", "≤ 13 MB"),
        ]


def batched(count: int) -> list[Row]:
    with folder() as path, running(path) as server:
        jobs = events.batches(count, 100)
        result = closed_loop(
            jobs, server.connect, path=INGEST, connections=4, content_type="application/x-ndjson"
        )
        memory = server.memory_bytes()
    return [
        ("batches of 100, 4 connections", f"{result.per_second * 100:,.0f} events/s", "≥ 5,000"),
        ("batches: memory of all processes", f"{memory / 1e6:.0f} MB", "≤ 200 MB"),
    ]


def raw_sqlite(count: int) -> Row:
    """The physical limit: the same bytes into one plain table, 100 rows a transaction."""
    rows = [(body[:16], body) for body in events.bodies(count)]
    with folder() as path:
        connection = sqlite3.connect(path / "raw.sqlite3", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("CREATE TABLE events (key INTEGER PRIMARY KEY, identity BLOB, payload BLOB)")
        start = time.perf_counter()
        for place in range(0, count, 100):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO events (identity, payload) VALUES (?, ?)", rows[place : place + 100]
            )
            connection.execute("COMMIT")
        took = time.perf_counter() - start
        connection.close()
    return ("raw SQLite, one table, 100 a transaction", f"{count / took:,.0f} events/s", "")


def _rate(result: Result) -> str:
    bad = len(result.latencies) - result.good
    return f"{result.per_second:,.0f}/s" + (f" ({bad} not accepted)" if bad else "")


@contextmanager
def _watching_the_log(server: Server) -> Iterator[list[int]]:
    """The write-ahead log's greatest size, looked at every 50 ms."""
    highest, stop = [0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.05):
            highest[0] = max(highest[0], server.wal_bytes)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield highest
    finally:
        stop.set()
        thread.join()


def _settled_size(server: Server) -> int:
    connection = sqlite3.connect(server.database)
    connection.execute("PRAGMA wal_checkpoint(FULL)")
    connection.close()
    return server.database.stat().st_size
