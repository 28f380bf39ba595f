"""``store_part``: what was gathered of a file becomes rows, together with how far the file is read."""

# ruff: noqa: S608 - the text is made of our own names and of %s marks

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter

from django.db import connection
from django.db.models import Max, Q

from contextdash import clock
from contextdash.cleaning import one_line
from contextdash.ids import digest16
from sessions_app.importers.gathering import Gathered, IterationSeen, joined
from sessions_app.ingest import store as ingest
from sessions_app.ingest.observation import Observation, Outcome
from sessions_app.models import Event, ImportSource, Iteration, Quarantined, Run, Session
from sessions_app.pricing import PriceBook
from sessions_app.services.usage import TOKENS, Ledger, usage_of
from sessions_app.vocabulary import EventKind, Source


@dataclass(slots=True)
class Part:
    """A piece of a file: what it told, the lines that could not be used, and the file's row."""

    gathered: Gathered
    source: ImportSource
    session_id: str = ""
    title: str = ""
    skipped: list[Quarantined] = field(default_factory=list)


def store_parts(parts: Sequence[Part]) -> Sequence[int]:
    """Store parts in their order; how many events of each were new. Call it inside a write."""
    return [_store(part) for part in parts]


def _store(part: Part) -> int:
    observations = part.gathered.observations
    outcomes = ingest.store(observations) if observations else []
    if Outcome.DELETED_SESSION in outcomes:
        part.source.error = f"Session {part.session_id} was deleted; its id is not used again."
    accepted = sum(outcome == Outcome.ACCEPTED for outcome in outcomes)
    copied = [seen for seen, out in zip(observations, outcomes, strict=True) if out == Outcome.DUPLICATE]
    if copied and part.source.state.get("forked_from") is None:
        _note_source(part, copied)
    _store_iterations(part.gathered.iterations, observations)
    if part.session_id:
        _tell_session(part)
    Quarantined.objects.bulk_create(part.skipped)
    part.source.imported_at = clock.now()
    part.source.save()
    return accepted


def _note_source(part: Part, copied: Iterable[Observation]) -> None:
    """Records that another session of another family had first: this one was forked from it."""
    identities = [seen.identity for seen in copied][:50]
    found = (
        Event.objects.filter(identity__in=identities)
        .exclude(session__id=part.session_id)
        .order_by("key")
        .values_list("session_id", "session__id", "session__parent_id")
        .first()
    )
    part.source.copied += len(identities) if found else 0
    if found is not None and found[2] is None:
        part.source.state["forked_from"] = found[0]
        part.source.facts["forked_from"] = found[1]


def _tell_session(part: Part) -> None:
    session = Session.objects.filter(id=part.session_id, deleted_at=None).first()
    if session is None:
        return
    changed: list[str] = []
    forked_from = part.source.state.get("forked_from")
    own_session = session.parent_id is None and forked_from != session.key
    if forked_from and own_session and session.forked_from_id is None:
        session.forked_from_id = forked_from
        changed.append("forked_from")
    given = part.source.facts.get("title_given", "")
    own = one_line(session.user_request or "", 200)
    # A title that a person gave stays.
    if part.title and session.title != part.title and session.title in ("", own, given):
        session.title = part.title
        changed.append("title")
    if part.title:
        part.source.facts["title_given"] = part.title
    if changed:
        session.save(update_fields=changed)


def _store_iterations(seen: Mapping[bytes, IterationSeen], observations: Sequence[Observation]) -> None:
    if not seen:
        return
    known = {bytes(row.identity): row for row in Iteration.objects.filter(identity__in=list(seen))}
    fresh = [one for identity, one in seen.items() if identity not in known]
    sessions = _sessions(fresh, observations)
    runs = _runs(fresh, sessions)
    book, ledger = PriceBook(), Ledger()
    made: list[_Row] = []
    for one in fresh:
        session = sessions.get(one.session_id)
        if session is not None and session.deleted_at is None:
            row = _new_row(one, session, runs.get((session.key, one.turn_id)))
            _price(row, book)
            ledger.add(row)
            made.append(row)
    _insert(made)
    for identity, stored in known.items():
        _merge(stored, seen[identity], book, ledger)
    _set_models(made, sessions)
    ledger.store()


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
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_5m_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    web_searches: int = 0
    tool_tokens: int = 0
    cost_micro: int | None = None
    priced_by: str = ""
    told_micro: int | None = None
    duration_us: int | None = None
    purpose: str = ""


