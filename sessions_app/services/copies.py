"""A session is copied up to a turn, to go on from there by itself.

The copy reads like the original: turns, the newest attempt at each, its model calls, tool calls and files.
What it cost was spent in the original and is counted there alone; the copy tells it apart (``CopiedUsage``).
"""

from collections.abc import Sequence

from django.db.models import Count, Q, Sum

from contextdash import clock, ids
from contextdash.actor import Actor
from contextdash.cleaning import clean, one_line
from contextdash.errors import Conflict, Invalid, NotFound
from contextdash.limits import FORK_CALLS, TITLE_CHARS
from contextdash.redaction import mask
from contextdash.writer import write
from sessions_app.models import (
    Attachment,
    CopiedUsage,
    Iteration,
    Run,
    RunDetail,
    Session,
    SessionState,
    ToolCall,
    Turn,
)
from sessions_app.queries.chains import chain_of, turns_of
from sessions_app.services.copied_rows import (
    copy_calls,
    copy_iterations,
    copy_touched_files,
    counterparts,
)
from sessions_app.services.forks import forked_title, locked
from sessions_app.services.sessions import create_session
from sessions_app.vocabulary import CallState, RunStatus

_TAKEN_OVER = (
    "project_id",
    "place_id",
    "client",
    "agent_name",
    "provider",
    "model",
    "host",
    "workspace",
    "branch",
)
"""What a copy has of its original beside its turns."""


@write
def fork_through(
    *,
    session: Session,
    turn_key: int,
    actor: Actor,
    title: str | None = None,
    session_id: str | None = None,
) -> Session:
    """A new session with the turns up to this one, as the newest version of the original reads.

    The turns are numbered anew from 1; of each the newest attempt is copied. Events stay the original's, and
    tool calls of the copy lead to them; subagents stay with the original.

    Raises:
        Conflict: the session was deleted, or the new id is taken.
        Invalid: the new id is empty, or FORK_CALLS is passed.
        NotFound: the turn is none of the session's newest version.
    """
    source = locked(session)
    states = list(SessionState.objects.filter(session=source).select_related("place"))
    turns = turns_of(chain_of(states))
    places = [place for place, turn in enumerate(turns) if turn.key == turn_key]
    if not places:
        raise NotFound(f"Turn {turn_key} is none of this session's newest version.")
    kept = turns[: places[0] + 1]
    runs = _newest_runs(kept)
    _check_size(runs)
    copy = _new_session(source, session_id, title, actor)
    state = SessionState.objects.get(session=copy)
    _take_state(state, kept[-1], states)
    copied_turns = _copy_turns(kept, copy, state)
    copied_runs = _copy_runs(runs, copied_turns, copy)
    copy_iterations(copied_runs, copy.key)
    copy_calls(copied_runs, copy.key, clock.now_us())
    copy_touched_files(source.key, copy.key)
    _copy_attachments(copied_turns, copied_runs, copy)
    _count(copy, kept)
    return copy


def _new_session(source: Session, session_id: str | None, title: str | None, actor: Actor) -> Session:
    raw_id = ids.mint() if session_id is None else session_id
    if not raw_id.strip():
        raise Invalid("session_id must not be empty.", field="session_id")
    stored_id, external_id = ids.session_id(raw_id)
    if Session.objects.filter(id=stored_id).exists():
        raise Conflict(f"There is a session {stored_id} already.", field="session_id")
    return create_session(
        session_id=stored_id,
        external_id=mask(clean(external_id)),
        actor=actor,
        forked_from=source,
        title=forked_title(source.title) if title is None else one_line(mask(clean(title)), TITLE_CHARS),
        user_request=source.user_request,
        **{name: getattr(source, name) for name in _TAKEN_OVER},
    )


def _take_state(state: SessionState, last: Turn, states: Sequence[SessionState]) -> None:
    """The copy begins with what its last turn was asked under."""
    told = next(one for one in states if one.key == last.state_id)
    SessionState.objects.filter(key=state.key).update(
        system_prompt=told.system_prompt, provider=told.provider, model=told.model, place=told.place
    )


def _newest_runs(turns: Sequence[Turn]) -> dict[int, Run]:
    """By the turn's key."""
    rows = Run.objects.filter(turn__in=[turn.key for turn in turns]).order_by("number")
    return {run.turn_id: run for run in rows}


