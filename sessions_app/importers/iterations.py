"""Model calls become rows: one Iteration each, whoever tells of it, counted once in every sum.

A call is found by its response id and, where telemetry tells of it, by its request id within the family of
its session. A transcript's word holds; telemetry adds the calls that no transcript has, and what a call took.
Whatever order both come in, the row is the same.
"""

# ruff: noqa: S608 - the text is made of our own names and of %s marks

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from operator import attrgetter

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from contextdash.ids import child_session_id, digest16
from sessions_app.importers.gathering import IterationSeen, joined, longer
from sessions_app.importers.known_calls import by_identity, by_request, newest_runs, sessions_of
from sessions_app.ingest import store as ingest
from sessions_app.ingest.observation import Observation
from sessions_app.models import Iteration, Run, Session, Turn
from sessions_app.pricing import PriceBook
from sessions_app.services.usage import TOKENS, Ledger, price_of, usage_of
from sessions_app.vocabulary import EventKind, Source

TOTAL = "total"
"""The purpose of a row that is the sum of an agent's calls: it goes where the calls themselves are told."""


def store_iterations(seen: Mapping[bytes, IterationSeen], observations: Sequence[Observation]) -> None:
    """Store model calls, all of one source, and count them. Call it inside a write, after their events.

    ``observations`` are of the same delivery or file; the last one says where from, should a session be new.
    """
    if seen:
        _Batch(seen, observations).store()


