"""Events that writers append to a run: all or nothing, numbered by the server, once by their id.

A run that was opened by a writer is sealed by its terminal event. Nothing else about the ledger keeps such an
event out, so a run whose calls are in disorder can always be ended.
"""

# ruff: noqa: S608 - the text is made of our own names and of %s marks

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict, NotFound
from contextdash.ids import digest16
from contextdash.writer import write
from sessions_app.ingest.observation import Delivery, Observation, Outcome
from sessions_app.ingest.statements import Rows
from sessions_app.ingest.store import store
from sessions_app.ledger.differing import first_difference
from sessions_app.ledger.envelope import FunctionCall, FunctionResponse, Lane, Sent
from sessions_app.ledger.lanes import Lanes, check_lane
from sessions_app.ledger.observing import abort_source_of, failure_of, observe
from sessions_app.models import (
    Event,
    LedgerCall,
    Run,
    Session,
    ToolCall,
    ToolJournalEntry,
    ToolOperation,
)
from sessions_app.queries.continuations import check_start
from sessions_app.queries.sessions_api import payload_value
from sessions_app.services.partials import delete_partials_for
from sessions_app.services.spawn_calls import link_calls
from sessions_app.vocabulary import CallState

PLAIN: frozenset[Lane] = frozenset()
"""What every writer may append."""
TOOLS = frozenset({Lane.DISPATCH, Lane.RECOVERY})
"""What the writers of tool operations may append besides."""