_COLUMNS = tuple(column.name for column in fields(_Row))
_INSERT = f"INSERT INTO iterations ({', '.join(_COLUMNS)}) VALUES ({', '.join(['%s'] * len(_COLUMNS))})"
_values = attrgetter(*_COLUMNS)


def _new_row(one: IterationSeen, session: Session, run: int | None) -> _Row:
    row = _Row(
        session_id=session.key,
        run_id=run,
        identity=one.identity,
        response_id=one.response_id,
        request_id=one.request_id,
        source=Source.TRANSCRIPT,
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
    )
    _set_usage(row, one)
    return row


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


def _price(row: Iteration | _Row, book: PriceBook) -> None:
    row.cost_micro, row.priced_by = book.price(
        usage_of(row), model=row.model, provider=row.provider, at_us=row.at_us, speed=row.speed
    )


def _merge(row: Iteration, one: IterationSeen, book: PriceBook, ledger: Ledger) -> None:
    """Another record of a known call: from a later part, a later import, or a copy in another file."""
    before = Iteration.objects.get(key=row.key)
    more = one.usage is not None and (
        row.output_tokens is None
        or one.usage.output > row.output_tokens
        or (one.whole and one.usage != usage_of(row))
    )
    if more:
        _set_usage(row, one)
        row.assumed = one.assumed
        row.model, row.speed = one.model or row.model, one.speed or row.speed
    if Session.objects.filter(key=row.session_id, id=one.session_id).exists():
        row.at_us, row.ended_us = min(row.at_us, one.at_us), max(row.ended_us, one.ended_us)
        row.thinking = joined(row.thinking, one.thinking, whole=one.whole)
        row.prose = joined(row.prose, one.prose, whole=one.whole)
        row.call_ids = row.call_ids + [call for call in one.call_ids if call not in row.call_ids]
        row.stop_reason = one.stop_reason or row.stop_reason
        row.request_id = row.request_id or one.request_id
    if more or row.at_us != before.at_us:
        _price(row, book)
        ledger.add(before, -1)
        ledger.add(row)
    row.save()


def _sessions(fresh: Iterable[IterationSeen], observations: Sequence[Observation]) -> dict[str, Session]:
    wanted = {one.session_id: one for one in fresh}
    found = _found(wanted)
    missing = [one for session_id, one in wanted.items() if session_id not in found]
    if missing and observations:
        # A model call is all that is known of it so far: it begins with that.
        ingest.store([_opening(one, observations[-1]) for one in missing])
        found = _found(wanted)
    return found


def _found(ids: Iterable[str]) -> dict[str, Session]:
    needed = ("id", "project_id", "client", "agent_name", "model", "deleted_at")
    return {row.id: row for row in Session.objects.filter(id__in=list(ids)).only(*needed)}


def _opening(one: IterationSeen, like: Observation) -> Observation:
    seen = Observation(client=like.client, name="opening", delivery=like.delivery, source=like.source)
    seen.kind = EventKind.OTHER
    seen.root_id, seen.session_id, seen.agent_id = one.root_id, one.session_id, one.agent_id
    seen.identity = digest16(b"opening", one.session_id.encode())
    seen.content, seen.cwd = seen.identity, like.cwd
    seen.payload, seen.payload_size = like.payload, like.payload_size
    seen.occurred_us = seen.at_us = one.at_us
    return seen


def _runs(fresh: Iterable[IterationSeen], sessions: Mapping[str, Session]) -> dict[tuple[int, str], int]:
    """The newest run of each turn that the calls name."""
    wanted: dict[int, set[str]] = {}
    for one in fresh:
        if one.turn_id and one.session_id in sessions:
            wanted.setdefault(sessions[one.session_id].key, set()).add(one.turn_id)
    condition = Q(key__in=[])
    for key, turns in wanted.items():
        condition |= Q(turn__session_id=key, turn__turn_id__in=turns)
    found = (
        Run.objects.filter(condition)
        .values_list("turn__session_id", "turn__turn_id")
        .annotate(run=Max("key"))
    )
    return {(session, turn): run for session, turn, run in found}


def _set_models(made: Sequence[_Row], sessions: Mapping[str, Session]) -> None:
    newest: dict[int, str] = {row.session_id: row.model for row in made if row.model}
    for session in sessions.values():
        model = newest.get(session.key)
        if model and not session.model:
            Session.objects.filter(key=session.key).update(model=model)
