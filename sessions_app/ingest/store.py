"""``store``: a batch of observations becomes events, and moves what they tell of. Call it inside a write.

One delivery is one Event; projections (session, turns, runs, calls) are part of the same transaction. Any
order and any number of times: what is known already is recognised by its identity.
"""

import logging
import zlib
from collections.abc import Sequence

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Q

from contextdash.actor import SYSTEM
from contextdash.clock import from_us
from contextdash.errors import Refused
from contextdash.ids import digest16
from sessions_app.ingest import activity, calls, turns
from sessions_app.ingest.observation import HISTORY, Observation, Outcome, PlanSeen
from sessions_app.ingest.rows import CallRow, EventRow, SessionEventRow, SessionRow
from sessions_app.ingest.state import UNNAMED, UNNAMED_MAIN, State
from sessions_app.models import Plan, Quarantined, Session, Turn
from sessions_app.queries.session import is_within
from sessions_app.services.hook_buckets import Counts, add_counts
from sessions_app.services.hook_events import log_hook_event
from sessions_app.services.plans import snapshot_plan
from sessions_app.services.quarantine import refused_row
from sessions_app.services.usage import recount
from sessions_app.vocabulary import EventKind, HookOutcome, Source

log = logging.getLogger("contextdash.ingest")

ATTEMPTS = 3
SAME_BYTES_US = 5_000_000

_COUNTED_AS = {
    Outcome.ACCEPTED: "accepted",
    Outcome.COUNTED: "accepted",
    Outcome.DUPLICATE: "duplicate",
    Outcome.CONFLICT: "refused",
    Outcome.DELETED_SESSION: "refused",
}


def store(batch: Sequence[Observation]) -> Sequence[Outcome]:
    """Store deliveries in their order, in bulk; what became of each."""
    if connection.vendor == "sqlite":
        with connection.wrap_database_errors:
            return _store(batch)
    for attempt in range(ATTEMPTS):
        try:
            with transaction.atomic(), connection.wrap_database_errors:
                return _store(batch)
        except (IntegrityError, OperationalError):
            # Another server process stored the same session, turn or call at this moment: it is known now.
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _store(batch: Sequence[Observation]) -> Sequence[Outcome]:
    ledger = [seen for seen in batch if seen.session_id and not seen.stream]
    state = State(ledger)
    # After the sessions are locked, so that what another process has just stored is seen.
    known = state.rows.known_identities(
        {one for seen in ledger for one in (seen.identity, seen.earlier_identity) if one}
    )
    counts = Counts()
    refused: list[Quarantined] = []
    outcomes: list[Outcome] = []
    for seen in batch:
        outcome = _outcome(state, seen, known)
        if outcome == Outcome.ACCEPTED:
            _accept(state, seen)
        outcomes.append(outcome)
        if seen.source != Source.HOOK:
            continue  # whoever reads a file tells of it once, not for each of its lines
        if outcome in (Outcome.CONFLICT, Outcome.DELETED_SESSION):
            refused.append(_refused(seen, outcome))
        counts.add(seen.delivery.received_us, seen.client, seen.name, _COUNTED_AS[outcome])
        if outcome == Outcome.ACCEPTED and not seen.known:
            counts.add(seen.delivery.received_us, seen.client, seen.name, "unknown")
    state.write_back()
    _capture_plans(
        state, [seen for seen, out in zip(batch, outcomes, strict=True) if out == Outcome.ACCEPTED]
    )
    if state.learned:
        recount(session_keys=state.learned)
    Quarantined.objects.bulk_create(refused)
    add_counts(counts)
    return outcomes


def _outcome(state: State, seen: Observation, known: dict[bytes, tuple[bytes, int]]) -> Outcome:
    if seen.stream:
        return Outcome.COUNTED
    if not seen.session_id:
        return Outcome.ACCEPTED
    if state.is_deleted(seen):
        return Outcome.DELETED_SESSION
    received_us = seen.delivery.received_us
    found = known.get(seen.identity)
    if found is None and seen.earlier_identity in known:
        earlier = known[seen.earlier_identity]
        found = earlier if abs(received_us - earlier[1]) <= SAME_BYTES_US else None
    if found is not None:
        # A fork's file holds the records of its source, with another session's id in them.
        same = found[0] == seen.content or seen.source == Source.TRANSCRIPT
        return Outcome.DUPLICATE if same else Outcome.CONFLICT
    known[seen.identity] = (seen.content, received_us)
    return Outcome.ACCEPTED


