"""Turns and runs: which run takes an event, and what completes, reopens, interrupts it.

A turn is one prompt id of one session, else each prompt. A Stop completes its run, later work of the turn
reopens it, the next prompt interrupts what is still open.
"""

from contextdash.ids import digest16
from sessions_app.ingest.observation import RANKS, Observation
from sessions_app.ingest.rows import RunRow, SessionRow, TurnRow
from sessions_app.ingest.state import State
from sessions_app.models import Event, Run, Turn
from sessions_app.vocabulary import CallState, EventKind, RunStatus, Source

OPENING = frozenset(
    {
        EventKind.PROMPT,
        EventKind.TURN_END,
        EventKind.TURN_FAILED,
        EventKind.TOOL_START,
        EventKind.TOOL_END,
        EventKind.TOOL_FAILED,
        EventKind.TOOL_DENIED,
        EventKind.TOOL_BATCH,
        EventKind.PERMISSION,
        EventKind.SUBAGENT_START,
        EventKind.SUBAGENT_END,
        EventKind.MODEL_CALL,
    }
)
"""Kinds that show a turn's existence; others only join one that is known."""

ENDING = frozenset({EventKind.TURN_END, EventKind.TURN_FAILED, EventKind.SUBAGENT_END})
WORK = frozenset({EventKind.TOOL_START, EventKind.TOOL_END, EventKind.TOOL_FAILED, EventKind.PERMISSION})

RACE_US = 1_000_000
"""Deliveries of one moment come over separate connections; within a second their order means nothing."""


def run_for(state: State, session: SessionRow, seen: Observation) -> RunRow | None:
    """The run that takes the event, made where its turn is new; None outside any turn."""
    if seen.run_key is not None:
        return state.runs_by_key[seen.run_key]
    turn_id = seen.turn_id
    if not turn_id and seen.kind == EventKind.PROMPT:
        turn_id = digest16(b"turn", seen.identity).hex()
    if not turn_id:
        # Telemetry comes late: what is open now says nothing about it.
        return None if seen.source == Source.OTLP else state.newest_open_run(session)
    turn = state.turns.get((session.key, turn_id))
    if turn is None:
        if seen.kind not in OPENING:
            return state.newest_open_run(session)
        return _first_run(state, session, seen, turn_id)
    return state.newest_run.get(turn.key)


def apply(state: State, session: SessionRow, run: RunRow, seen: Observation) -> None:
    """What the event does to its run and turn."""
    turn = state.turn_of(run)
    if seen.at_us < turn.started_us:
        turn.started_us = seen.at_us
        state.changed(turn)
    if seen.at_us < run.started_us:
        run.started_us = seen.at_us
    if run.sealed:
        return  # what another source tells late changes nothing about how it ended
    if seen.source == Source.OTLP:
        _tell_late(state, run, turn, seen)
        return
    if is_told_late(run) and seen.kind in OPENING:
        _begin(state, session, run, turn, seen)
    if seen.kind == EventKind.PROMPT:
        _prompt(state, run, turn, seen)
        if not seen.queued:
            interrupt_others(state, session, seen, keep=run)
        elif run.status == RunStatus.RUNNING:
            run.status, run.ended_us, turn.ended_us = RunStatus.COMPLETED, seen.at_us, seen.at_us
            state.changed(turn)
    elif seen.kind in ENDING:
        _end(state, run, turn, seen)
    elif seen.kind == EventKind.ANSWER:
        if seen.answer:  # of several in one batch only the last one is told
            Run.objects.filter(key=run.key).update(answer=seen.answer)
    elif seen.kind in WORK and _reopens(state, session, run, seen):
        run.status, run.ended_us, turn.ended_us = RunStatus.RUNNING, None, None
        state.changed(turn)
    state.changed(run)


def interrupt_others(
    state: State, session: SessionRow, seen: Observation, keep: RunRow | None = None
) -> None:
    """End what is open in the session and began before this event: runs, and calls without a result."""
    for run in state.open_runs(session):
        if run is not keep and run.started_us <= seen.at_us:
            run.status, run.ended_us = RunStatus.INTERRUPTED, seen.at_us
            turn = state.turn_of(run)
            turn.ended_us = seen.at_us
            state.changed(run)
            state.changed(turn)
    for call in state.calls_of(session):
        belongs = keep is not None and call.run_id == keep.key
        if call.state == CallState.PREPARED and call.started_us <= seen.at_us and not belongs:
            call.state, call.ended_us = CallState.INTERRUPTED, seen.at_us
            state.changed(call)


