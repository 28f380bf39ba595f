"""A copy of the database that is known to be good, taken beside a running server."""

import os
import sqlite3
from pathlib import Path

from contextdash.db import database_file
from contextdash.errors import Conflict, Refused


class BackupFailed(Refused):
    status = 500
    code = "backup_failed"


def backup(target: Path) -> int:
    """Copy the SQLite database to ``target``; the size in bytes.

    The copy is one moment of the database, whole in itself (no log beside it), readable by its owner only,
    and appears under its name only after SQLite has checked it.

    Raises:
        Conflict: the file exists, or the database is PostgreSQL.
        BackupFailed: the copy did not pass SQLite's integrity check.
    """
    source = database_file()
    if source is None:
        raise Conflict(
            "This database is PostgreSQL: use its own tool, pg_dump --format=custom, instead of this command."
        )
    if target.exists():
        raise Conflict(f"{target} exists already. Name a new file, so that an older copy is never lost.")
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        _copy(source, part)
        part.rename(target)
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size


def _copy(source: Path, part: Path) -> None:
    # isolation_level None: no transaction is begun that would have to be ended.
    origin = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
    copy = sqlite3.connect(part, isolation_level=None)
    try:
        # In one step: a reader's snapshot under WAL, so the writer goes on and the copy need not begin again.
        origin.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        found = [row[0] for row in copy.execute("PRAGMA integrity_check(5)")]
    finally:
        copy.close()
        origin.close()
    if found != ["ok"]:
        raise BackupFailed("The copy is damaged, and so perhaps is the database: " + "; ".join(found))