class _Batch:
    def __init__(self, seen: Mapping[bytes, IterationSeen], observations: Sequence[Observation]) -> None:
        self._book, self._ledger = PriceBook(), Ledger()
        self._observations = observations
        self._known = by_identity(seen)
        self._told = by_request(seen, self._known)
        self._seen = seen
        self._sessions: dict[str, Session] = {}
        self._runs: dict[tuple[int, str], int] = {}
        self._models: dict[int, str] = {}
        self._began: dict[int, int] = {}

    def store(self) -> None:
        places = {identity: self._place(identity, one) for identity, one in self._seen.items()}
        self._sessions = self._find_sessions()
        self._runs = self._find_runs(places)
        made: list[_Row] = []
        for identity, one in self._seen.items():
            row, told = self._known.get(identity), self._told.get(identity)
            if row is not None and told is not None:
                self._absorb(row, told)
            row = row or told
            if row is not None:
                self._merge(row, one, places[identity])
                continue
            session = self._sessions.get(one.session_id)
            if session is not None and session.deleted_at is None:
                made.append(self._new(one, session))
        _insert(made)
        if any(one.source == Source.OTLP for one in self._seen.values()):
            self._drop_totals({row.run_id for row in made if row.run_id is not None})
        self._store_told()
        self._ledger.store()

    # Where a call belongs.

    def _place(self, identity: bytes, one: IterationSeen) -> tuple[str, str]:
        """(session id, turn id) of the call, as far as what is known and what is told say together."""
        row = self._known.get(identity) or self._told.get(identity)
        if row is None or row.source != Source.OTLP or one.source != Source.OTLP:
            return one.session_id, one.turn_id
        # Telemetry names the subagent in one record and the turn in another.
        session_id = one.session_id if one.agent_id else row.session.id
        return session_id, one.turn_id or (row.run.turn.turn_id if row.run else "")

    def _find_sessions(self) -> dict[str, Session]:
        wanted = {
            one.session_id: one
            for identity, one in self._seen.items()
            if identity not in self._known or (one.source == Source.OTLP and one.agent_id)
        }
        found = sessions_of(wanted)
        missing = [one for session_id, one in wanted.items() if session_id not in found]
        if missing and self._observations:
            # A model call is all that is known of it so far: it begins with that.
            ingest.store([_opening(one, self._observations[-1], one.agent_id) for one in missing])
            found = sessions_of(wanted)
        return found

    def _find_runs(self, places: Mapping[bytes, tuple[str, str]]) -> dict[tuple[int, str], int]:
        """The newest run of each turn that the calls name; telemetry's word is enough for a turn to be."""
        sessions = {row.session.id: row.session for row in (*self._known.values(), *self._told.values())}
        sessions |= self._sessions
        named = {
            (sessions[session_id].key, turn_id): (self._seen[identity], sessions[session_id])
            for identity, (session_id, turn_id) in places.items()
            if turn_id and session_id in sessions
        }
        found = newest_runs(named)
        if self._observations:
            openings = [
                _opening(one, self._observations[-1], session.agent_id, turn_id)
                for (key, turn_id), (one, session) in named.items()
                if one.source == Source.OTLP and (key, turn_id) not in found
            ]
            if openings:
                ingest.store(openings)
                found = newest_runs(named)
        return found

    # What becomes of its row.

    def _new(self, one: IterationSeen, session: Session) -> "_Row":
        row = _Row(
            session_id=session.key,
            run_id=self._runs.get((session.key, one.turn_id)),
            identity=one.identity,
            response_id=one.response_id,
            request_id=one.request_id,
            source=one.source,
            provider=one.provider,
            model=one.model,
            speed=one.speed,
            project_key=session.project_id or 0,
            client=session.client,
            agent=session.agent_name,
            at_us=one.at_us,
            ended_us=one.ended_us,
            stop_reason=one.stop_reason,
            thinking=one.thinking,
            prose=one.prose,
            call_ids=json.dumps(one.call_ids),
            assumed=one.assumed,
            told_micro=one.told_micro,
            duration_us=one.duration_us,
            purpose=one.purpose,
        )
        _set_usage(row, one)
        row.cost_micro, row.priced_by = price_of(row, self._book)
        self._ledger.add(row)
        self._tell_session(row)
        if one.source == Source.OTLP:
            self._tell_run(row.run_id, row.at_us)
        return row

    def _merge(self, row: Iteration, one: IterationSeen, place: tuple[str, str]) -> None:
        """Another record of a known call: from a later part, another source, or a copy in another file."""
        before = copy(row)
        if one.source == Source.OTLP:
            self._fill(row, one, place)
        elif row.source == Source.OTLP:
            self._adopt(row, one)
        else:
            _join(row, one)
        if _priced(before) != _priced(row):
            row.cost_micro, row.priced_by = price_of(row, self._book)
        if _counted(before) != _counted(row):
            self._ledger.add(before, -1)
            self._ledger.add(row)
        row.save()
        self._tell_session(row)
        if one.source == Source.OTLP:
            self._tell_run(row.run_id, one.at_us)

    def _adopt(self, row: Iteration, one: IterationSeen) -> None:
        """The transcript tells of a call that was known by its telemetry: its word holds from now on."""
        session = self._sessions.get(one.session_id)
        if session is None or session.deleted_at is not None:
            return
        self._move(row, session)
        row.run_id = self._runs.get((session.key, one.turn_id))
        row.source, row.identity, row.response_id = one.source, one.identity, one.response_id
        row.provider, row.model, row.speed = one.provider, one.model, one.speed
        row.at_us, row.ended_us, row.stop_reason = one.at_us, one.ended_us, one.stop_reason
        row.thinking, row.prose, row.call_ids = one.thinking, one.prose, one.call_ids
        if one.usage is not None:
            _set_usage(row, one)
            row.assumed = one.assumed

    def _fill(self, row: Iteration, one: IterationSeen, place: tuple[str, str]) -> None:
        """What telemetry adds; of several of its records the most that any tells holds."""
        row.duration_us = longer(row.duration_us, one.duration_us)
        row.told_micro = one.told_micro if row.told_micro is None else row.told_micro
        row.purpose = row.purpose or one.purpose
        if row.source != Source.OTLP:
            return
        if one.usage is not None and (row.output_tokens is None or one.usage.output > row.output_tokens):
            _set_usage(row, one)
            row.assumed = one.assumed
        row.model = min(filter(None, (row.model, one.model)), default="")
        row.speed, row.provider = row.speed or one.speed, row.provider or one.provider
        row.at_us, row.ended_us = min(row.at_us, one.at_us), max(row.ended_us, one.ended_us)
        row.stop_reason = row.stop_reason or one.stop_reason
        row.prose = joined(row.prose, one.prose)
        session = self._sessions.get(place[0])
        if session is not None and session.deleted_at is None:
            self._move(row, session)
        row.run_id = self._runs.get((row.session_id, place[1]), row.run_id)

    def _absorb(self, row: Iteration, told: Iteration) -> None:
        """Two rows are one call: the records of a fork came first, then telemetry of its source."""
        row.duration_us = longer(row.duration_us, told.duration_us)
        row.told_micro = told.told_micro if row.told_micro is None else row.told_micro
        row.purpose = row.purpose or told.purpose
        self._ledger.add(told, -1)
        told.delete()

    def _move(self, row: Iteration, session: Session) -> None:
        if row.session_id != session.key:
            row.session_id, row.run_id = session.key, None
            row.project_key, row.client = session.project_id or 0, session.client
            row.agent = session.agent_name

    def _drop_totals(self, runs: Iterable[int]) -> None:
        """An agent's total is no call besides its calls."""
        # The same turn, in a child where its calls were told before its conversation was.
        calls = Iteration.objects.filter(
            Q(session=OuterRef("session")) | Q(session__parent=OuterRef("session")),
            run__turn__turn_id=OuterRef("run__turn__turn_id"),
        ).exclude(purpose=TOTAL)
        for row in Iteration.objects.filter(Exists(calls), run__in=list(runs), purpose=TOTAL):
            self._ledger.add(row, -1)
            row.delete()

    def _tell_session(self, row: "Iteration | _Row") -> None:
        """Its model becomes the session's. Titles are often made by a smaller one, outside of any turn."""
        if row.model and (row.source != Source.OTLP or row.run_id is not None):
            self._models[row.session_id] = row.model

    def _tell_run(self, run_id: int | None, at_us: int) -> None:
        """A run began no later than any call of a model in it."""
        if run_id is not None:
            self._began[run_id] = min(at_us, self._began.get(run_id, at_us))

    def _store_told(self) -> None:
        named = {row.key for row in self._sessions.values() if row.model}
        for key, model in self._models.items():
            if key in named:
                continue
            Session.objects.filter(key=key, model="").update(model=model)
        for key, at_us in self._began.items():
            Run.objects.filter(key=key, started_us__gt=at_us).update(started_us=at_us)
            Turn.objects.filter(runs=key, started_us__gt=at_us).update(started_us=at_us)


