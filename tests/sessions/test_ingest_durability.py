"""A real server process on a real file: what was answered is stored, whatever happens to it."""

import shutil
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.benchmarks import events
from tests.benchmarks.load import closed_loop
from tests.benchmarks.server import Server, make_token, running_bare

pytestmark = pytest.mark.sqlite

HOOKS = "/api/v1/hooks/claude-code"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A migrated database and a token; making it takes longer than most of these tests."""
    folder = tmp_path_factory.mktemp("prepared")
    token = make_token(folder)
    connection = sqlite3.connect(folder / "contextdash.sqlite3")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return folder / "contextdash.sqlite3", token


@pytest.fixture
def token(prepared: tuple[Path, str], tmp_path: Path) -> str:
    shutil.copy(prepared[0], tmp_path)
    return prepared[1]


@pytest.fixture
def server(tmp_path: Path, token: str) -> Iterator[Server]:
    with running_bare(tmp_path, token) as started:
        yield started


def stored(server: Server, sql: str) -> list[tuple[int, ...]]:
    connection = sqlite3.connect(server.database)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def count(server: Server) -> int:
    return stored(server, "SELECT count(*) FROM events")[0][0]


def test_kill_9_under_load_loses_nothing_that_was_answered(tmp_path: Path, token: str) -> None:
    answered: Counter[int] = Counter()
    with running_bare(tmp_path, token) as server:

        def work(part: int) -> None:
            with server.connect() as connection, suppress(OSError):
                for body in events.bodies(1000, seed=part, sessions=5):
                    answered[connection.post(HOOKS, body)] += 1

        threads = [threading.Thread(target=work, args=(part,)) for part in range(8)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 20
        while answered[204] < 300 and time.monotonic() < end:
            time.sleep(0.01)
        server.kill()
        for thread in threads:
            thread.join()
        acknowledged = answered[204]
        assert acknowledged >= 300
        assert set(answered) == {204}
        # At most one more for each connection: stored, and killed before the answer.
        assert acknowledged <= count(server) <= acknowledged + 8
        assert stored(server, "PRAGMA integrity_check") == [("ok",)]
        # No batch is half stored: counters, calls and events agree.
        assert stored(server, "SELECT sum(event_count), sum(call_count) FROM sessions") == [
            (count(server), count(server))
        ]
        assert stored(server, "SELECT count(*) FROM tool_calls WHERE result_event_id IS NULL") == [(0,)]
    with running_bare(tmp_path, token) as again:
        assert again.post(HOOKS, events.bodies(1, seed=99)[0]) == 204


def test_a_lock_of_three_seconds_makes_posts_late_and_loses_none(server: Server) -> None:
    lock = sqlite3.connect(server.database, isolation_level=None, check_same_thread=False)
    lock.execute("BEGIN IMMEDIATE")
    release = threading.Timer(3, lock.execute, ["ROLLBACK"])
    release.start()
    started = time.monotonic()
    result = closed_loop(events.bodies(20), server.connect, path=HOOKS, connections=4)
    release.join()
    lock.close()
    assert time.monotonic() - started >= 2.5
    assert result.statuses == {204: 20}
    assert count(server) == 20


def test_a_long_lock_is_503_and_a_retry_stores_each_once(server: Server) -> None:
    bodies = events.bodies(8)
    lock = sqlite3.connect(server.database, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    result = closed_loop(bodies, server.connect, path=HOOKS, connections=8)
    assert result.statuses == {503: 8}
    lock.execute("ROLLBACK")
    lock.close()
    assert count(server) == 0
    end = time.monotonic() + 10
    while server.post(HOOKS, bodies[0]) != 204 and time.monotonic() < end:
        time.sleep(0.2)
    assert closed_loop(bodies, server.connect, path=HOOKS, connections=8).statuses == {204: 8}
    assert count(server) == 8


def test_the_log_stays_small_beside_readers_and_small_again_after(server: Server) -> None:
    reading, highest = threading.Event(), 0
    reading.set()

    def read() -> None:
        # Like a page that is looked at all the time: many short reads, none kept open.
        connection = sqlite3.connect(server.database)
        while reading.is_set():
            connection.execute("SELECT count(*) FROM sessions").fetchall()
        connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    for part in range(6):
        jobs = events.batches(1000, 100, seed=part)
        closed_loop(
            jobs, server.connect, path="/api/v1/ingest", connections=2, content_type="application/x-ndjson"
        )
        highest = max(highest, server.wal_bytes)
    reading.clear()
    reader.join()
    assert count(server) == 6000
    assert highest < 40_000_000


def test_a_body_that_stops_half_way_stores_nothing_and_harms_nobody(server: Server) -> None:
    body = events.bodies(1)[0]
    head = (
        f"POST {HOOKS} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    for _ in range(20):  # more than there are threads
        half = socket.create_connection(("127.0.0.1", server.port))
        half.sendall(head.encode() + body[: len(body) // 2])
        half.close()
    assert server.post(HOOKS, body) == 204
    assert count(server) == 1


def test_a_chunked_body_is_taken(server: Server) -> None:
    body = events.bodies(1)[0]
    head = (
        f"POST {HOOKS} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        assert connection.recv(1000).startswith(b"HTTP/1.1 204")
    assert count(server) == 1


def test_a_stopped_server_has_stored_what_it_answered(tmp_path: Path, token: str) -> None:
    with running_bare(tmp_path, token) as server:
        result = closed_loop(events.bodies(100), server.connect, path=HOOKS, connections=8)
        server.process.terminate()
        server.process.wait(15)
        assert result.statuses == {204: 100}
        assert count(server) == 100