_COLUMNS = (
    *("run_id", "provider_call_id", "call_id", "name", "operation_id"),
    *("args_hash", "call_event", "result_event", "provider_executed"),
)
_INSERT = f"INSERT INTO ledger_calls ({', '.join(_COLUMNS)}) VALUES ({', '.join(['%s'] * len(_COLUMNS))})"
_values = attrgetter(*_COLUMNS)
_ANSWER = "UPDATE ledger_calls SET result_event = %s WHERE key = %s"


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of one event that was sent."""

    id: str
    seq: int | None
    created: bool
    """False where it was there already, with the same content."""


@dataclass(frozen=True, slots=True)
class _Known:
    content: bytes
    run_id: int | None
    seq: int | None


def append_events(
    *,
    run: Run,
    events: Sequence[Sent],
    actor: Actor,
    expected_seq: int | None = None,
    expected_version: tuple[str, int] | None = None,
    writers: frozenset[Lane] = PLAIN,
) -> Sequence[Appended]:
    """Append events to a run in their order; what became of each.

    ``expected_seq`` is the number of the last event that the writer knows of, 0 for none;
    ``expected_version`` an operation's id and version. ``writers`` are the reserved lanes that the caller may
    write. ``run`` comes with its session and turn.

    Raises:
        Conflict: the run is sealed, at another seq, or was not opened by a writer; its session was deleted;
            or an event breaks a rule of the ledger, which the code names. Nothing is stored then.
    """
    for number, sent in enumerate(events):
        _check_identity(run, sent, f"events.{number}")
        check_lane(sent, f"events.{number}")
    owner = None if actor.user is None else actor.user.pk
    delivery = Delivery(received_us=clock.now_us(), owner_id=owner)
    seen = [observe(sent, run, delivery) for sent in events]
    return _append(
        run_key=run.key,
        events=events,
        seen=seen,
        expected_seq=expected_seq,
        expected_version=expected_version,
        writers=writers,
    )


@write
def _append(
    *,
    run_key: int,
    events: Sequence[Sent],
    seen: Sequence[Observation],
    expected_seq: int | None,
    expected_version: tuple[str, int] | None,
    writers: frozenset[Lane],
) -> Sequence[Appended]:
    run = locked_run(run_key)
    known = _known(seen)
    fresh: list[int] = []
    answers: list[Appended] = []
    for number, (sent, one) in enumerate(zip(events, seen, strict=True)):
        found = known.get(one.identity)
        if found is not None:
            if found.content != one.content:
                raise _conflict(sent, one, found, run, f"events.{number}", events, seen)
            answers.append(Appended(sent.event.id, found.seq, created=False))
            continue
        seq = run.last_seq + len(fresh) + 1
        known[one.identity] = _Known(one.content, run.key, seq)
        fresh.append(number)
        answers.append(Appended(sent.event.id, seq, created=True))
    if fresh:
        _admit(run, events, fresh, expected_seq)
        if run.last_seq == 0:
            check_start(run, events[fresh[0]])
        _check_version(expected_version)
        _store(run, events, seen, fresh, writers)
    return answers


def locked_run(run_key: int) -> Run:
    """The run as it is now, with its session and turn; others wait until this transaction ends.

    Raises:
        NotFound: there is none.
        Conflict: its session was deleted.
    """
    if connection.features.has_select_for_update:
        # The session, as every source locks it, and before its run is read.
        owner = Run.objects.filter(key=run_key).values("session_id")
        list(Session.objects.select_for_update().filter(key__in=owner).order_by().values_list("key"))
    try:
        run = Run.objects.select_related("session", "turn").get(key=run_key)
    except Run.DoesNotExist:
        raise NotFound(f"There is no run {run_key}.") from None
    if run.session.deleted_at is not None:
        raise Conflict(
            f"Session {run.session.id} was deleted; its id is not used again.", code="deleted_session"
        )
    return run


def _check_identity(run: Run, sent: Sent, place: str) -> None:
    """The four names of the envelope are those of the run that is addressed."""
    event = sent.event
    if event.invocation_id != run.invocation_id:
        raise Conflict(
            f"The run's invocation is {run.invocation_id}.",
            code="invocation_identity_conflict",
            field=f"{place}.invocationId",
        )
    session = run.session
    expected = {
        "sessionId": (event.session_id, {session.id, session.external_id}),
        "runId": (event.run_id, {run.run_id}),
        "turnId": (event.turn_id, {run.turn.turn_id}),
    }
    for name, (told, allowed) in expected.items():
        if told not in allowed:
            raise Conflict(
                f"{name} is not that of the run that is addressed.",
                code="identity_conflict",
                field=f"{place}.{name}",
            )


def _known(seen: Sequence[Observation]) -> dict[bytes, _Known]:
    identities = {one.identity for one in seen}
    with connection.wrap_database_errors:
        if not Rows().known_identities(identities):
            return {}
    rows = Event.objects.filter(identity__in=identities).order_by()
    return {
        bytes(identity): _Known(bytes(content), run_id, seq)
        for identity, content, run_id, seq in rows.values_list("identity", "content", "run_id", "seq")
    }


def _conflict(
    sent: Sent,
    one: Observation,
    found: _Known,
    run: Run,
    place: str,
    events: Sequence[Sent],
    seen: Sequence[Observation],
) -> Conflict:
    """Says which field of an event differs from the one of the same id."""
    stored = Event.objects.filter(identity=one.identity).values_list("payload", flat=True).first()
    if stored is not None:
        mine, other = payload_value(one.payload), payload_value(stored)
    else:  # both are of this batch
        first = next(number for number, earlier in enumerate(seen) if earlier.identity == one.identity)
        mine, other = sent.value, events[first].value
    field = first_difference(mine, other)
    code = "duplicate_event_id" if found.run_id == run.key else "identity_conflict"
    where = ".".join(part for part in (place, field) if part)
    return Conflict(f"Event {sent.event.id} is known with other content.", code=code, field=where)


def _admit(run: Run, events: Sequence[Sent], fresh: Sequence[int], expected_seq: int | None) -> None:
    """Whether the run takes new events at all."""
    if not run.ledger:
        raise Conflict(
            "Only a run that a writer opened takes events: POST turns/{id}/runs.", code="run_not_opened"
        )
    ended = run.sealed
    for number in fresh:
        if ended:
            raise Conflict(
                "The run has ended; nothing may follow its terminal event.",
                code="run_sealed",
                field=f"events.{number}",
                current=run.last_seq,
            )
        ended = events[number].event.terminal
    if expected_seq is not None and expected_seq != run.last_seq:
        raise Conflict(
            f"The run is at seq {run.last_seq}, not {expected_seq}. Read what came since.",
            code="seq_conflict",
            field="expected_seq",
            current=run.last_seq,
        )


def _check_version(expected: tuple[str, int] | None) -> None:
    if expected is None:
        return
    found = ToolOperation.objects.filter(operation_id=expected[0]).values_list("version", flat=True)
    current = found.first() or 0
    if current != expected[1]:
        raise Conflict(
            f"The operation is at version {current}, not {expected[1]}.",
            code="version_conflict",
            field="expected_version",
            current=current,
        )


def _store(
    run: Run,
    events: Sequence[Sent],
    seen: Sequence[Observation],
    fresh: Sequence[int],
    writers: frozenset[Lane],
) -> None:
    new = [(events[number], seen[number], f"events.{number}") for number in fresh]
    lanes = _lanes(run, [sent for sent, _, _ in new], writers)
    empty = run.last_seq == 0
    for sent, _, place in new:
        lanes.apply(sent, place, first=empty)
        empty = False
    ids = _call_ids(run, lanes)
    last_answer: Observation | None = None
    for sent, one, _ in new:
        if isinstance(sent.event.content, FunctionCall | FunctionResponse):
            provider_id = sent.event.content.id
            one.call_id = ids.get(provider_id) or lanes.call(provider_id).call.call_id
        if one.answer:
            if last_answer is not None:
                last_answer.answer = ""
            last_answer = one
    outcomes = store([one for _, one, _ in new])
    if any(outcome != Outcome.ACCEPTED for outcome in outcomes):
        # PostgreSQL: another session took one of the ids at this very moment.
        raise Conflict("An event's id was taken in the meantime. Send them again.", code="duplicate_event_id")
    _keep(run, lanes, ids)
    if new[-1][0].event.terminal:
        _seal(run, new[-1][0], new[-1][1])
    delete_partials_for(run=run, envelopes=[sent.value for sent, _, _ in new])


def _lanes(run: Run, new: Sequence[Sent], writers: frozenset[Lane]) -> Lanes:
    """The calls and operations that the events name, as they are stored."""
    calls, operations = _named(new)
    stored = list(
        LedgerCall.objects.filter(run=run, provider_call_id__in=calls).select_related("call").order_by()
        if calls
        else ()
    )
    of_calls = Q(operation_id__in=operations) | Q(call__in=[call.call_id for call in stored])
    found = list(ToolOperation.objects.filter(of_calls).order_by()) if stored or operations else []
    return Lanes(run_key=run.key, calls=stored, operations=found, writers=writers, at_us=clock.now_us())


def _named(new: Sequence[Sent]) -> tuple[set[str], set[str]]:
    """Ids of calls and of operations in the events."""
    calls: set[str] = set()
    operations: set[str] = set()
    for sent in new:
        content, actions = sent.event.content, sent.event.actions
        if isinstance(content, FunctionCall | FunctionResponse):
            calls.add(content.id)
        if sent.event.refs.operation_id:
            operations.add(sent.event.refs.operation_id)
        if actions.tool_dispatch:
            calls.add(actions.tool_dispatch.provider_tool_call_id)
            operations.add(actions.tool_dispatch.operation_id)
        if actions.tool_recovery:
            operations.add(actions.tool_recovery.payload.operation_id)
    return calls, operations


def _call_ids(run: Run, lanes: Lanes) -> dict[str, str]:
    """The ids under which new calls stand in their session, where other sources may know them already.

    Providers' ids are unique within a run. Where another run of the session has the same one, the later call
    gets an id of its own.
    """
    wanted = [call.provider_call_id for call in lanes.new_calls]
    if not wanted:
        return {}
    there = dict(
        ToolCall.objects.filter(session=run.session_id, call_id__in=wanted)
        .order_by()
        .values_list("call_id", "key")
    )
    taken = set(
        LedgerCall.objects.filter(call__in=there.values()).order_by().values_list("call_id", flat=True)
        if there
        else ()
    )
    return {
        one: digest16(b"call", run.invocation_id.encode(), one.encode()).hex()
        if there.get(one) in taken
        else one
        for one in wanted
    }


def _keep(run: Run, lanes: Lanes, ids: Mapping[str, str]) -> None:
    """Store what the lanes have become."""
    if lanes.new_calls:
        keys = dict(
            ToolCall.objects.filter(session=run.session_id, call_id__in=ids.values())
            .order_by()
            .values_list("call_id", "key")
        )
        for call in lanes.new_calls:
            call.call_id = keys[ids[call.provider_call_id]]
        with connection.cursor() as cursor:
            cursor.executemany(_INSERT, [_values(call) for call in lanes.new_calls])
        if run.session.child_count:
            link_calls(run.session, ids.values())
    if lanes.answered:
        with connection.cursor() as cursor:
            cursor.executemany(_ANSWER, [(call.result_event, call.pk) for call in lanes.answered])
    for operation, call in lanes.new_operations:
        operation.call_id = call.call_id
    if lanes.new_operations:
        try:
            with transaction.atomic():
                ToolOperation.objects.bulk_create([operation for operation, _ in lanes.new_operations])
        except IntegrityError as error:  # PostgreSQL: another run took the id at this very moment
            raise Conflict("Another call has this operation.", code="duplicate_operation") from error
    for operation in lanes.moved.values():
        operation.save(update_fields=["state", "version", "reconcile_event", "observation", "result_event"])
    ToolJournalEntry.objects.bulk_create(lanes.journal)


def _seal(run: Run, sent: Sent, seen: Observation) -> None:
    status = sent.event.status
    Run.objects.filter(key=run.key).update(
        sealed=True,
        version=F("version") + 1,
        failure_class=failure_of(sent) if status == "failed" else "",
        abort_source=abort_source_of(sent) if status in ("aborted", "cancelled") else "",
    )
    # What has no result by now gets none: the ledger takes no more events.
    ToolCall.objects.filter(run=run, state=CallState.PREPARED).update(
        state=CallState.INTERRUPTED, ended_us=seen.at_us
    )
