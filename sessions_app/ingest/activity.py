"""What a session is doing, and its state: moved by its hooks.

``activity`` is working, waiting, idle or ended; ``status`` active, compacted, closed or errored.
"""

from django.db import connection

from contextdash.cleaning import one_line
from contextdash.clock import from_us
from sessions_app.ingest import calls, places, turns
from sessions_app.ingest.observation import Observation
from sessions_app.ingest.rows import CallRow, RunRow, SessionRow
from sessions_app.ingest.state import BRANCH_CHARS, State
from sessions_app.models import Session, SessionEvent
from sessions_app.vocabulary import Activity, CallState, EventKind, RunStatus, SessionStatus, Source

COMPACTION = (EventKind.COMPACT_START, EventKind.COMPACT_END)
ENDS_OF_COMPACTION = (EventKind.COMPACT_END, "compact_boundary", "compaction")
TOLD_OF_COMPACTION = (EventKind.COMPACT_START, *ENDS_OF_COMPACTION)
SAME_COMPACTION_US = 120 * 1_000_000
"""What two sources tell of within this time is one compaction."""
"""Types of session events; the last two are a transcript's and telemetry's."""
STARTS = frozenset({EventKind.SESSION_START, EventKind.SUBAGENT_START, EventKind.PROMPT})
ENDS = frozenset({EventKind.SESSION_END, EventKind.SUBAGENT_END})
WORKING = frozenset(
    {EventKind.PROMPT, EventKind.TOOL_START, EventKind.SUBAGENT_START, EventKind.COMPACT_START}
)
RESULTS = frozenset({*calls.RESULTS, EventKind.TOOL_BATCH})


def is_over(session: SessionRow) -> bool:
    return session.activity == Activity.ENDED


def reopen(session: SessionRow, seen: Observation) -> None:
    """A prompt or a start brings an ended or compacted session back, if it came after the end."""
    if seen.kind not in STARTS:
        return
    if is_over(session):
        if not _after_the_end(session, seen):
            return
        session.ended_at = None
        session.activity = Activity.IDLE
    session.status = SessionStatus.ACTIVE


def apply(
    state: State, session: SessionRow, run: RunRow | None, call: CallRow | None, seen: Observation
) -> None:
    """Move activity and status. Only for events of a session that is not over."""
    if seen.kind in COMPACTION:
        session.status = SessionStatus.COMPACTED
    elif seen.kind == EventKind.TURN_FAILED:
        session.status = SessionStatus.ERRORED
    elif seen.kind in ENDS:
        _end(state, session, seen)
        return
    if seen.at_us < session.activity_since_us:
        return  # it tells of a moment before the one that is known
    if seen.permission_mode:
        session.permission_mode = seen.permission_mode
    if seen.model:
        session.model = seen.model
    _set_current_call(session, call, seen)
    if seen.waiting_for is not None:
        if session.activity != Activity.WAITING or seen.kind == EventKind.PERMISSION:
            session.waiting_for = seen.waiting_for
        _move(session, Activity.WAITING, seen)
    else:
        session.waiting_for = ""
        _move(session, _activity(state, session, run, seen), seen)


def end_children(state: State, session: SessionRow, seen: Observation) -> None:
    """Subagents do not outlive the session that started them."""
    for child in state.live_children(session):
        turns.interrupt_others(state, child, seen)
        _end(state, child, seen)
        child.ordinal += 1
        state.changed(child)


def describe(state: State, session: SessionRow, seen: Observation) -> None:
    """Title, request, branch, place: what the first prompt and the client tell."""
    known = bool(session.agent_id) or (bool(session.client) and session.place_id is not None)
    if not known and seen.run_key is None:
        _introduce(state, session, seen)
    # A transcript has all branches in their order; a hook that comes late would set back what it told.
    told_now = seen.source == Source.TRANSCRIPT or seen.at_us >= session.last_us
    if seen.delivery.branch and told_now:
        session.branch = seen.delivery.branch[:BRANCH_CHARS]
    if seen.title and not session.title:
        session.title = seen.title
    if seen.prompt and seen.kind == EventKind.PROMPT:
        session.title = session.title or one_line(seen.prompt, 200)
        if not session.agent_id and session.key not in state.requested:
            state.requested.add(session.key)
            Session.objects.filter(key=session.key, user_request=None).update(user_request=seen.prompt)


