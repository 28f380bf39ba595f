"""The log is moved into the database apart from the writer, and stays small also beside a reader."""

import sqlite3
import time
from pathlib import Path

import pytest

from contextdash import checkpoint
from contextdash.checkpoint import Checkpointer


def database(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE t (x)")
    return connection


def checkpointed(path: Path) -> bool:
    """Whether what was written is in the database file itself."""
    return path.read_bytes().count(b"written") > 0


def test_a_thread_moves_the_log_into_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "INTERVAL_SECONDS", 0.02)
    path = tmp_path / "a.sqlite3"
    connection = database(path)
    checkpointer = Checkpointer(path)
    checkpointer.start()
    connection.execute("INSERT INTO t VALUES ('written')")
    end = time.monotonic() + 5
    while not checkpointed(path) and time.monotonic() < end:
        time.sleep(0.02)
    assert checkpointed(path)
    checkpointer.stop()
    connection.close()


def test_a_reader_puts_a_checkpoint_off_and_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "INTERVAL_SECONDS", 0.02)
    path = tmp_path / "a.sqlite3"
    connection, reader = database(path), sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM t").fetchall()
    checkpointer = Checkpointer(path)
    checkpointer.start()
    started = time.monotonic()
    for _ in range(200):
        connection.execute("INSERT INTO t VALUES ('written')")
    assert time.monotonic() - started < 3
    reader.execute("COMMIT")
    end = time.monotonic() + 5
    while not checkpointed(path) and time.monotonic() < end:
        time.sleep(0.02)
    assert checkpointed(path)
    checkpointer.stop()
    for one in (connection, reader):
        one.close()


def test_without_a_log_there_is_nothing_to_hold_back(tmp_path: Path) -> None:
    Checkpointer(tmp_path / "none.sqlite3").hold_back()
