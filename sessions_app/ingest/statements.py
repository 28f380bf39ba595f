"""The statements that load and store the rows of a batch.

The ORM would cost more here than all the rest of a delivery, and Django's cursors half of that rest, 15 µs a
statement. This is the one place that writes SQL instead and hands it to the driver; the statements are the
same on SQLite and PostgreSQL. ``store`` turns the driver's errors into Django's.
"""

# ruff: noqa: S608 - the texts are made of our own names and of %s marks

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import compress, count
from operator import attrgetter, ne
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from sessions_app.ingest.rows import (
    CallRow,
    EventRow,
    RunRow,
    SessionEventRow,
    SessionRow,
    TouchedRow,
    TurnRow,
)


def _columns(row: type, *without: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(row) if field.name not in without)


def _list(columns: Iterable[str], alias: str = "") -> str:
    prefix = f"{alias}." if alias else ""
    return ", ".join(prefix + name for name in columns)


SESSION_COLUMNS = _columns(SessionRow, "stored")
RUN_COLUMNS = _columns(RunRow, "stored")
TURN_COLUMNS = _columns(TurnRow, "prompted", "stored")
CALL_COLUMNS = _columns(CallRow, "key", "called_us", "answered_us", "called_by", "answered_by", "stored")

_SESSION_SELECT = _list(SESSION_COLUMNS)
_RUN_SELECT = _list(RUN_COLUMNS)
_RUN_OF_TURN_SELECT = _list(RUN_COLUMNS, "r")
_TURN_SELECT = f"{_list(TURN_COLUMNS, 't')}, t.prompt <> ''"
_CALL_SELECT = f"{_list(CALL_COLUMNS, 't')}, t.key, c.occurred_us, r.occurred_us, c.source, r.source"
_CALL_EVENTS = "LEFT JOIN events c ON c.key = t.call_event_id LEFT JOIN events r ON r.key = t.result_event_id"


class Table[R: (SessionRow, TurnRow, RunRow, CallRow, EventRow, SessionEventRow)]:
    """The statements that store rows of one kind."""

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        self._name = name
        self._columns = columns
        marks = ", ".join(["%s"] * len(columns))
        self.insert_sql = f"INSERT INTO {name} ({_list(columns)}) VALUES ({marks})"
        self.values: Callable[[R], tuple[Any, ...]] = attrgetter(*columns)

    def update_sql(self, places: tuple[int, ...]) -> str:
        names = (self._columns[place] for place in places)
        return f"UPDATE {self._name} SET {', '.join(f'{name} = %s' for name in names)} WHERE key = %s"


SESSIONS = Table[SessionRow]("sessions", SESSION_COLUMNS)
TURNS = Table[TurnRow]("turns", TURN_COLUMNS)
RUNS = Table[RunRow]("runs", RUN_COLUMNS)
CALLS = Table[CallRow]("tool_calls", CALL_COLUMNS)
EVENTS = Table[EventRow]("events", _columns(EventRow))
SESSION_EVENTS = Table[SessionEventRow]("session_events", _columns(SessionEventRow))


