"""A real server on a temporary database, started as a user starts it, and what it costs."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.load import Connection

ROOT = Path(__file__).resolve().parent.parent.parent
MAIN = "import sys; from contextdash.cli import main; sys.exit(main(sys.argv[1:]))"


@dataclass(slots=True)
class Server:
    process: subprocess.Popen[bytes]
    port: int
    folder: Path
    token: str = ""

    @property
    def database(self) -> Path:
        return self.folder / "contextdash.sqlite3"

    @property
    def wal_bytes(self) -> int:
        log = Path(f"{self.database}-wal")
        return log.stat().st_size if log.exists() else 0

    def connect(self) -> Connection:
        return Connection(self.port, self.token)

    def post(self, path: str, body: bytes) -> int:
        """The status of one post on a connection of its own."""
        with self.connect() as connection:
            return connection.post(path, body)

    def memory_bytes(self) -> int:
        """Resident memory of the server and all its children."""
        return sum(_resident(pid) for pid in family(self.process.pid))

    def kill(self) -> None:
        """End every process of it at once, as a crash would."""
        for pid in family(self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def environment(folder: Path, **variables: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CONTEXTDASH_") and name not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE")
    }
    return {**kept, "CONTEXTDASH_DATA": str(folder), "PYTHONPATH": str(ROOT), **variables}


def run_command(folder: Path, *arguments: str) -> str:
    """What ``contextdash …`` prints."""
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        env=environment(folder),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def make_token(folder: Path) -> str:
    """A writer's token of a fresh database."""
    run_command(folder, "migrate")
    return run_command(folder, "token", "create", "--name", "bench", "--scope", "write").split()[-1]


@contextmanager
def running(folder: Path, *options: str, token: str = "") -> Iterator[Server]:
    """``contextdash serve`` in a folder, on a fresh database or on the one that the token is of."""
    command = [sys.executable, "-c", MAIN, "serve", *options]
    with _serving(command, folder, token or make_token(folder)) as server:
        yield server


@contextmanager
def running_bare(folder: Path, token: str) -> Iterator[Server]:
    """Only the server process, on the database that is there: no preparation, no static files."""
    command = [sys.executable, "-m", "gunicorn", "-c", "python:contextdash.serving"]
    with _serving(command, folder, token) as server:
        yield server


@contextmanager
def _serving(command: list[str], folder: Path, token: str) -> Iterator[Server]:
    port = free_port()
    variables = {"PORT": str(port), "HOST": "127.0.0.1"}
    with _process(command, folder, port, variables, "/health/live") as server:
        server.token = token
        yield server


@contextmanager
def running_noop(folder: Path, server: str) -> Iterator[Server]:
    """An application that answers 204 to everything, under the same server with the same settings."""
    port = free_port()
    target = "tests.benchmarks.noop:application"
    if server == "gunicorn":
        command = [sys.executable, "-m", "gunicorn", "-c", "python:contextdash.serving", target]
    else:
        command = [
            *(sys.executable, "-m", "granian", "--interface", "wsgi", "--workers", "1"),
            *("--blocking-threads", "8", "--host", "127.0.0.1", "--port", str(port), target),
        ]
    variables = {"PORT": str(port), "HOST": "127.0.0.1"}
    with _process(command, folder, port, variables, "/") as started:
        yield started


@contextmanager
def _process(
    command: list[str], folder: Path, port: int, variables: dict[str, str], probe: str
) -> Iterator[Server]:
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command, env=environment(folder, **variables), cwd=ROOT, stdout=log, stderr=log
        )
    server = Server(process, port, folder)
    try:
        _wait_until_answering(server, probe)
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_until_answering(server: Server, probe: str, limit: float = 180) -> None:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        connection = Connection(server.port)
        try:
            connection.exchange("GET", probe)
        except OSError:
            if server.process.poll() is not None:
                break
            time.sleep(0.05)
        else:
            return
        finally:
            connection.close()
    raise RuntimeError((server.folder / "server.log").read_text()[-2000:])


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text()
            except OSError:
                continue
            children[int(status.rpartition(")")[2].split()[1])].append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += children[one]
    return found


def _resident(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(found[0].split()[1]) * 1024 if found else 0
