"""What a batch works on: the sessions, turns, runs and calls that its observations touch, in memory.

Everything is read at the beginning with few statements, moved in the order of the batch, and written back
with one statement a table. The database's lock (SQLite) or the locked session rows (PostgreSQL) keep others
away meanwhile.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db import connection

from contextdash.clock import from_us
from contextdash.ids import digest16
from sessions_app.ingest import places, statements
from sessions_app.ingest.files import FileSeen
from sessions_app.ingest.observation import Observation
from sessions_app.ingest.pairing import Pairings
from sessions_app.ingest.rows import (
    CallRow,
    EventRow,
    RunRow,
    SessionEventRow,
    SessionRow,
    TouchedRow,
    TurnRow,
)
from sessions_app.models import Counterpart, Session, SessionState, Tombstone, TouchedFile
from sessions_app.vocabulary import Activity, EventKind, RunStatus, SessionStatus, Source

UNNAMED, UNNAMED_MAIN = "subagent", "main"
RESULTS = frozenset({EventKind.TOOL_END, EventKind.TOOL_FAILED, EventKind.TOOL_DENIED})
BRANCH_CHARS = 255
CLOSING = frozenset({EventKind.PROMPT, EventKind.SESSION_END, EventKind.SUBAGENT_END})
"""Kinds that end what is still open in their session."""


class State:
    def __init__(self, batch: Sequence[Observation]) -> None:
        self.rows = statements.Rows()
        self.sessions: dict[str, SessionRow] = {}
        self.sessions_by_key: dict[int, SessionRow] = {}
        self.turns: dict[tuple[int, str], TurnRow] = {}
        self.turns_by_key: dict[int, TurnRow] = {}
        self.runs_by_key: dict[int, RunRow] = {}
        self.newest_run: dict[int, RunRow] = {}
        self.calls: dict[tuple[int, str], CallRow] = {}
        self.tombstones: set[str] = set()
        self.learned: set[int] = set()
        """Keys of sessions that became known by name or place after they began."""
        self.requested: set[int] = set()
        """Keys of sessions whose first prompt is told: the later ones of the batch are not it."""
        self.events: list[EventRow] = []
        self.session_events: list[SessionEventRow] = []
        self.touched: list[TouchedRow] = []
        self._runs: defaultdict[int, list[RunRow]] = defaultdict(list)
        self._session_calls: defaultdict[int, list[CallRow]] = defaultdict(list)
        self._calls_by_id: defaultdict[str, list[CallRow]] = defaultdict(list)
        self._changed: dict[int, SessionRow | TurnRow | RunRow | CallRow] = {}
        self._new_calls: list[CallRow] = []
        self._event_keys = iter(self.rows.reserve_event_keys(len(batch)))
        self._load(batch)

    def _load(self, batch: Sequence[Observation]) -> None:
        ids = {
            one
            for seen in batch
            for one in (seen.root_id, seen.session_id, seen.spawned_id, seen.parent_id)
            if one
        }
        self._add_sessions(self.rows.sessions_by_id(ids))
        unknown = ids - self.sessions.keys()
        if unknown:
            deleted = Tombstone.objects.filter(session_id__in=unknown)
            self.tombstones = set(deleted.values_list("session_id", flat=True))
        touched = [(seen, row) for seen in batch if (row := self.sessions.get(seen.session_id)) is not None]
        ended = {row.key for seen, row in touched if seen.kind == EventKind.SESSION_END and row.child_count}
        self._add_sessions(self.rows.live_children(ended))
        self._load_open(touched, ended)
        self.pairings = Pairings(batch, self.sessions)
        named = {(row.key, seen.turn_id) for seen, row in touched if seen.turn_id}
        found = self.rows.turns_by_id(named | set(self.pairings.ids(Counterpart.TURN)))
        self._add_turns(turn for turn, _ in found)
        self._add_runs(run for _, run in found)
        called = {(row.key, seen.call_id) for seen, row in touched if seen.call_id}
        called |= set(self.pairings.ids(Counterpart.CALL))
        # Telemetry may have put a subagent's call into the main session.
        called |= {
            (root.key, seen.call_id)
            for seen in batch
            if seen.agent_id and seen.call_id and (root := self.sessions.get(seen.root_id)) is not None
        }
        self._add_calls(self.rows.calls_by_id(called))
        self._load_homes(touched)
        self._add_runs(self.rows.runs_by_key({seen.run_key for seen in batch if seen.run_key is not None}))
        self._load_owners_of_calls()

    def _load_open(self, touched: Iterable[tuple[Observation, SessionRow]], ended: Collection[int]) -> None:
        closing = {row.key for seen, row in touched if seen.kind in CLOSING}
        closing |= {row.key for row in self.sessions.values() if row.parent_id in ended}
        # A result without an id finds its call among the open ones.
        closing |= {row.key for seen, row in touched if seen.kind in RESULTS and not seen.call_id}
        self._add_runs(self.rows.open_runs(closing | {row.key for seen, row in touched if not seen.turn_id}))
        self._add_calls(self.rows.open_calls(closing))

    def _load_homes(self, touched: Iterable[tuple[Observation, SessionRow]]) -> None:
        """The calls of subagents that telemetry may mean: it names the main session only."""
        meant = {
            (row.key, seen.call_id)
            for seen, row in touched
            if seen.source == Source.OTLP and seen.call_id and not seen.agent_id and row.child_count
        }
        found = self.rows.calls_of_children(meant)
        self._add_sessions(self.rows.sessions_by_key({call.session_id for call in found}))
        self._add_calls(found)

    def _load_owners_of_calls(self) -> None:
        """A call that moves or fails changes the counters of its turn."""
        missing = {call.run_id for call in self.calls.values() if call.run_id} - self.runs_by_key.keys()
        self._add_runs(self.rows.runs_by_key(missing))
        turns = {run.turn_id for run in self.runs_by_key.values()} - self.turns_by_key.keys()
        self._add_turns(self.rows.turns_by_key(turns))

    def _add_sessions(self, found: Iterable[SessionRow]) -> None:
        for row in found:
            if row.key not in self.sessions_by_key:
                self.sessions[row.id] = self.sessions_by_key[row.key] = row

    def _add_turns(self, found: Iterable[TurnRow]) -> None:
        for row in found:
            if row.key not in self.turns_by_key:
                self.turns[row.session_id, row.turn_id] = self.turns_by_key[row.key] = row

    def _add_runs(self, found: Iterable[RunRow]) -> None:
        for row in found:
            if row.key not in self.runs_by_key:
                self.runs_by_key[row.key] = row
                self._runs[row.session_id].append(row)
                newest = self.newest_run.get(row.turn_id)
                if newest is None or newest.number < row.number:
                    self.newest_run[row.turn_id] = row

    def _add_calls(self, found: Iterable[CallRow]) -> None:
        for row in found:
            if (row.session_id, row.call_id) not in self.calls:
                self.calls[row.session_id, row.call_id] = row
                self._session_calls[row.session_id].append(row)
                self._calls_by_id[row.call_id].append(row)

    # What the projections ask.

    def is_deleted(self, seen: Observation) -> bool:
        for one in (seen.root_id, seen.session_id):
            row = self.sessions.get(one)
            if one in self.tombstones or (row is not None and row.deleted_at is not None):
                return True
        return False

    def open_runs(self, session: SessionRow) -> list[RunRow]:
        return [run for run in self._runs[session.key] if run.status == RunStatus.RUNNING]

    def newest_open_run(self, session: SessionRow) -> RunRow | None:
        return max(self.open_runs(session), key=lambda run: run.key, default=None)

    def calls_of(self, session: SessionRow) -> list[CallRow]:
        return self._session_calls[session.key]

    def home_of(self, root: SessionRow, call_id: str) -> SessionRow:
        """The session of the family in which the call was made, as far as it is known; else the main one."""
        for call in self._calls_by_id.get(call_id, ()):
            session = self.sessions_by_key.get(call.session_id)
            if session is not None and session.parent_id == root.key:
                return session
        return root

    def run_of(self, session: SessionRow, turn_id: str) -> RunRow | None:
        """The newest run of a turn that no event of the batch has named."""
        if (session.key, turn_id) not in self.turns:
            found = self.rows.turns_by_id({(session.key, turn_id)})
            self._add_turns(turn for turn, _ in found)
            self._add_runs(run for _, run in found)
        turn = self.turns.get((session.key, turn_id))
        return None if turn is None else self.newest_run.get(turn.key)

    def turn_of(self, run: RunRow) -> TurnRow:
        return self.turns_by_key[run.turn_id]

    def live_children(self, session: SessionRow) -> list[SessionRow]:
        return [
            row
            for row in self.sessions_by_key.values()
            if row.parent_id == session.key and row.activity != Activity.ENDED
        ]

    # What they change.

    def changed(self, row: SessionRow | TurnRow | RunRow | CallRow) -> None:
        self._changed[id(row)] = row

    def next_event_key(self) -> int:
        return next(self._event_keys)

    def add_call(self, call: CallRow) -> None:
        self._add_calls([call])
        self._new_calls.append(call)

    def rename_turn(self, session: SessionRow, before: str, turn_id: str) -> None:
        turn = self.turns.pop((session.key, before), None)
        if turn is not None:
            turn.turn_id = turn_id
            self.turns[session.key, turn_id] = turn
            self.changed(turn)

    def rename_call(self, session: SessionRow, before: str, call_id: str) -> None:
        call = self.calls.pop((session.key, before), None)
        if call is not None:
            self._calls_by_id[before].remove(call)
            self.touched = [
                one._replace(call_id=call_id)
                if (one.session_id, one.call_id) == (session.key, before)
                else one
                for one in self.touched
            ]
            call.call_id = call_id
            self.calls[session.key, call_id] = call
            self._calls_by_id[call_id].append(call)
            self.changed(call)

    def move_call(self, call: CallRow, session: SessionRow) -> None:
        """The call turns out to be of another session of the family; its run is the caller's to say."""
        del self.calls[call.session_id, call.call_id]
        self._session_calls[call.session_id].remove(call)
        if call.key is not None:
            TouchedFile.objects.filter(session=call.session_id, call=call.key).update(session_id=session.key)
        self.touched = [
            one._replace(session_id=session.key)
            if (one.session_id, one.call_id) == (call.session_id, call.call_id)
            else one
            for one in self.touched
        ]
        call.session_id = session.key
        self.calls[call.session_id, call.call_id] = call
        self._session_calls[call.session_id].append(call)

    def place_children(self, parent: SessionRow) -> None:
        """What became known of where a session works holds for its subagents."""
        Session.objects.filter(parent_id=parent.key, place_id=None).update(
            host=parent.host,
            workspace=parent.workspace,
            place_id=parent.place_id,
            project_id=parent.project_id,
        )
        for row in self.sessions_by_key.values():
            if row.parent_id == parent.key and row.place_id is None:
                row.host, row.workspace = parent.host, parent.workspace
                row.place_id, row.project_id = parent.place_id, parent.project_id
                self.changed(row)
        children = Session.objects.filter(parent_id=parent.key)
        self.learned.update(children.values_list("key", flat=True))

    def touch(self, call: CallRow, files: Iterable[FileSeen]) -> None:
        """What the call did to files; told again it changes nothing."""
        self.touched += (TouchedRow(one.path, one.action, call.session_id, call.call_id) for one in files)

    def create_session(self, seen: Observation, session_id: str, **values: Any) -> SessionRow:
        """A session at its first sight; a place and project are found or made for it."""
        started = from_us(seen.at_us)
        made = Session.objects.create(
            id=session_id,
            owner_id=seen.delivery.owner_id,
            client=seen.client,
            started_at=started,
            started_us=seen.at_us,
            last_us=seen.at_us,
            activity_since_us=0,
            status=SessionStatus.ACTIVE,
            activity=Activity.IDLE,
            **values,
        )
        SessionState.objects.create(session=made, version=0, created_us=seen.at_us)
        row = SessionRow(*(getattr(made, name) for name in statements.SESSION_COLUMNS))
        row.started_at = connection.ops.adapt_datetimefield_value(started)
        row.stored = statements.SESSIONS.values(row)
        self._add_sessions([row])
        return row

    def create_root(self, seen: Observation) -> SessionRow:
        place = places.place_of(seen)
        return self.create_session(
            seen,
            seen.root_id,
            external_id=seen.external_id,
            agent_name=(not seen.agent_id and seen.agent_name) or UNNAMED_MAIN,
            host=place.host,
            workspace=place.root,
            place_id=place.workspace_id,
            project_id=place.project_id,
            branch=seen.delivery.branch[:BRANCH_CHARS] or None,
            model=seen.model if not seen.agent_id else "",
            started_only=seen.kind == EventKind.SESSION_START,
        )

    def create_child(
        self, seen: Observation, parent: SessionRow, session_id: str, agent_id: str, agent_name: str
    ) -> SessionRow:
        parent.child_count += 1
        self.changed(parent)
        return self.create_session(
            seen,
            session_id,
            parent_id=parent.key,
            family_root_id=parent.key,
            agent_id=agent_id,
            agent_name=agent_name or UNNAMED,
            host=parent.host,
            workspace=parent.workspace,
            place_id=parent.place_id,
            project_id=parent.project_id,
            branch=parent.branch,
        )

    def create_turn(
        self, seen: Observation, session: SessionRow, turn_id: str, over_us: int | None
    ) -> RunRow:
        """A turn and its first run; both are over since ``over_us`` where that is told."""
        session.turn_count += 1
        prompt = seen.prompt
        if session.agent_id and not prompt:
            # What a subagent was asked is told by its parent's call, perhaps before it began.
            asked = Session.objects.filter(key=session.key).values_list("user_request", flat=True)
            prompt = asked.get() or ""
        turn = TurnRow(
            key=0,
            session_id=session.key,
            turn_id=turn_id,
            number=session.turn_count,
            prompted=bool(prompt),
            started_us=seen.at_us,
            ended_us=over_us,
            call_count=0,
            failed_count=0,
        )
        self.rows.insert_turn(turn, self.rows.newest_state(session.key), prompt)
        status = RunStatus.RUNNING if over_us is None else RunStatus.INTERRUPTED
        if seen.source == Source.OTLP:
            status = RunStatus.COMPLETED  # it tells of what was; others know whether the run goes on
        run = RunRow(
            key=0,
            session_id=session.key,
            turn_id=turn.key,
            number=1,
            status=status,
            last_seq=0,
            started_us=seen.at_us,
            ended_us=over_us,
        )
        self.rows.insert_run(run, digest16(b"run", session.id.encode(), turn_id.encode(), b"1").hex())
        turn.stored, run.stored = statements.TURNS.values(turn), statements.RUNS.values(run)
        self._add_turns([turn])
        self._add_runs([run])
        return run

    def write_back(self) -> None:
        self.pairings.write_back()
        changed = list(self._changed.values())
        self.rows.insert(statements.EVENTS, self.events)
        self.rows.insert(statements.SESSION_EVENTS, self.session_events)
        self.rows.insert(statements.CALLS, self._new_calls)
        self.rows.insert_touched(self.touched)
        self.rows.update(
            statements.CALLS, [row for row in changed if isinstance(row, CallRow) and row.key is not None]
        )
        self.rows.update(statements.RUNS, [row for row in changed if isinstance(row, RunRow)])
        self.rows.update(statements.TURNS, [row for row in changed if isinstance(row, TurnRow)])
        self.rows.update(statements.SESSIONS, [row for row in changed if isinstance(row, SessionRow)])
