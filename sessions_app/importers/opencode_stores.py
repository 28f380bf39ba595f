"""Where OpenCode keeps messages: its SQLite database, and the tree of files of older releases."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from contextdash.limits import MIB
from sessions_app.importers.counting import LISTED
from sessions_app.importers.intake import Intake
from sessions_app.importers.lines import record_of
from sessions_app.importers.opencode import Reader

FILE_BYTES = 64 * MIB
"""A larger message or part is skipped."""
OVERLAP_MS = 2000
"""A writer that was about to commit when its rows were looked for wrote an earlier time into them."""
_HEAD = b"SQLite format 3\x00"
_NEEDED = {
    "session": {"id", "directory", "title"},
    "message": {"id", "session_id", "data"},
    "part": {"message_id", "data"},
}


def is_store(path: Path) -> bool:
    """Whether a file is a database of OpenCode, or a session in its tree."""
    if path.suffix == ".db":
        return _is_sqlite(path) and _is_ours(path)
    return path.suffix == ".json" and path.name.startswith("ses_") and path.parent.parent.name == "session"


def belonging(path: Path) -> Iterator[Path]:
    """What else a session or database consists of."""
    if path.suffix == ".db":
        yield path.with_name(f"{path.name}-wal")
    elif path.suffix == ".json" and path.name.startswith("ses_"):
        for message in _messages(path):
            yield message
            yield from _parts(path, message)


def read(path: Path, intake: Intake) -> None:
    """Import what is new in a store.

    Raises:
        OSError: it cannot be read.
        Busy: the database stayed locked.
    """
    reader = Reader(intake.gatherer, intake.source.facts)
    if path.suffix == ".json":
        _read_tree(path, reader, intake)
        return
    try:
        with closing(_open(path)) as database:
            _Database(database, reader, intake).read()
    except sqlite3.Error as error:
        # It is being moved, or is broken somewhere: what could be read is stored, the rest is tried again.
        intake.source.error = f"{path.name}: {error}"
        intake.source.modified_ns = 0
        intake.store(reader.session_id, reader.title, intake.source.offset)
        raise OSError(None, f"the database cannot be read: {error}") from error


# The database.


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_HEAD)) == _HEAD


def _is_ours(path: Path) -> bool:
    try:
        with closing(_open(path)) as database:
            return _holds_tables(database) and all(
                needed <= _columns(database, table) for table, needed in _NEEDED.items()
            )
    except sqlite3.Error:
        return False


def _holds_tables(database: sqlite3.Connection) -> bool:
    """Whether what is read are tables. A view may compute without end, and whoever uploads a file made it."""
    found = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    )
    return _NEEDED.keys() <= {row["name"] for row in found}


def _open(path: Path) -> sqlite3.Connection:
    """Beside its writer, whom it neither locks nor changes.

    Where nobody has it open there is no write-ahead log. Then SQLite would make one to read it, so it is told
    that nothing changes.
    """
    quoted = path.resolve().as_uri()
    live = path.with_name(f"{path.name}-wal").exists()
    mode = "mode=ro" if live else "mode=ro&immutable=1"
    database = sqlite3.connect(f"{quoted}?{mode}", uri=True, timeout=5.0, isolation_level=None)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, FILE_BYTES)
    database.row_factory = sqlite3.Row
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return database


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row["name"] for row in database.execute(f"PRAGMA table_info({table})")}


class _Database:
    """Reads what was written since the last time, a session after the other; in each read is one message."""

    def __init__(self, database: sqlite3.Connection, reader: Reader, intake: Intake) -> None:
        self._db = database
        self._reader = reader
        self._intake = intake
        state = intake.source.state
        self._state: dict[str, Any] = state
        state.setdefault("since", 0)
        state.setdefault("open", [])

    def read(self) -> None:
        source, state = self._intake.source, self._state
        source.error = ""
        if "until" not in state:
            state["until"] = self._newest()
            state["after"] = ["", ""]
        for session in self._sessions():
            self._reader.session(_session(session))
            for message in self._changed(session["id"]):
                self._message(message)
                if self._intake.full:
                    self._store()
            # A session that is done is not read again by an import that goes on where this one stops.
            state["after"] = [str(session["made"]), session["id"]]
            self._store()
            if self._intake.must_pause:
                self._intake.result.finished = False
                return
        state["since"] = max(state["since"], state.pop("until") - OVERLAP_MS)
        state.pop("after")
        source.offset = source.size
        self._store()

    def _newest(self) -> int:
        found = [
            self._db.execute(f"SELECT max(time_updated) FROM {table}").fetchone()[0]  # noqa: S608 - our names
            for table in ("session", "message", "part")
            if "time_updated" in _columns(self._db, table)
        ]
        return max((one for one in found if isinstance(one, int)), default=0)

    def _sessions(self) -> list[sqlite3.Row]:
        """Those with something new, parents first."""
        since, again = self._state["since"], self._state["open"]
        marks = ", ".join("?" * len(again))
        sql = f"""
            SELECT id, title, directory, parent_id,
                   (CASE WHEN coalesce(parent_id, '') = '' THEN 'a' ELSE 'b' END)
                   || printf('%020d', coalesce(time_created, 0)) AS made
            FROM session
            WHERE (time_updated >= ?
                OR id IN (SELECT session_id FROM message WHERE time_updated >= ? OR id IN ({marks}))
                OR id IN (SELECT session_id FROM part WHERE time_updated >= ?))
              AND (made, id) > (?, ?)
            ORDER BY made, id
        """  # noqa: S608 - only marks
        return self._db.execute(sql, [since, since, *again, since, *self._state["after"]]).fetchall()

    def _changed(self, session_id: str) -> Iterator[sqlite3.Row]:
        """Each by a read of its own, so that the writer's log can be emptied in between."""
        since, again = self._state["since"], self._state["open"]
        marks = ", ".join("?" * len(again))
        sql = f"""
            SELECT id FROM message
            WHERE session_id = ?
              AND (time_updated >= ? OR id IN ({marks})
                   OR id IN (SELECT message_id FROM part WHERE session_id = ? AND time_updated >= ?))
            ORDER BY time_created, id
        """  # noqa: S608 - only marks
        found = self._db.execute(sql, [session_id, since, *again, session_id, since]).fetchall()
        for row in found:
            whole = self._db.execute(
                "SELECT id, session_id, data FROM message WHERE id = ?", [row["id"]]
            ).fetchall()
            yield from whole  # it may have been deleted meanwhile

    def _message(self, row: sqlite3.Row) -> None:
        source = self._intake.source
        source.lines += 1
        info = self._object(row["data"], f"message {row['id']}")
        if info is None:
            return
        source.records += 1
        parts: list[dict[str, Any]] = []
        for part in self._db.execute(
            "SELECT id, data FROM part WHERE message_id = ? ORDER BY id", [row["id"]]
        ).fetchall():
            value = self._object(part["data"], f"part {part['id']}")
            if value is not None:
                parts.append({"id": part["id"], **value})
        settled = self._reader.message({**info, "id": row["id"]}, parts)
        again: list[str] = self._state["open"]
        if settled and row["id"] in again:
            again.remove(row["id"])
        elif not settled and row["id"] not in again:
            again.append(row["id"])
            del again[:-LISTED]

    def _object(self, data: object, where: str) -> dict[str, Any] | None:
        raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
        value = record_of(raw) if isinstance(raw, bytes) else None
        if value is None:
            kept = raw if isinstance(raw, bytes) else b""
            self._intake.skip(where, "no JSON object", kept, session_id=self._reader.session_id)
        return value

    def _store(self) -> None:
        self._intake.store(self._reader.session_id, self._reader.title, self._intake.source.size)


