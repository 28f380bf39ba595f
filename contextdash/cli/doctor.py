"""``contextdash doctor``: what is wrong here and how to mend it, in the order in which it matters."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from contextdash import background, db
from contextdash.cli.kit import own_url
from contextdash.models import User
from contextdash.models.user import Role

DISK_BYTES = 1024**3
LOG_BYTES = 64 * 1024**2
ANSWER_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    cure: str = ""
    mend: Callable[[], None] | None = None
    """Mends it without asking; None where a person must."""
    wrong: bool = True
    """False for what is only worth knowing."""


def examine(*, mend: bool) -> int:
    """Print what was found; the exit code is 1 while something is wrong."""
    left = 0
    found_any = False
    for finding in _findings():
        found_any = True
        mark = "wrong" if finding.wrong else "note "
        print(f"{mark}  {finding.what}")
        if mend and finding.mend is not None:
            finding.mend()
            print("       mended")
            continue
        left += finding.wrong
        if finding.cure:
            print(f"       {finding.cure}")
    if not found_any:
        print("All is well.")
    return 1 if left else 0


def _findings() -> Iterator[Finding]:
    yield from _folder(settings.DATA_DIR)
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        yield Finding(
            f"The database does not open: {error}", "Check DATABASE_URL or CONTEXTDASH_DB, and its folder."
        )
        return
    unmigrated = list(_migrations())
    yield from unmigrated
    yield from _database()
    if not unmigrated:
        yield from _people()
        yield from _background()
    if not settings.REDACTION:
        yield Finding(
            "Redaction is off: secrets are stored as they come.", "Unset CONTEXTDASH_REDACTION.", wrong=False
        )
    yield from _server()


def _folder(folder: Path) -> Iterator[Finding]:
    if not os.access(folder, os.W_OK):
        yield Finding(f"{folder} cannot be written.", "Give it to the user that runs the server.")
        return
    key = folder / "secret-key"
    if key.exists() and stat.S_IMODE(key.stat().st_mode) & 0o077:
        yield Finding(
            f"Others can read {key}, and so sign cookies.",
            f"chmod 600 {key}",
            mend=lambda: key.chmod(0o600),
        )
    free = shutil.disk_usage(folder).free
    if free < DISK_BYTES:
        yield Finding(f"Only {free // 1024**2} MiB are free under {folder}.", "Make room, or move the data.")


def _migrations() -> Iterator[Finding]:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        yield Finding(f"{len(plan)} migrations have not been applied.", "contextdash migrate", mend=_migrate)


def _migrate() -> None:
    call_command("migrate", interactive=False, verbosity=0)


def _database() -> Iterator[Finding]:
    """What the system checks say (pragmas, the ledger's triggers), then the file itself."""
    mends = {"contextdash.W001": _vacuum, "contextdash.E010": _migrate}
    for message in checks.run_checks(databases=["default"]):
        yield Finding(message.msg, message.hint or "", mend=mends.get(message.id or ""))
    path = db.database_file()
    if path is None:
        return
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > LOG_BYTES:
        yield Finding(
            f"The write-ahead log has grown to {size // 1024**2} MiB: a reader holds an old moment.",
            "End programs that keep the file open; then contextdash doctor --mend",
            mend=lambda: _pragma("wal_checkpoint(TRUNCATE)"),
        )
    damage = db.pragma("quick_check(1)")
    if damage != "ok":
        yield Finding(f"The file is damaged: {damage}", "Stop the server and put the last backup in place.")


def _vacuum() -> None:
    """Takes the whole file once through the disk; needs that nobody else has it open."""
    _pragma(f"auto_vacuum = {db.AUTO_VACUUM_INCREMENTAL}")
    _pragma("journal_mode = DELETE")  # auto_vacuum does not change under WAL
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
    _pragma("journal_mode = WAL")


def _pragma(text: str) -> None:
    db.pragma(text)


def _people() -> Iterator[Finding]:
    if not User.objects.filter(role=Role.OWNER, is_active=True).exclude(last_login=None).exists():
        yield Finding("No owner has signed in yet.", "contextdash signin-link prints a link.", wrong=False)


def _background() -> Iterator[Finding]:
    """What the server's background thread says of itself; it can only be late while a server runs."""
    for state in background.states():
        if state.error:
            yield Finding(f"{state.title} failed: {state.error}", "See the server's output.")
        elif state.late:
            yield Finding(
                f"{state.title} is {state.lag_us // 60_000_000} minutes late.",
                "It goes on while a server runs; a busy one takes longer.",
                wrong=False,
            )


def _server() -> Iterator[Finding]:
    url = own_url()
    status = _status(url + "/health/ready")
    if status is None:
        yield Finding(
            f"No server answers at {url}.", "contextdash serve, or set CONTEXTDASH_URL.", wrong=False
        )
    elif status == 503:
        yield Finding(f"The server at {url} is not ready: its database does not answer.", "See its output.")
    elif status != 204:
        yield Finding(f"Something else answers at {url} (status {status}).", "Set CONTEXTDASH_URL or PORT.")


def _status(url: str) -> int | None:
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection_ = kind(parts.netloc, timeout=ANSWER_SECONDS)
    try:
        connection_.request("GET", parts.path)
        return connection_.getresponse().status
    except (OSError, HTTPException):
        return None
    finally:
        connection_.close()