def _accept(state: State, seen: Observation) -> None:
    if not seen.session_id:
        log_hook_event(
            hook_name=seen.client,
            event_type=seen.name,
            outcome=HookOutcome.OK,
            payload_json=zlib.decompress(seen.payload).decode(),
            actor=SYSTEM,
        )
        return
    root = state.sessions.get(seen.root_id) or state.create_root(seen)
    if seen.parent_id and root.parent_id is None:
        _link_parent(state, root, seen)
    session = root
    if seen.agent_id:
        session = state.sessions.get(seen.session_id) or state.create_child(
            seen, root, seen.session_id, seen.agent_id, seen.agent_name
        )
        _name(state, session, seen.agent_name)
        _touch_parent(state, root, seen)
    else:
        _name(state, root, seen.agent_name)
        if seen.source == Source.OTLP and seen.call_id:
            session = state.home_of(root, seen.call_id)
    _project(state, root, session, seen)


def _name(state: State, session: SessionRow, name: str) -> None:
    """An agent whose first events did not tell what it is."""
    if name and session.agent_name == (UNNAMED if session.agent_id else UNNAMED_MAIN) != name:
        session.agent_name = name
        state.learned.add(session.key)
        state.changed(session)


def _project(state: State, root: SessionRow, session: SessionRow, seen: Observation) -> None:
    state.pairings.resolve(state, session, seen)
    live = seen.source not in HISTORY
    if live:
        activity.reopen(session, seen)
    late = live and activity.is_over(session)
    run = turns.run_for(state, session, seen)
    event_key = state.next_event_key()
    call: CallRow | None = None
    if run is not None:
        turns.apply(state, session, run, seen)
    # The numbers of a ledger's run are its writer's: what others tell of it has a place in the session only.
    counted = run is not None and (seen.run_key is not None or not run.ledger)
    if run is not None and counted:
        run.last_seq += 1
    if seen.kind in calls.KINDS:
        call = calls.apply(state, session, run, seen, event_key, late=late)
        if seen.spawned_id:
            _link_child(state, root, call, seen)
    if seen.kind in activity.ENDS:
        turns.interrupt_others(state, session, seen)
        activity.end_children(state, session, seen)
    if live and not late:
        activity.apply(state, session, run, call, seen)
    activity.describe(state, session, seen)
    _count(session, seen)
    state.changed(session)
    state.events.append(
        EventRow(
            key=event_key,
            session_id=session.key,
            run_id=None if run is None else run.key,
            seq=run.last_seq if run is not None and counted else None,
            ordinal=session.ordinal,
            source=seen.source,
            client=seen.client,
            name=seen.name,
            kind=seen.kind,
            identity=seen.identity,
            content=seen.content,
            occurred_us=seen.occurred_us,
            received_us=seen.delivery.received_us,
            payload=seen.payload,
            payload_size=seen.payload_size,
            late=late,
        )
    )
    if seen.category:
        _tell(state, session, seen, event_key)


def _count(session: SessionRow, seen: Observation) -> None:
    session.ordinal += 1
    session.event_count += 1
    session.last_us = max(session.last_us, seen.at_us)
    if seen.at_us < session.started_us:
        session.started_us = seen.at_us
        session.started_at = connection.ops.adapt_datetimefield_value(from_us(seen.at_us))
    if seen.kind != EventKind.SESSION_START:
        session.started_only = False


def _link_parent(state: State, session: SessionRow, seen: Observation) -> None:
    """A subagent whose client gives it a session of its own."""
    parent = state.sessions.get(seen.parent_id)
    if parent is None or parent is session or parent.deleted_at is not None:
        return
    held = {row.key: row.parent_id for row in state.sessions.values()}
    if session.child_count and is_within(parent.key, session.key, held):
        return  # nobody is their own ancestor, whatever two clients say of each other
    session.parent_id = parent.key
    if seen.agent_name:
        session.agent_name = seen.agent_name
    Session.objects.filter(key=session.key).update(family_root_id=parent.parent_id or parent.key)
    parent.child_count += 1
    state.changed(session)
    _touch_parent(state, parent, seen)