def _check_size(runs: dict[int, Run]) -> None:
    keys = [run.key for run in runs.values()]
    many = Iteration.objects.filter(run__in=keys).count() + ToolCall.objects.filter(run__in=keys).count()
    if many > FORK_CALLS:
        raise Invalid(
            f"These turns have {many} model and tool calls; {FORK_CALLS} can be copied (FORK_CALLS)."
            " Fork the session without through_turn: that copies nothing.",
            field="through_turn",
        )


def _copy_turns(turns: Sequence[Turn], copy: Session, state: SessionState) -> dict[int, Turn]:
    """By the key of the original."""
    made: list[Turn] = []
    used: set[str] = set()
    for number, turn in enumerate(turns, 1):
        made.append(
            Turn(
                session=copy,
                state=state,
                number=number,
                turn_id=turn.turn_id if turn.turn_id not in used else ids.mint(),
                prompt=turn.prompt,
                started_us=turn.started_us,
                ended_us=turn.ended_us,
                call_count=turn.call_count,
                failed_count=turn.failed_count,
            )
        )
        used.add(turn.turn_id)
    stored = Turn.objects.bulk_create(made)
    return {turn.key: row for turn, row in zip(turns, stored, strict=True)}


def _copy_runs(runs: dict[int, Run], turns: dict[int, Turn], copy: Session) -> dict[int, int]:
    """Key by key of the original. Nobody works on the copy of a run that still goes on."""
    now_us = clock.now_us()
    made: list[Run] = []
    for turn_key, run in runs.items():
        going = run.status == RunStatus.RUNNING
        made.append(
            Run(
                session=copy,
                turn=turns[turn_key],
                invocation_id=f"copy-{ids.mint()}",
                status=RunStatus.INTERRUPTED if going else run.status,
                started_us=run.started_us,
                ended_us=now_us if going else run.ended_us,
                answer=run.answer,
                error=run.error,
                failure_class=run.failure_class,
                abort_source=run.abort_source,
            )
        )
    stored = Run.objects.bulk_create(made)
    copied = {run.key: row for run, row in zip(runs.values(), stored, strict=True)}
    details = list(RunDetail.objects.filter(run__in=list(copied)))
    for detail in details:
        detail.run, detail.retried_from = copied[detail.run_id], None
    RunDetail.objects.bulk_create(details)
    going_on = [turns[key].key for key, run in runs.items() if run.status == RunStatus.RUNNING]
    Turn.objects.filter(key__in=going_on).update(ended_us=now_us)
    return {old: row.key for old, row in copied.items()}


def _copy_attachments(turns: dict[int, Turn], runs: dict[int, int], copy: Session) -> None:
    """Those sent with a turn, and those of model calls that were copied. Their bytes are kept once."""
    rows = list(Attachment.objects.filter(turn__in=list(turns)).order_by("pk"))
    calls = counterparts(runs, {row.iteration_id for row in rows if row.iteration_id is not None})
    kept = [row for row in rows if row.iteration_id is None or row.iteration_id in calls]
    versions: dict[str, int] = {}
    for row in kept:
        row.pk, row._state.adding = None, True
        row.attachment_id = ids.mint()
        row.session, row.turn = copy, turns[row.turn_id or 0]
        row.iteration_id = calls[row.iteration_id] if row.iteration_id else None
        if row.filename:
            versions[row.filename] = row.version = versions.get(row.filename, 0) + 1
    Attachment.objects.bulk_create(kept)


def _count(copy: Session, turns: Sequence[Turn]) -> None:
    tool_calls = ToolCall.objects.filter(session=copy)
    Session.objects.filter(key=copy.key).update(
        turn_count=len(turns),
        call_count=tool_calls.count(),
        failed_count=tool_calls.filter(state=CallState.FAILED).count(),
    )
    copy.refresh_from_db()
    told = Iteration.objects.filter(session=copy).aggregate(
        iteration_count=Count("key"),
        unpriced_count=Count("key", filter=Q(cost_micro=None)),
        input_tokens=Sum("input_tokens", default=0),
        output_tokens=Sum("output_tokens", default=0),
        cache_read_tokens=Sum("cache_read_tokens", default=0),
        cache_write_tokens=Sum("cache_write_5m_tokens", default=0) + Sum("cache_write_1h_tokens", default=0),
        cost_micro=Sum("cost_micro"),
    )
    if told["iteration_count"]:
        CopiedUsage.objects.create(session=copy, **told)
