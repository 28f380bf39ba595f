"""A copy of the database that is known to be good, taken beside a running server, and put back."""

import fcntl
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from django.db.migrations.loader import MigrationLoader

from contextdash.db import database_file
from contextdash.errors import Conflict, NotFound, Refused

COUNTED = ("sessions", "events", "decisions", "mistakes", "reviews", "sprint_backlog", "users")
"""The tables whose rows are told, so that a person sees that a copy holds what it should."""

_held: list[IO[bytes]] = []


class BackupFailed(Refused):
    status = 503
    code = "backup_failed"


@dataclass(frozen=True, slots=True)
class Copy:
    """What is known of a database file that was checked."""

    path: Path
    size: int
    """In bytes."""
    counts: Mapping[str, int]
    """Rows of the tables of COUNTED."""


@dataclass(frozen=True, slots=True)
class Replaced:
    restored: Copy
    kept: Path | None
    """Where the database lies that was in place before; None where there was none."""


def backup(target: Path) -> Copy:
    """Copy the SQLite database to ``target``.

    The copy is one moment of the database, whole in itself (no log beside it), readable by its owner only,
    and appears under its name only after it was checked.

    Raises:
        Conflict: the file exists, or the database is PostgreSQL.
        BackupFailed: the copy did not pass SQLite's integrity check.
    """
    source = _sqlite_file("pg_dump --format=custom")
    if target.exists():
        raise Conflict(f"{target} exists already. Name a new file, so that an older copy is never lost.")
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = target.with_name(f".{target.name}.part")
    with _unfinished(part):
        _copy(source, part)
        counts = _checked(part)
        part.rename(target)
    return Copy(target, target.stat().st_size, counts)


def inspect(copy: Path) -> Copy:
    """What a copy holds, after all of it was checked.

    Raises:
        NotFound: there is no such file.
        Conflict: it is no database of contextdash, or of a newer version.
        BackupFailed: it is damaged.
    """
    if not copy.is_file():
        raise NotFound(f"There is no file {copy}.")
    return Copy(copy, copy.stat().st_size, _checked(copy))


def prepare_copy(copy: Path) -> Path:
    """A copy of the copy beside the database, to be migrated and then put in place by ``put_in_place``.

    Raises:
        Conflict: the database is PostgreSQL.
    """
    database = _sqlite_file("pg_restore")
    part = database.with_name(f".{database.name}.restore.part")
    _forget(part)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    _copy(copy, part)
    return part


def put_in_place(part: Path, *, expected: Mapping[str, int], at: datetime) -> Replaced:
    """Make ``part``, which was migrated, the database; the one before stays beside it under another name.

    Raises:
        Conflict: a server or another program uses the database.
        BackupFailed: it is damaged, or does not hold what was expected of it.
    """
    database = _sqlite_file("pg_restore")
    _settle(part)
    counts = _checked(part)
    if {name: counts.get(name) for name in expected} != dict(expected):
        raise BackupFailed("After it was migrated the copy does not hold what it held before.")
    kept = None
    with _alone(database):
        if database.exists():
            _settle(database)
            kept = database.with_name(f"{database.name}.before-{at:%Y%m%d-%H%M%S}")
            if kept.exists():
                raise Conflict(f"{kept} exists already. Try again in a second.")
            database.rename(kept)
        part.rename(database)
    return Replaced(Copy(database, database.stat().st_size, counts), kept)


def refuse_while_served() -> None:
    """
    Raises:
        Conflict: a server uses the database.
    """
    database = _sqlite_file("pg_restore")
    with _alone(database):
        pass


def hold_database() -> None:
    """Called by a server's process: until it ends, however it ends, nobody puts another file in place."""
    database = database_file()
    if database is None or _held:
        return
    file = _lock_file(database)
    fcntl.flock(file, fcntl.LOCK_SH)
    _held.append(file)


def discard(part: Path) -> None:
    """Remove an unfinished copy with what SQLite left beside it."""
    _forget(part)


class _alone:  # noqa: N801 - used as a with statement
    """Nobody serves the database meanwhile, and no server begins to."""

    def __init__(self, database: Path) -> None:
        self._file = _lock_file(database)

    def __enter__(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise Conflict("A server uses this database. Stop it, and then repeat this command.") from None

    def __exit__(self, *_: object) -> None:
        self._file.close()


class _unfinished:  # noqa: N801 - used as a with statement
    """A file that only this user reads and that is gone afterwards, unless it was renamed."""

    def __init__(self, part: Path) -> None:
        self._part = part

    def __enter__(self) -> None:
        _forget(self._part)
        os.close(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    def __exit__(self, *_: object) -> None:
        _forget(self._part)


def _lock_file(database: Path) -> IO[bytes]:
    return open(database.with_name(f"{database.name}.lock"), "wb")


def _forget(part: Path) -> None:
    for name in ("", "-journal", "-wal", "-shm"):
        Path(f"{part}{name}").unlink(missing_ok=True)


def _sqlite_file(instead: str) -> Path:
    path = database_file()
    if path is None:
        raise Conflict(f"This database is PostgreSQL: use its own tool, {instead}, instead of this command.")
    return path


def _copy(source: Path, part: Path) -> None:
    # isolation_level None: no transaction is begun that would have to be ended.
    with closing(_read_only(source)) as origin, closing(sqlite3.connect(part, isolation_level=None)) as copy:
        try:
            # In one step: a snapshot under WAL, so the writer goes on and the copy need not begin again.
            origin.backup(copy)
        except sqlite3.DatabaseError as error:
            raise BackupFailed(f"{source} cannot be read as a database: {error}") from error
        copy.execute("PRAGMA journal_mode = DELETE")


def _checked(path: Path) -> dict[str, int]:
    """The rows of a file that is whole and of a version that this one knows."""
    try:
        with closing(_read_only(path)) as file:
            found = [row[0] for row in file.execute("PRAGMA integrity_check(5)")]
            if found != ["ok"]:
                raise BackupFailed(f"{path} is damaged: " + "; ".join(found))
            tables = {row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            _known_version(file, tables, path)
            return {
                name: file.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608 - our own names
                for name in COUNTED
                if name in tables
            }
    except sqlite3.DatabaseError as error:
        raise BackupFailed(f"{path} cannot be read as a database: {error}") from error


def _known_version(file: sqlite3.Connection, tables: set[str], path: Path) -> None:
    if not {"django_migrations", "sessions", "events"} <= tables:
        raise Conflict(f"{path} is no database of contextdash.")
    applied = {(app, name) for app, name in file.execute("SELECT app, name FROM django_migrations")}
    unknown = applied - set(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)
    if unknown:
        app, name = min(unknown)
        raise Conflict(f"{path} is of a newer version than this one ({app} {name}). Upgrade first.")


def _settle(database: Path) -> None:
    """Everything that its log holds is in the file, and the log is gone: what is renamed is whole."""
    with closing(sqlite3.connect(database, isolation_level=None, timeout=4)) as file:
        try:
            file.execute("PRAGMA locking_mode = EXCLUSIVE")
            file.execute("BEGIN EXCLUSIVE")
            file.execute("COMMIT")
            file.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            raise Conflict(f"Another program uses {database}: {error}. End it and try again.") from error


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