def _session(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "parentID": row["parent_id"],
        "title": row["title"],
        "directory": row["directory"],
    }


# The tree of files: session/<project>/<session>.json, message/<session>/ and part/<message>/ below storage/.


def _messages(session: Path) -> list[Path]:
    return sorted((session.parent.parent.parent / "message" / session.stem).glob("*.json"))


def _parts(session: Path, message: Path) -> list[Path]:
    return sorted((session.parent.parent.parent / "part" / message.stem).glob("*.json"))


def _read_tree(path: Path, reader: Reader, intake: Intake) -> None:
    source = intake.source
    source.lines = source.records = source.skipped = 0
    intake.anew = source.pk is not None
    source.error = ""
    info = _read_file(path, intake, "session")
    if info is None:
        source.offset = source.size
        intake.store("", "", source.size)
        return
    reader.session({**info, "id": path.stem})
    told = [
        (one, file) for file in _messages(path) if (one := _read_file(file, intake, "message")) is not None
    ]
    told.sort(key=lambda pair: (_created(pair[0]), pair[1].name))
    for message, file in told:
        parts = [one for part in _parts(path, file) if (one := _read_file(part, intake, "part")) is not None]
        reader.message({**message, "id": file.stem}, parts)
        if intake.full:
            intake.store(reader.session_id, reader.title, source.size)
    source.offset = source.size
    intake.store(reader.session_id, reader.title, source.size)


def _created(message: dict[str, Any]) -> int:
    times = message.get("time")
    made = times.get("created") if isinstance(times, dict) else None
    return made if isinstance(made, int) else 0


def _read_file(path: Path, intake: Intake, noun: str) -> dict[str, Any] | None:
    intake.source.lines += 1
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES + 1)
    except OSError as error:
        intake.skip(f"{noun} {path.stem}", error.strerror or "unreadable", b"", reason="unreadable")
        return None
    value = record_of(raw) if len(raw) <= FILE_BYTES else None
    if value is None:
        too_large = len(raw) > FILE_BYTES
        why, reason = (
            ("longer than FILE_BYTES", "too_large") if too_large else ("no JSON object", "malformed")
        )
        intake.skip(f"{noun} {path.stem}", why, raw[:FILE_BYTES], reason=reason)
        return None
    intake.source.records += 1
    return value


__all__: Sequence[str] = ("belonging", "is_store", "read")
