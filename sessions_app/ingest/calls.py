"""Tool calls: call and result meet on the call's id, whichever comes first."""

from contextdash.cleaning import one_line
from sessions_app.ingest.observation import RANKS, Observation
from sessions_app.ingest.reading import LONGEST_CALL_US
from sessions_app.ingest.rows import CallRow, RunRow, SessionRow
from sessions_app.ingest.state import State
from sessions_app.vocabulary import CallState, EventKind, RunStatus, Source

RESULTS: dict[str, str] = {
    EventKind.TOOL_END: CallState.DONE,
    EventKind.TOOL_FAILED: CallState.FAILED,
    EventKind.TOOL_DENIED: CallState.DENIED,
}
KINDS = frozenset({EventKind.TOOL_START, *RESULTS})

_OPEN = (CallState.PREPARED, CallState.INTERRUPTED)


def apply(
    state: State, session: SessionRow, run: RunRow | None, seen: Observation, event_key: int, *, late: bool
) -> CallRow:
    """Move the call that the event tells of; ``late`` calls will hardly see a result."""
    call = state.calls.get((session.key, seen.call_id or seen.identity.hex()))
    if call is None and not seen.call_id and seen.kind != EventKind.TOOL_START:
        call = _oldest_alike(state, session, seen)
    if call is None and seen.agent_id:
        call = _bring_home(state, session, seen)
    if call is None:
        call = _new(state, session, run, seen)
        if late or (run is not None and run.status == RunStatus.INTERRUPTED):
            call.state = CallState.INTERRUPTED
    elif run is not None and call.run_id != run.key and _names_run(state, call, seen):
        _move(state, call, run)
    if seen.files and (seen.kind == EventKind.TOOL_START or call.call_event_id is None):
        state.touch(call, seen.files)
    if seen.kind == EventKind.TOOL_START:
        _called(call, seen, event_key)
    else:
        _answered(state, session, call, seen, event_key)
    _measure(call, seen)
    state.changed(call)
    return call


def label(call: CallRow) -> str:
    """What the session is doing, in one line."""
    return one_line(f"{call.name} {call.summary}", 300)


def _names_run(state: State, call: CallRow, seen: Observation) -> bool:
    """Whether the event knows the call's run better than what is known: a ledger's call stays in its run."""
    owner = state.runs_by_key.get(call.run_id or 0)
    return seen.run_key is not None or (bool(seen.turn_id) and not (owner is not None and owner.ledger))


def _oldest_alike(state: State, session: SessionRow, seen: Observation) -> CallRow | None:
    """The call that a result without an id answers: of the open ones alike, the one that began first."""
    about = (seen.tool, seen.summary, seen.input_size)
    alike = [
        call
        for call in state.calls_of(session)
        if call.result_event_id is None and (call.name, call.summary, call.input_size) == about
    ]
    return min(alike, key=lambda call: (call.started_us, call.key or 0), default=None)


def _bring_home(state: State, session: SessionRow, seen: Observation) -> CallRow | None:
    """The call, if telemetry put it into the main session: its records name no subagent."""
    root = state.sessions[seen.root_id]
    call = state.calls.get((root.key, seen.call_id))
    if call is None or not {call.called_by, call.answered_by} <= {None, Source.OTLP}:
        return None
    failed = int(call.state == CallState.FAILED)
    before = state.runs_by_key.get(call.run_id or 0)
    root.call_count = max(0, root.call_count - 1)
    root.failed_count = max(0, root.failed_count - failed)
    session.call_count += 1
    session.failed_count += failed
    state.changed(root)
    state.move_call(call, session)
    if before is not None:
        # The turn goes on in the subagent under the same id.
        turn_id = state.turn_of(before).turn_id
        _move(state, call, state.run_of(session, turn_id) or state.create_turn(seen, session, turn_id, None))
    return call


def _new(state: State, session: SessionRow, run: RunRow | None, seen: Observation) -> CallRow:
    call = CallRow(
        session_id=session.key,
        call_id=seen.call_id or seen.identity.hex(),
        run_id=None if run is None else run.key,
        name=seen.tool,
        state=CallState.PREPARED,
        summary=seen.summary,
        error="",
        call_event_id=None,
        result_event_id=None,
        child_id=None,
        started_us=seen.at_us,
        ended_us=None,
        duration_us=None,
        input_size=seen.input_size,
        output_size=0,
    )
    state.add_call(call)
    session.call_count += 1
    if run is not None:
        _count(state, run, calls=1)
    return call


