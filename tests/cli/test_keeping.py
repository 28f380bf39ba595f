"""Backup and restore beside a real server, export and purge from the shell, services of the system."""

import json
import os
import plistlib
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
from django.conf import settings

from contextdash.cli import units
from tests.cli.test_serve import CODE, Server

pytestmark = pytest.mark.sqlite


class Shell:
    """``contextdash`` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "CONTEXTDASH_DATA": str(self.data),
        }

    def __call__(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-c", CODE, *words],
            cwd=settings.BASE_DIR,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def token(self, scope: str = "ingest") -> str:
        return self("token", "create", "--name", "test", "--scope", scope).stdout.split()[-1]

    def sql(self, query: str, file: Path | None = None) -> list[tuple]:
        database = sqlite3.connect(file or self.data / "contextdash.sqlite3", isolation_level=None)
        try:
            return database.execute(query).fetchall()
        finally:
            database.close()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    made = Shell(tmp_path)
    made("migrate")
    return made


def post(port: int, token: str, number: int) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    body = {"hook_event_name": "UserPromptSubmit", "session_id": f"s{number % 5}", "prompt": f"p{number}"}
    try:
        connection.request(
            "POST",
            "/api/v1/hooks/claude-code",
            json.dumps({**body, "prompt_id": f"id{number}"}),
            {"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
        )
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_backup_while_a_server_writes_is_put_back_when_the_server_is_stopped(shell, tmp_path):
    token = shell.token()
    server = Server(tmp_path).wait()
    copy = tmp_path / "copy.sqlite3"
    try:
        for number in range(20):
            assert post(server.port, token, number) == 204
        writing = threading.Event()
        accepted: list[int] = []

        def write() -> None:
            number = 100
            while not writing.is_set():
                if post(server.port, token, number) == 204:
                    accepted.append(number)
                number += 1

        thread = threading.Thread(target=write)
        thread.start()
        told = shell("backup", str(copy)).stdout
        writing.set()
        thread.join()
        assert "checked" in told
        assert accepted
        assert "Stop it" in shell("restore", str(copy), code=1).stderr
        assert server.get("/health/ready")[0] == 204
    finally:
        assert server.stop() == 0
    held = shell.sql("SELECT count(*) FROM events", copy)[0][0]
    assert 20 <= held <= 20 + len(accepted)
    assert shell.sql("PRAGMA integrity_check", copy) == [("ok",)]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600

    now = shell.sql("SELECT count(*) FROM events")[0][0]
    assert now == 20 + len(accepted)
    told = shell("restore", str(copy)).stdout
    assert f"{held:,} events" in told
    assert shell.sql("SELECT count(*) FROM events")[0][0] == held
    former = list(shell.data.glob("contextdash.sqlite3.before-*"))
    assert len(former) == 1
    assert shell.sql("SELECT count(*) FROM events", former[0])[0][0] == now
    assert not list(shell.data.glob(".*.part*"))
    assert copy.exists()

    again = Server(tmp_path).wait()
    try:
        assert "migrate" not in again.output.read_text()
        assert post(again.port, token, 999) == 204
    finally:
        assert again.stop() == 0


def test_a_killed_server_does_not_hold_the_database(shell, tmp_path):
    copy = tmp_path / "copy.sqlite3"
    server = Server(tmp_path).wait()
    shell("backup", str(copy))
    server.stop(9)
    until = time.monotonic() + 30  # its worker notices within a second or so, and until then it serves
    while True:
        try:
            shell("restore", str(copy))
        except AssertionError:
            assert time.monotonic() < until
            time.sleep(0.5)
        else:
            break


def test_a_copy_of_an_older_version_is_migrated(shell, tmp_path):
    copy = tmp_path / "old.sqlite3"
    shell("backup", str(copy))
    # As it was before the framework's newest migration, and with another version's mark.
    shell.sql("DELETE FROM django_migrations WHERE app = 'admin' AND name LIKE '0003%'", copy)
    shell.sql("PRAGMA user_version = 1", copy)
    shell("restore", str(copy))
    applied = shell.sql("SELECT count(*) FROM django_migrations WHERE app = 'admin' AND name LIKE '0003%'")
    assert applied == [(1,)]
    assert shell.sql("PRAGMA user_version") != [(1,)]


def test_what_is_newer_damaged_or_no_database_of_ours_changes_nothing(shell, tmp_path):
    token = shell.token()
    newer, damaged, other, text = (tmp_path / name for name in ("newer", "damaged", "other", "text"))
    shell("backup", str(newer))
    shell.sql(
        "INSERT INTO django_migrations (app, name, applied) VALUES ('sessions_app', '9999_x', '')", newer
    )
    shell("backup", str(damaged))
    raw = bytearray(damaged.read_bytes())
    raw[len(raw) // 3 : 2 * len(raw) // 3] = b"\xff" * (len(raw) // 3)
    damaged.write_bytes(raw)
    shell.sql("CREATE TABLE notes (id)", other)
    text.write_text("hello")
    before = (shell.data / "contextdash.sqlite3").read_bytes()
    for file, says in (
        (newer, "newer version"),
        (damaged, "damaged|cannot be read"),
        (other, "no database of contextdash"),
        (text, "cannot be read as a database"),
        (tmp_path / "nowhere", "no file"),
    ):
        told = shell("restore", str(file), code=1).stderr
        assert any(part in told for part in says.split("|")), told
    assert (shell.data / "contextdash.sqlite3").read_bytes() == before
    assert not list(shell.data.glob("*before*"))
    assert token


def test_an_existing_file_is_never_written_over(shell, tmp_path):
    copy = tmp_path / "copy"
    copy.write_text("older")
    assert "exists already" in shell("backup", str(copy), code=1).stderr
    assert copy.read_text() == "older"


def test_restore_needs_no_database_to_be_there(shell, tmp_path):
    copy = tmp_path / "copy"
    shell("backup", str(copy))
    for file in shell.data.glob("contextdash.sqlite3*"):
        file.unlink()
    told = shell("restore", str(copy)).stdout
    assert "kept as" not in told
    shell("user", "list")


def test_a_session_is_written_out_and_erased_from_the_shell(shell, tmp_path):
    server = Server(tmp_path).wait()
    try:
        post(server.port, shell.token(), 1)
        out = tmp_path / "s.json"
        shell("session-export", "s1", "--format", "json", "--output", str(out))
        assert json.loads(out.read_text())["sessions"][0]["turns"][0]["prompt"] == "p1"
        assert stat.S_IMODE(out.stat().st_mode) == 0o600
        assert shell("session-export", "latest").stdout.startswith("# p1")
        assert shell("session-export", "s1", "--output", str(out), code=1).stderr
        assert "--reason" in shell("purge", "s1", code=2).stderr
        assert "Erased for good: 1 event of s1." in shell("purge", "s1", "--reason", "asked").stdout
        assert shell.sql("SELECT reason, events_deleted FROM purges") == [("asked", 1)]
        assert "no session" in shell("purge", "s", "--reason", "asked", code=1).stderr
    finally:
        server.stop()


def test_a_purge_that_was_killed_is_finished_by_the_next_start(shell, tmp_path):
    token = shell.token()
    server = Server(tmp_path).wait()
    try:
        for number in range(10):
            post(server.port, token, number)
    finally:
        server.stop()
    # What a process leaves that was killed in the middle of erasing: a door that stands open.
    shell.sql(
        "INSERT INTO purges (session_key, reason, events_deleted, bytes_deleted, started_at)"
        " SELECT key, 'asked', 0, 0, '2999-01-01 00:00:00' FROM sessions WHERE id = 's1'"
    )
    again = Server(tmp_path).wait()
    try:
        until = time.monotonic() + 30
        while shell.sql("SELECT count(*) FROM purges WHERE finished_at IS NULL") != [(0,)]:
            assert time.monotonic() < until
            time.sleep(0.2)
        assert shell.sql("SELECT events_deleted FROM purges") == [(2,)]
        assert shell.sql("SELECT count(*) FROM events") == [(8,)]
    finally:
        assert again.stop() == 0


# Services


@pytest.fixture
def variables(monkeypatch, tmp_path):
    monkeypatch.setenv("CONTEXTDASH_DATA", str(tmp_path / "a 100% folder"))
    monkeypatch.setenv("PORT", "8799")
    monkeypatch.setenv("CONTEXTDASH_TOKEN", "cdt_secret")
    monkeypatch.setenv("CONTEXTDASH_SECRET_KEY", "secret")
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:secret@db/x")


def test_the_unit_for_systemd_is_of_this_installation_and_holds_no_secret(variables, tmp_path):
    text = units.unit("systemd")
    assert "secret@" not in text
    assert "cdt_secret" not in text
    assert "=secret" not in text
    assert 'Environment="PORT=8799"' in text
    assert f'Environment="CONTEXTDASH_DATA={tmp_path}/a 100%% folder"' in text
    assert "# DATABASE_URL is not printed" in text
    start = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    assert start.endswith('"serve"')
    assert f"WorkingDirectory={settings.BASE_DIR}" in text


def test_the_service_for_launchd_can_be_read(variables, tmp_path):
    made = plistlib.loads(units.unit("launchd").encode())
    assert made["ProgramArguments"][-1] == "serve"
    assert made["EnvironmentVariables"]["CONTEXTDASH_DATA"] == f"{tmp_path}/a 100% folder"
    assert "secret" not in str(made)


def test_serve_prints_it_and_ends(shell):
    assert shell("serve", "--print-unit", "systemd").stdout.startswith("# Save as")