@dataclass(slots=True)
class _Row:
    """An iteration on its way into the table: the ORM's object would cost more than all else about it."""

    session_id: int
    run_id: int | None
    identity: bytes
    response_id: str
    request_id: str
    source: str
    provider: str
    model: str
    speed: str
    project_key: int
    client: str
    agent: str
    at_us: int
    ended_us: int
    stop_reason: str
    thinking: str
    prose: str
    call_ids: str
    assumed: str
    told_micro: int | None
    duration_us: int | None
    purpose: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_5m_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    web_searches: int = 0
    tool_tokens: int = 0
    thinking_tokens: int = 0
    cost_micro: int | None = None
    priced_by: str = ""


_COLUMNS = tuple(column.name for column in fields(_Row))
_INSERT = f"INSERT INTO iterations ({', '.join(_COLUMNS)}) VALUES ({', '.join(['%s'] * len(_COLUMNS))})"
_values = attrgetter(*_COLUMNS)

_priced = attrgetter(
    *(*TOKENS, "web_searches", "tool_tokens"),
    *("model", "provider", "speed", "at_us", "told_micro", "source"),
)
_counted = attrgetter(
    *TOKENS, "web_searches", "session_id", "project_key", "client", "agent", "model", "at_us", "cost_micro"
)


def _insert(rows: Sequence[_Row]) -> None:
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_INSERT, [_values(row) for row in rows])


def _set_usage(row: Iteration | _Row, one: IterationSeen) -> None:
    if one.usage is None:
        return
    numbers = one.usage[: len(TOKENS)]
    for name, number in zip(TOKENS, numbers, strict=True):
        setattr(row, name, number)
    row.web_searches, row.tool_tokens = one.usage.web_searches, one.usage.tool
    row.thinking_tokens = one.usage.thinking


def _join(row: Iteration, one: IterationSeen) -> None:
    """Another record of the same kind."""
    more = one.usage is not None and (
        row.output_tokens is None
        or one.usage.output > row.output_tokens
        or (one.whole and one.usage != usage_of(row))
    )
    if more:
        _set_usage(row, one)
        row.assumed = one.assumed
        row.model, row.speed = one.model or row.model, one.speed or row.speed
    row.told_micro = row.told_micro if one.told_micro is None else one.told_micro
    if row.session.id == one.session_id:
        row.at_us, row.ended_us = min(row.at_us, one.at_us), max(row.ended_us, one.ended_us)
        row.thinking = joined(row.thinking, one.thinking, whole=one.whole)
        row.prose = joined(row.prose, one.prose, whole=one.whole)
        row.call_ids = row.call_ids + [call for call in one.call_ids if call not in row.call_ids]
        row.stop_reason = one.stop_reason or row.stop_reason
        row.request_id = row.request_id or one.request_id


def _opening(one: IterationSeen, like: Observation, agent_id: str, turn_id: str = "") -> Observation:
    """The event that a session, or a turn of it, begins with where nothing but a model call tells of it."""
    seen = Observation(client=like.client, name="opening", delivery=like.delivery, source=like.source)
    seen.kind = EventKind.MODEL_CALL if turn_id else EventKind.OTHER
    seen.root_id, seen.agent_id, seen.turn_id = one.root_id, agent_id, turn_id
    seen.session_id = child_session_id(one.root_id, agent_id) if agent_id else one.root_id
    named = (seen.session_id.encode(), turn_id.encode()) if turn_id else (seen.session_id.encode(),)
    seen.identity = digest16(b"opening", *named)
    seen.content, seen.cwd = seen.identity, like.cwd
    seen.payload, seen.payload_size = like.payload, like.payload_size
    seen.occurred_us = seen.at_us = one.at_us
    return seen