def is_newest(state: State, session: SessionRow, run: RunRow | None) -> bool:
    return run is None or state.turn_of(run).number == session.turn_count


def is_told_late(run: RunRow) -> bool:
    """Whether only telemetry has told of the run: it is over then, nobody knows since when."""
    return run.status == RunStatus.COMPLETED and run.ended_us is None and not run.ledger


def _tell_late(state: State, run: RunRow, turn: TurnRow, seen: Observation) -> None:
    """What telemetry adds; whether the run goes on or how it ended, others know better."""
    if seen.kind == EventKind.PROMPT:
        _prompt(state, run, turn, seen)
    elif seen.kind in ENDING:
        _end(state, run, turn, seen)
    state.changed(run)


def _begin(state: State, session: SessionRow, run: RunRow, turn: TurnRow, seen: Observation) -> None:
    """The first word of another source about a run that telemetry told of: as if it were new."""
    over_us = state.rows.next_prompt_us(session.key, seen.at_us)
    run.status = RunStatus.RUNNING if over_us is None else RunStatus.INTERRUPTED
    run.ended_us = turn.ended_us = over_us
    state.changed(turn)


def _first_run(state: State, session: SessionRow, seen: Observation, turn_id: str) -> RunRow:
    # Delivered after a prompt that came later: the turn was over by then.
    over_us = state.rows.next_prompt_us(session.key, seen.at_us)
    return state.create_turn(seen, session, turn_id, over_us)


def _prompt(state: State, run: RunRow, turn: TurnRow, seen: Observation) -> None:
    if not seen.prompt:
        return
    # A run without an event was made for this one, and has its prompt.
    if turn.prompted and (not run.last_seq or not _knows_better(state, turn, seen)):
        return
    turn.prompted = True
    Turn.objects.filter(key=turn.key).update(prompt=seen.prompt)


def _knows_better(state: State, turn: TurnRow, seen: Observation) -> bool:
    """Whether the event's source goes before all that told the prompt so far."""
    if seen.source == Source.OTLP:
        return False
    told = Event.objects.filter(run__turn=turn.key, kind=EventKind.PROMPT)
    sources = set(told.values_list("source", flat=True))
    for row in state.events:
        run = state.runs_by_key.get(row.run_id or 0)
        if row.kind == EventKind.PROMPT and run is not None and run.turn_id == turn.key:
            sources.add(row.source)
    return all(RANKS.get(source, 0) < RANKS.get(seen.source, 0) for source in sources)


def _end(state: State, run: RunRow, turn: TurnRow, seen: Observation) -> None:
    ended_before = run.status in (RunStatus.COMPLETED, RunStatus.FAILED)
    earlier = ended_before and run.ended_us is not None and run.ended_us > seen.at_us
    if earlier and seen.run_key is None:
        return
    if seen.interrupted:
        run.status = RunStatus.INTERRUPTED
    else:
        run.status = RunStatus.FAILED if seen.kind == EventKind.TURN_FAILED else RunStatus.COMPLETED
    run.ended_us = turn.ended_us = seen.at_us
    texts = {"answer": seen.answer, "error": seen.error}
    told = {name: text for name, text in texts.items() if text}
    if told:
        Run.objects.filter(key=run.key).update(**told)
    state.changed(turn)


def _reopens(state: State, session: SessionRow, run: RunRow, seen: Observation) -> bool:
    if run.ledger or run.status == RunStatus.RUNNING or not is_newest(state, session, run):
        return False
    if run.ended_us is not None and seen.at_us <= run.ended_us:
        return False
    call = state.calls.get((session.key, seen.call_id)) if seen.call_id else None
    if seen.kind == EventKind.TOOL_START:
        return call is None or call.result_event_id is None
    return run.ended_us is None or seen.at_us > run.ended_us + RACE_US
