"""``contextdash serve`` as people run it: a real process, twice, stopped and started again."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from contextdash.cli import serve

START_SECONDS = 120
"""Of the first start in a fresh checkout, which collects and compresses the static files."""
CODE = "import sys; from contextdash.cli import main; sys.exit(main(sys.argv[1:]))"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.port = free_port()
        self.output = folder / "output"
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        kept |= {"CONTEXTDASH_DATA": str(folder / "data"), "PORT": str(self.port), **environment}
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", CODE, "serve", *arguments],
                cwd=settings.BASE_DIR,
                env=kept,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def get(self, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        finally:
            connection.close()

    def wait(self) -> "Server":
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if self.get("/health/ready")[0] == 204:
                    return self
            except OSError:
                time.sleep(0.05)
        raise AssertionError(self.output.read_text())

    def stop(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(30)

    @property
    def link(self) -> str | None:
        found = re.search(r"http://\S+(/signin/\S+/)", self.output.read_text())
        return found[1] if found else None


@pytest.mark.sqlite
def test_it_starts_lets_the_first_owner_in_stops_and_starts_again(tmp_path):
    server = Server(tmp_path).wait()
    try:
        assert server.link
        status, _, headers = server.get(server.link)
        assert (status, headers["Location"]) == (302, "/")
        cookie = headers["Set-Cookie"].partition(";")[0]
        assert server.get(server.link)[0] == 403
        page = server.get("/signin/")[1].decode()
        stylesheet = re.search(r'href="(/static/tokens\.[0-9a-f]+\.css)"', page)
        assert stylesheet
        assert server.get(stylesheet[1])[0] == 200
        assert server.get(stylesheet[1], Host="evil.example")[0] == 400
        data = tmp_path / "data"
        assert stat.S_IMODE((data / "contextdash.sqlite3").stat().st_mode) == 0o600
        assert stat.S_IMODE((data / "secret-key").stat().st_mode) == 0o600
        assert (data / "address").read_text() == f"http://127.0.0.1:{server.port}\n"
    finally:
        assert server.stop() == 0

    begun = time.monotonic()
    again = Server(tmp_path)
    again.wait()
    took = time.monotonic() - begun
    try:
        assert "migrate" not in again.output.read_text()
        assert "collectstatic" not in again.output.read_text()
        assert again.get("/profile/", Cookie=cookie)[0] in {200, 302}
        assert took < 15, "3 s on a quiet machine"
    finally:
        assert again.stop(signal.SIGINT) == 0


@pytest.mark.sqlite
def test_it_starts_under_granian(tmp_path):
    pytest.importorskip("granian")
    server = Server(tmp_path, "--granian").wait()
    try:
        assert server.link
        assert server.get(server.link)[0] == 302
    finally:
        server.stop()


# What is not clear stops the start


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"HOST": "::"}, "CONTEXTDASH_HOSTS"),
        ({"PORT": "http"}, "PORT must be a number"),
        ({"PORT": "70000"}, "PORT must be a number"),
        ({"DATABASE_URL": "postgresql:///x", "CONTEXTDASH_DB": "x.sqlite3"}, "two databases"),
        ({"HOST": "203.0.113.1", "CONTEXTDASH_HOSTS": "x"}, "Cannot listen"),
        ({"CONTEXTDASH_DATA": "/proc/nowhere"}, "/proc/nowhere cannot be written"),
    ],
)
def test_unclear_configuration_is_refused(environment, told, monkeypatch):
    for name in ("HOST", "PORT", "DATABASE_URL", "CONTEXTDASH_DB", "CONTEXTDASH_HOSTS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"PORT": str(free_port()), **environment}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=told):
        serve.refuse_unclear_configuration()


def test_a_port_in_use_is_told_at_once(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("PORT", str(taken.getsockname()[1]))
        with pytest.raises(ImproperlyConfigured, match="running already"):
            serve.refuse_unclear_configuration()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONTEXTDASH_DEBUG", "maybe"),
        ("CONTEXTDASH_SQLITE_WAIT", "soon"),
        ("CONTEXTDASH_SYNCHRONOUS", "SOMETIMES"),
    ],
)
def test_a_setting_that_nobody_understands_stops_every_command(name, value, tmp_path):
    environment = {**os.environ, "CONTEXTDASH_DATA": str(tmp_path), name: value}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    done = subprocess.run(
        [sys.executable, "-c", CODE, "migrate"],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert name in done.stderr
    assert "Traceback" not in done.stderr


# The mark of the migrations


@pytest.mark.sqlite
def test_a_restored_older_copy_is_migrated_again(tmp_path, monkeypatch):
    import sqlite3

    path = tmp_path / "x.sqlite3"
    monkeypatch.setenv("CONTEXTDASH_DB", str(path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert not serve.migrated()
    with sqlite3.connect(path) as made:
        made.execute(f"PRAGMA user_version = {serve.migrations_mark()}")
    made.close()
    assert serve.migrated()
    with sqlite3.connect(path) as made:
        made.execute("PRAGMA user_version = 7")
    made.close()
    assert not serve.migrated()


def test_postgresql_is_always_asked(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql:///x")
    assert not serve.migrated()
