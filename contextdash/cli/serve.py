"""``contextdash serve``: prepare what has changed, then become the server."""

import argparse
import fcntl
import os
import socket
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from contextdash import serving
from contextdash.cli.kit import Commands, command, with_django

ROOT = Path(__file__).resolve().parent.parent.parent
PRIVATE = 0o077
"""What the database, its log and the static files take away from others on this machine."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def add_commands(commands: Commands) -> None:
    made = command(commands, "serve", run, "Run the server (HOST, PORT); migrates first when needed.")
    made.add_argument("--granian", action="store_true", help="under granian, when it is installed")
    made.add_argument(
        "--print-unit", choices=("systemd", "launchd"), help="print a service of this installation, and end"
    )
    command(commands, "migrate", migrate, "Bring the database into step with this version.")


def run(args: argparse.Namespace) -> None:
    """Does not return: the process becomes the server, so that signals reach it directly."""
    if args.print_unit:
        from contextdash.cli.units import unit

        print(unit(args.print_unit), end="")
        return
    refuse_unclear_configuration()
    os.umask(PRIVATE)
    with _one_at_a_time():
        if not migrated():
            _prepare("migrate")
    collect_if_changed()
    os.environ[serving.ANNOUNCE] = (os.environ.get("CONTEXTDASH_URL") or serving.address_url()).rstrip("/")
    # The folder of the project, so that the server finds its modules wherever it was started.
    os.chdir(ROOT)
    server = _granian() if args.granian else ["gunicorn", "--config", "python:contextdash.serving"]
    os.execv(sys.executable, [sys.executable, "-m", *server])  # noqa: S606 - no shell is wanted


def migrate(args: argparse.Namespace) -> None:
    """All migrations, and a mark in the database itself that says so (a restored copy brings its own)."""
    os.umask(PRIVATE)
    with_django()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", interactive=False, verbosity=1 if sys.stdout.isatty() else 0)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA user_version = {migrations_mark()}")


def refuse_unclear_configuration() -> None:
    """Stop before anything is touched, with a text that says which variable is meant.

    Raises:
        ImproperlyConfigured: the address or the database is not clear.
    """
    from django.core.exceptions import ImproperlyConfigured

    from contextdash.env import env_list

    if not (serving.port().isascii() and serving.port().isdigit() and 0 < int(serving.port()) < 65536):
        raise ImproperlyConfigured(f"PORT must be a number from 1 to 65535; it is {serving.port()!r}.")
    if serving.host() not in LOOPBACK and not env_list("CONTEXTDASH_HOSTS"):
        raise ImproperlyConfigured(
            f"HOST={serving.host()} lets other machines in. Name the host names that they use, such as "
            "CONTEXTDASH_HOSTS=dash.example.org,192.0.2.7, so that no other site can pose as this one."
        )
    if os.environ.get("DATABASE_URL") and os.environ.get("CONTEXTDASH_DB"):
        raise ImproperlyConfigured("DATABASE_URL and CONTEXTDASH_DB name two databases. Set one of them.")
    _refuse_taken_port()
    _refuse_unwritable_folder()


def _refuse_unwritable_folder() -> None:
    from django.core.exceptions import ImproperlyConfigured

    from contextdash.address import data_dir

    database = database_path()
    for folder in (data_dir(), *([] if database is None else [database.parent])):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            writable = os.access(folder, os.W_OK | os.X_OK)
        except OSError:
            writable = False
        if not writable:
            raise ImproperlyConfigured(
                f"{folder} cannot be written. Give it to the user that runs the server, "
                "or name another folder with CONTEXTDASH_DATA."
            )


def _refuse_taken_port() -> None:
    from django.core.exceptions import ImproperlyConfigured

    family = socket.AF_INET6 if ":" in serving.host() else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((serving.host(), int(serving.port())))
        except OSError as error:
            raise ImproperlyConfigured(
                f"Cannot listen on {serving.host()} port {serving.port()}: {error.strerror}. "
                "Is contextdash running already? Choose another with PORT=8766."
            ) from error


def migrated() -> bool:
    """Whether the SQLite file carries the mark of these migrations. PostgreSQL is asked by migrating."""
    path = database_path()
    if path is None or not path.exists():
        return False
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            mark: int = connection.execute("PRAGMA user_version").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error:
        return False
    return mark == migrations_mark()


def database_path() -> Path | None:
    """The SQLite file, as the settings would name it, without the second that it takes to load them."""
    from contextdash.address import data_dir
    from contextdash.env import env_text

    if env_text("DATABASE_URL"):
        return None
    return Path(env_text("CONTEXTDASH_DB") or data_dir() / "contextdash.sqlite3")


def migrations_mark() -> int:
    """A number for SQLite's user_version: of Django, of our migrations and of what runs after each."""
    files = sorted(ROOT.glob("*/migrations/*.py"))
    return _digest((*files, ROOT / "sessions_app" / "ledger_guard.py"))


def collect_if_changed() -> None:
    """Collect and compress the static files, unless that was done with what is there now."""
    stamp = ROOT / "staticfiles" / "stamp"
    with _one_at_a_time():
        now = _static_stamp()
        if not stamp.exists() or stamp.read_text(encoding="ascii") != now:
            _prepare("collectstatic")
            stamp.write_text(now, encoding="ascii")


def _static_stamp() -> str:
    files = sorted(path for path in (ROOT / "static").rglob("*") if path.is_file())
    return str(_digest((*files, ROOT / "requirements.txt")))


def _digest(files: Iterable[Path]) -> int:
    import django

    crc = zlib.crc32(django.__version__.encode())
    for path in files:
        crc = zlib.crc32(str(path.relative_to(ROOT)).encode(), crc)
        crc = zlib.crc32(path.read_bytes(), crc)
    return crc & 0x7FFF_FFFF or 1  # SQLite's is signed, and 0 means never set


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Of two starts at once the second waits and finds everything done; the lock ends with the process."""
    with open(ROOT / ".prepare.lock", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _prepare(step: str) -> None:
    """In a process of its own, so that the server's does not keep the memory."""
    print(f"contextdash: {step}", file=sys.stderr)
    if step == "migrate":
        arguments = ["-c", "from contextdash.cli import main; raise SystemExit(main(['migrate']))"]
    else:
        arguments = [str(ROOT / "manage.py"), "collectstatic", "--noinput", "--clear", "-v", "0"]
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.returncode)


def _granian() -> list[str]:
    from importlib.util import find_spec

    from django.core.exceptions import ImproperlyConfigured

    if find_spec("granian") is None:
        raise ImproperlyConfigured("granian is not installed. docs/operations.md says how to add it.")
    return [
        *("granian", "--interface", "wsgi", "--host", serving.host(), "--port", serving.port()),
        *("--workers", "1", "--blocking-threads", str(serving.THREADS), "--no-ws", "--log-level", "warning"),
        serving.wsgi_app,
    ]