class Rows:
    """The statements of one transaction. The caller has opened it; every instance serves one batch."""

    def __init__(self) -> None:
        # Asked once: each look through Django's connection proxy costs as much as a small statement.
        django = connections[DEFAULT_DB_ALIAS]
        self._connection: Any = django.connection
        self._sqlite = django.vendor == "sqlite"
        self._for_update = "" if self._sqlite else " FOR UPDATE"

    def sessions_by_id(self, ids: Collection[str]) -> list[SessionRow]:
        """The sessions of these ids; on PostgreSQL locked, in one order, until the transaction ends."""
        return [
            _stored(SessionRow(*row), row)
            for row in self._select(
                f"SELECT {_SESSION_SELECT} FROM sessions WHERE id IN ({_marks(ids)})"
                f" ORDER BY key{self._for_update}",
                ids,
            )
        ]

    def sessions_by_key(self, keys: Collection[int]) -> list[SessionRow]:
        return [
            _stored(SessionRow(*row), row)
            for row in self._select(
                f"SELECT {_SESSION_SELECT} FROM sessions WHERE key IN ({_marks(keys)})"
                f" ORDER BY key{self._for_update}",
                keys,
            )
        ]

    def live_children(self, parents: Collection[int]) -> list[SessionRow]:
        return [
            _stored(SessionRow(*row), row)
            for row in self._select(
                f"SELECT {_SESSION_SELECT} FROM sessions WHERE parent_id IN ({_marks(parents)})"
                f" AND activity <> 'ended' ORDER BY key{self._for_update}",
                parents,
            )
        ]

    def turns_by_id(self, pairs: Collection[tuple[int, str]]) -> list[tuple[TurnRow, RunRow]]:
        """The turns of (session key, turn id), each with its runs, the newest last."""
        found = self._select(
            f"SELECT {_TURN_SELECT}, {_RUN_OF_TURN_SELECT} FROM (VALUES {_pair_marks(pairs)}) AS w"
            " JOIN turns t ON t.session_id = w.column1 AND t.turn_id = w.column2"
            " JOIN runs r ON r.turn_id = t.key ORDER BY r.turn_id, r.number",
            [part for pair in pairs for part in pair],
        )
        width = len(TURN_COLUMNS) + 1
        return [(_turn(row[:width]), _stored(RunRow(*row[width:]), row[width:])) for row in found]

    def turns_by_key(self, keys: Collection[int]) -> list[TurnRow]:
        sql = f"SELECT {_TURN_SELECT} FROM turns t WHERE t.key IN ({_marks(keys)})"
        return [_turn(row) for row in self._select(sql, keys)]

    def runs_by_key(self, keys: Collection[int]) -> list[RunRow]:
        sql = f"SELECT {_RUN_SELECT} FROM runs WHERE key IN ({_marks(keys)})"
        return [_stored(RunRow(*row), row) for row in self._select(sql, keys)]

    def open_runs(self, sessions: Collection[int]) -> list[RunRow]:
        sql = (
            f"SELECT {_RUN_SELECT} FROM runs WHERE session_id IN ({_marks(sessions)}) AND status = 'running'"
        )
        return [_stored(RunRow(*row), row) for row in self._select(sql, sessions)]

    def calls_by_id(self, pairs: Collection[tuple[int, str]]) -> list[CallRow]:
        """The calls of (session key, call id)."""
        return [
            _call(row)
            for row in self._select(
                f"SELECT {_CALL_SELECT} FROM (VALUES {_pair_marks(pairs)}) AS w"
                f" JOIN tool_calls t ON t.session_id = w.column1 AND t.call_id = w.column2 {_CALL_EVENTS}",
                [part for pair in pairs for part in pair],
            )
        ]

    def calls_of_children(self, pairs: Collection[tuple[int, str]]) -> list[CallRow]:
        """The calls of (main session's key, call id) that its subagents made."""
        return [
            _call(row)
            for row in self._select(
                f"SELECT {_CALL_SELECT} FROM (VALUES {_pair_marks(pairs)}) AS w"
                f" JOIN sessions s ON s.parent_id = w.column1"
                f" JOIN tool_calls t ON t.session_id = s.key AND t.call_id = w.column2 {_CALL_EVENTS}",
                [part for pair in pairs for part in pair],
            )
        ]

    def open_calls(self, sessions: Collection[int]) -> list[CallRow]:
        sql = (
            f"SELECT {_CALL_SELECT} FROM tool_calls t {_CALL_EVENTS}"
            f" WHERE t.session_id IN ({_marks(sessions)}) AND t.state = 'prepared'"
        )
        return [_call(row) for row in self._select(sql, sessions)]

    def known_identities(self, identities: Collection[bytes]) -> dict[bytes, tuple[bytes, int]]:
        """identity → (content, received time in µs) of events that are stored."""
        sql = f"SELECT identity, content, received_us FROM events WHERE identity IN ({_marks(identities)})"
        return {bytes(row[0]): (bytes(row[1]), row[2]) for row in self._select(sql, identities)}

    def next_prompt_us(self, session: int, after_us: int) -> int | None:
        """When the first prompt after a moment came."""
        sql = "SELECT MIN(started_us) FROM turns WHERE session_id = %s AND started_us > %s AND prompt <> ''"
        found: int | None = self._select(sql, [session, after_us])[0][0]
        return found

    def newest_state(self, session: int) -> int:
        """The key of the session's newest version."""
        sql = "SELECT key FROM session_states WHERE session_id = %s ORDER BY version DESC LIMIT 1"
        key: int = self._select(sql, [session])[0][0]
        return key

    def insert_turn(self, turn: TurnRow, state: int, prompt: str) -> None:
        """Store a turn; it learns its key."""
        turn.key = self._insert_one(
            "INSERT INTO turns"
            " (session_id, state_id, number, turn_id, prompt, started_us, ended_us, call_count, failed_count)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, 0, 0) RETURNING key",
            [turn.session_id, state, turn.number, turn.turn_id, prompt, turn.started_us, turn.ended_us],
        )

    def insert_run(self, run: RunRow, invocation_id: str) -> None:
        """Store a run; it learns its key."""
        run.key = self._insert_one(
            "INSERT INTO runs"
            " (session_id, turn_id, number, invocation_id, status, last_seq, started_us, ended_us,"
            " answer, error) VALUES (%s, %s, %s, %s, %s, 0, %s, %s, '', '') RETURNING key",
            [
                *(run.session_id, run.turn_id, run.number, invocation_id),
                *(run.status, run.started_us, run.ended_us),
            ],
        )

    def reserve_event_keys(self, count: int) -> list[int]:
        """Keys for new events, so that other rows of the batch can name them before they are stored."""
        if self._sqlite:
            # The write lock is held: nobody takes a key in between.
            found = self._select("SELECT seq FROM sqlite_sequence WHERE name = %s", ["events"])
            first = (found[0][0] if found else 0) + 1
            return list(range(first, first + count))
        sql = "SELECT nextval(pg_get_serial_sequence('events', 'key')) FROM generate_series(1, %s)"
        return [row[0] for row in self._select(sql, [count])]

    def insert[R: (SessionRow, TurnRow, RunRow, CallRow, EventRow, SessionEventRow)](
        self, table: Table[R], rows: Collection[R]
    ) -> None:
        self._execute_many(table.insert_sql, [table.values(row) for row in rows])

    def insert_touched(self, rows: list[TouchedRow]) -> None:
        """What calls did to files, after the calls are stored: these name them by the client's id."""
        self._execute_many(
            "INSERT INTO touched_files (session_id, call_id, path, action)"
            " SELECT session_id, key, %s, %s FROM tool_calls WHERE session_id = %s AND call_id = %s"
            " ON CONFLICT DO NOTHING",
            rows,
        )

    def update[R: (SessionRow, TurnRow, RunRow, CallRow)](self, table: Table[R], rows: Collection[R]) -> None:
        """Store what differs from what is stored.

        SQLite rewrites every index of the columns that a statement sets, whether the value is another or
        not, and each index is a page to write: setting all columns doubled the pages of a delivery.
        """
        groups: dict[tuple[int, ...], list[tuple[Any, ...]]] = {}
        for row in rows:
            values: tuple[Any, ...] = table.values(row)
            places: tuple[int, ...] = tuple(compress(count(), map(ne, values, row.stored)))
            if places:
                groups.setdefault(places, []).append((*(values[place] for place in places), row.key))
        for places, params in groups.items():
            self._execute_many(table.update_sql(places), params)

    def _select(self, sql: str, params: Collection[Any]) -> list[tuple[Any, ...]]:
        if not params:
            return []
        cursor = self._connection.cursor()
        cursor.execute(_question_marks(sql) if self._sqlite else sql, list(params))
        found: list[tuple[Any, ...]] = cursor.fetchall()
        cursor.close()
        return found

    def _insert_one(self, sql: str, params: list[Any]) -> int:
        key: int = self._select(sql, params)[0][0]
        return key

    def _execute_many(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if not rows:
            return
        cursor = self._connection.cursor()
        sql = _question_marks(sql) if self._sqlite else sql
        if len(rows) == 1:
            cursor.execute(sql, rows[0])
        else:
            cursor.executemany(sql, rows)
        cursor.close()


def _stored[R: (SessionRow, TurnRow, RunRow, CallRow)](row: R, values: tuple[Any, ...]) -> R:
    row.stored = values
    return row


def _turn(row: tuple[Any, ...]) -> TurnRow:
    return _stored(TurnRow(*row), row[: len(TURN_COLUMNS)])


def _call(row: tuple[Any, ...]) -> CallRow:
    return _stored(CallRow(*row), row[: len(CALL_COLUMNS)])


@lru_cache(maxsize=512)
def _question_marks(sql: str) -> str:
    return sql.replace("%s", "?")


def _marks(values: Collection[Any]) -> str:
    return ", ".join(["%s"] * len(values))


def _pair_marks(pairs: Collection[Any]) -> str:
    return ", ".join(["(%s, %s)"] * len(pairs))
