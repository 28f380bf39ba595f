"""What a connection must be before anything uses it, and checks that say when a database is not so.

SQLite's settings are made here and not in ``init_command``: ``auto_vacuum`` only takes before the first
table and before WAL, so the order page_size, auto_vacuum, journal_mode is part of the meaning.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import checks
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q

AUTO_VACUUM_INCREMENTAL = 2
AUTOCHECKPOINT_PAGES = 1000
JOURNAL_LIMIT_BYTES = 8 * 1024 * 1024
"""What is left of the log file when it starts again."""

_state = {"autocheckpoint": AUTOCHECKPOINT_PAGES}


def leave_checkpoints_to_the_writer() -> None:
    """Connections opened from now on never checkpoint: a thread does, apart from the writer.

    SQLite's own checkpoint runs inside whichever commit fills the log, about every sixtieth event, and was
    the whole of the slowest twentieth of the answers.
    """
    _state["autocheckpoint"] = 0


def is_sqlite(alias: str = "default") -> bool:
    return connections[alias].vendor == "sqlite"


def within_prefix(column: str, text: str) -> Q:
    """Implied by "equal to ``text`` or below it as a folder", said where it lets an index serve.

    SQLite compares texts by their bytes, so all of these stand together in an index, but it uses none for
    LIKE. PostgreSQL may sort by the rules of a language, where they do not.
    """
    return Q(**{f"{column}__gte": text, f"{column}__lt": f"{text}0"}) if is_sqlite() else Q()


def database_file(alias: str = "default") -> Path | None:
    """The SQLite file of a connection; None for PostgreSQL and for a database in memory."""
    if not is_sqlite(alias):
        return None
    name = str(connections[alias].settings_dict["NAME"])
    return None if name == ":memory:" or "mode=memory" in name else Path(name)


def prepare_connection(sender: object, connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Receiver of ``connection_created``."""
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        for pragma in (
            "page_size = 4096",
            f"auto_vacuum = {AUTO_VACUUM_INCREMENTAL}",
            "journal_mode = WAL",
            f"synchronous = {settings.SQLITE_SYNCHRONOUS}",
            f"wal_autocheckpoint = {_state['autocheckpoint']}",
            f"journal_size_limit = {JOURNAL_LIMIT_BYTES}",
            "temp_store = MEMORY",
            # 4 MB a connection: eight request threads stay far below the memory target.
            "cache_size = -4096",
            "foreign_keys = ON",
        ):
            cursor.execute(f"PRAGMA {pragma}")


def pragma(name: str, alias: str = "default") -> Any:
    with connections[alias].cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        row = cursor.fetchone()
    return None if row is None else row[0]


def check_database(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[checks.CheckMessage]:
    """System check: reports a SQLite file without WAL, incremental vacuum or foreign keys."""
    found: list[checks.CheckMessage] = []
    for alias in databases or []:
        if is_sqlite(alias):
            found += _check_sqlite(alias)
    return found


def _check_sqlite(alias: str) -> list[checks.CheckMessage]:
    found: list[checks.CheckMessage] = []
    if database_file(alias) is not None and str(pragma("journal_mode", alias)).lower() != "wal":
        found.append(
            checks.Error(
                "The database is not in WAL mode.",
                hint="Close other programs that hold the file open and start again.",
                id="contextdash.E002",
            )
        )
    if pragma("auto_vacuum", alias) != AUTO_VACUUM_INCREMENTAL:
        found.append(
            checks.Warning(
                "The database was made without auto_vacuum=INCREMENTAL, so deleted rows never shrink it.",
                hint="Stop the server and run: contextdash doctor --mend",
                id="contextdash.W001",
            )
        )
    if not pragma("foreign_keys", alias):
        found.append(checks.Error("Foreign keys are off.", hint="Report this.", id="contextdash.E003"))
    return found