def _touch_parent(state: State, parent: SessionRow, seen: Observation) -> None:
    """What a subagent does shows on its parent's page and place in the lists."""
    parent.ordinal += 1
    parent.last_us = max(parent.last_us, seen.at_us)
    parent.started_only = False
    state.changed(parent)


def _tell(state: State, session: SessionRow, seen: Observation, event_key: int) -> None:
    if seen.kind == EventKind.COMPACT_END and activity.same_compaction(state, session, seen, _type(seen)):
        return
    state.session_events.append(
        SessionEventRow(
            session_id=session.key,
            event_id=event_key,
            type=_type(seen),
            category=seen.category,
            priority=seen.priority,
            data=seen.data,
            occurred_us=seen.at_us,
        )
    )
    if seen.kind in activity.COMPACTION:
        activity.count_compactions(state, session)


def _type(seen: Observation) -> str:
    # What a transcript tells besides has a word of its own: hooks tell of the same moment.
    by_name = seen.kind == EventKind.OTHER or seen.source in HISTORY
    return seen.name[:60] if by_name else seen.kind


def _link_child(state: State, root: SessionRow, call: CallRow, seen: Observation) -> None:
    child = state.sessions.get(seen.spawned_id)
    if seen.spawned_id in state.tombstones or (child is not None and child.deleted_at is not None):
        return
    if child is None:
        child = state.create_child(
            seen, root, seen.spawned_id, seen.spawned_agent_id, seen.spawned_agent_name
        )
    _name(state, child, seen.spawned_agent_name)
    call.child_id = child.key
    child.title = child.title or seen.spawned_title
    # The suffix names a size of context, not a model; the records of model calls leave it out.
    child.model = child.model or seen.spawned_model.removesuffix("[1m]")
    child.ordinal += 1
    child.last_us = max(child.last_us, seen.at_us)
    state.changed(child)
    if seen.spawned_prompt:
        Session.objects.filter(key=child.key, user_request=None).update(user_request=seen.spawned_prompt)
        Turn.objects.filter(session_id=child.key, number=1, prompt="").update(prompt=seen.spawned_prompt)


def _capture_plans(state: State, accepted: Sequence[Observation]) -> None:
    """Versions of plans that were proposed or written; they touch their session, so after it is stored."""
    for seen in accepted:
        for plan in seen.plans:
            row = state.sessions[seen.session_id]
            if _is_overtaken(row, plan, seen):
                continue
            try:
                with transaction.atomic():
                    snapshot_plan(
                        session=Session.objects.get(key=row.key),
                        title=plan.title or None,
                        path=plan.path,
                        body=plan.body,
                        created_by=row.agent_name,
                        status=plan.status,
                        actor=SYSTEM,
                        at=from_us(seen.at_us),
                    )
            except Refused as error:
                log.warning("a plan of session %s was not kept: %s", row.id, error.detail)


def _is_overtaken(row: SessionRow, plan: PlanSeen, seen: Observation) -> bool:
    """Whether a later version is there: a transcript tells what was before, a late hook what is known."""
    home = Q(project=None) if row.project_id is None else Q(project=row.project_id)
    alike = Plan.objects.filter(home, path=plan.path)
    digest = digest16(plan.body.encode("utf-8", "replace"))
    newest = alike.filter(newest=True, ts__gt=from_us(seen.at_us)).exclude(body_digest=digest)
    return newest.exists() and (seen.source in HISTORY or alike.filter(body_digest=digest).exists())


def _refused(seen: Observation, outcome: Outcome) -> Quarantined:
    detail = {
        Outcome.CONFLICT: "The same delivery was stored before with other content.",
        Outcome.DELETED_SESSION: f"Session {seen.root_id} was deleted; its id is not used again.",
    }[outcome]
    return refused_row(
        client=seen.client,
        event=seen.name,
        reason=outcome,
        detail=detail,
        body=zlib.decompress(seen.payload),
        body_size=seen.payload_size,
        session_id=seen.root_id,
    )