def count_compactions(state: State, session: SessionRow) -> None:
    """A compaction is told before, after and in the transcript, and any may be missing: the largest holds."""
    pending = [row.type for row in state.session_events if row.session_id == session.key]
    stored = list(
        SessionEvent.objects.filter(session_id=session.key, type__in=TOLD_OF_COMPACTION).values_list(
            "type", flat=True
        )
    )
    both = pending + stored
    session.compaction_count = max(
        session.compaction_count,
        both.count(EventKind.COMPACT_START),
        sum(both.count(kind) for kind in ENDS_OF_COMPACTION),
    )


def same_compaction(state: State, session: SessionRow, seen: Observation, told_as: str) -> bool:
    """Whether another source has told of the compaction: a transcript's numbers are then put on its line."""
    others = [kind for kind in ENDS_OF_COMPACTION if kind != told_as]
    near = (seen.at_us - SAME_COMPACTION_US, seen.at_us + SAME_COMPACTION_US)
    for row in state.session_events:
        if row.session_id == session.key and row.type in others and near[0] <= row.occurred_us <= near[1]:
            row.data = seen.data if seen.source == Source.TRANSCRIPT and seen.data else row.data
            return True
    stored = SessionEvent.objects.filter(
        session_id=session.key, type__in=others, occurred_us__range=near
    ).first()
    if stored is not None and seen.source == Source.TRANSCRIPT and seen.data:
        SessionEvent.objects.filter(pk=stored.pk).update(data=seen.data)
    return stored is not None


def _introduce(state: State, session: SessionRow, seen: Observation) -> None:
    """A session that a writer or telemetry named before its hooks did learns client and place from them."""
    place = places.place_of(seen)
    if place.workspace_id is not None or not session.client:
        state.learned.add(session.key)
    session.client = session.client or seen.client
    session.host = session.host or place.host
    session.workspace = session.workspace or place.root
    session.place_id = place.workspace_id
    session.project_id = session.project_id or place.project_id
    if place.workspace_id is not None and session.child_count:
        state.place_children(session)


def _after_the_end(session: SessionRow, seen: Observation) -> bool:
    if seen.kind == EventKind.PROMPT or seen.started_by == "resume":
        return seen.at_us >= session.activity_since_us
    # A start that was overtaken by its own end on another connection begins nothing.
    return seen.at_us > session.activity_since_us + turns.RACE_US


def _activity(state: State, session: SessionRow, run: RunRow | None, seen: Observation) -> str:
    if seen.kind in WORKING:
        return Activity.WORKING
    if seen.idle or (seen.kind == EventKind.SESSION_START and seen.started_by != "compact"):
        return Activity.IDLE
    if seen.kind in turns.ENDING and turns.is_newest(state, session, run):
        return Activity.IDLE
    running = run is not None and run.status == RunStatus.RUNNING
    if seen.kind in RESULTS and (running or run is None):
        return Activity.WORKING
    if session.activity == Activity.WAITING:
        return Activity.WORKING if running else Activity.IDLE
    return session.activity


def _set_current_call(session: SessionRow, call: CallRow | None, seen: Observation) -> None:
    if call is None:
        if seen.kind == EventKind.PROMPT or seen.kind in turns.ENDING:
            session.current_call = ""
    elif call.state == CallState.PREPARED:
        session.current_call = calls.label(call)
    elif session.current_call == calls.label(call):
        session.current_call = ""


def _move(session: SessionRow, activity: str, seen: Observation) -> None:
    if session.activity != activity:
        session.activity = activity
        session.activity_since_us = seen.at_us


def _end(state: State, session: SessionRow, seen: Observation) -> None:
    session.status = SessionStatus.CLOSED
    session.activity, session.activity_since_us = Activity.ENDED, seen.at_us
    session.waiting_for = session.current_call = ""
    if session.ended_at is None:
        session.ended_at = connection.ops.adapt_datetimefield_value(from_us(seen.at_us))