def _called(call: CallRow, seen: Observation, event_key: int) -> None:
    if _knows_better(call.called_by, seen.source):
        return
    _forget_guess(call)
    call.called_by = seen.source
    call.call_event_id, call.called_us = event_key, seen.occurred_us
    call.name, call.started_us = seen.tool, seen.at_us
    if seen.source == Source.OTLP:  # a span, which tells less of the input than its log record does
        call.summary = call.summary or seen.summary
    else:
        call.summary, call.input_size = seen.summary, seen.input_size


def _answered(state: State, session: SessionRow, call: CallRow, seen: Observation, event_key: int) -> None:
    if seen.duration_us is not None:
        # What the client measured itself is no guess from two clocks; of several measures the longest holds.
        _forget_guess(call)
        call.duration_us = max(call.duration_us or 0, seen.duration_us)
    if _knows_better(call.answered_by, seen.source):
        return
    told_by = call.answered_by or Source.API  # its events may have been purged
    if call.state not in _OPEN and not (_knows_better(seen.source, told_by) or _tells_more(call, seen)):
        return  # it has its result; another event of it changes nothing
    _forget_guess(call)
    if seen.source == Source.OTLP and call.called_by in (None, Source.OTLP):
        call.summary, call.input_size = seen.summary or call.summary, max(seen.input_size, call.input_size)
        call.name = seen.tool if call.name == "unknown" else call.name
    failed_before = call.state == CallState.FAILED
    if call.called_us is not None and call.result_event_id is not None:
        call.started_us = call.called_us  # not as a lesser source's result made it
    call.answered_by = seen.source
    call.result_event_id, call.answered_us = event_key, seen.occurred_us
    call.ended_us = seen.at_us
    call.output_size = seen.output_size
    call.error = _first_line(seen.error)
    call.state = CallState.INTERRUPTED if seen.interrupted else RESULTS[seen.kind]
    failed = int(call.state == CallState.FAILED) - int(failed_before)
    if failed:
        session.failed_count = max(0, session.failed_count + failed)
        run = state.runs_by_key.get(call.run_id or 0)
        if run is not None:
            _count(state, run, failed=failed)


def _knows_better(told_by: str | None, source: str) -> bool:
    """Whether what is known was told by a better source."""
    return RANKS.get(told_by or "", 0) > RANKS.get(source, 0)


def _tells_more(call: CallRow, seen: Observation) -> bool:
    """Telemetry tells of a result in a log record and a span: the later holds, whichever was sent first."""
    if not (seen.source == call.answered_by == Source.OTLP):
        return False
    return (seen.occurred_us, seen.output_size) > (call.answered_us or 0, call.output_size)


def _forget_guess(call: CallRow) -> None:
    """The duration is reckoned anew where it came from two clocks, one of which is about to be corrected."""
    both = call.called_us is not None and call.answered_us is not None
    if both and call.duration_us == (call.answered_us or 0) - (call.called_us or 0):
        call.duration_us = None


def _measure(call: CallRow, seen: Observation) -> None:
    """Start and duration once both events are here, or the one that tells the duration."""
    if call.ended_us is None or call.result_event_id is None:
        return
    told = call.duration_us is not None
    if told and (call.call_event_id is None or call.started_us > call.ended_us):
        # The result came first, or the clocks disagree: the duration says when it began.
        call.started_us = call.ended_us - (call.duration_us or 0)
    if not told and call.called_us is not None and call.answered_us is not None:
        took = call.answered_us - call.called_us
        call.duration_us = took if 0 <= took <= LONGEST_CALL_US else None


def _move(state: State, call: CallRow, run: RunRow) -> None:
    """The call was guessed to be of another run, or of none, until an event named its turn."""
    failed = int(call.state == CallState.FAILED)
    before = state.runs_by_key.get(call.run_id or 0)
    if before is not None:
        _count(state, before, calls=-1, failed=-failed)
    call.run_id = run.key
    _count(state, run, calls=1, failed=failed)


def _count(state: State, run: RunRow, calls: int = 0, failed: int = 0) -> None:
    turn = state.turn_of(run)
    turn.call_count = max(0, turn.call_count + calls)
    turn.failed_count = max(0, turn.failed_count + failed)
    state.changed(turn)


def _first_line(error: str) -> str:
    """The first line; of a shell's failure also what it says after ``Exit code 1``."""
    lines = [line.strip() for line in error[:4000].splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("Exit code"):
        return one_line(f"{lines[0]}: {lines[1]}", 300)
    return one_line(lines[0], 300) if lines else ""
