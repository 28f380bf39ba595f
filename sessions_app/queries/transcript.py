"""A session's conversation: turns in order, each with the model calls and tool calls of one of its runs.

Read in pages of few turns, and of a turn the last steps: a session of 500 turns and a turn of 5,000 calls
cost what small ones cost. Of long texts the beginning is read.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Length, Substr

from contextdash.errors import NotFound
from sessions_app.models import Iteration, RoutingEvent, Run, RunDetail, Session, SessionState, Turn
from sessions_app.queries.attached import Attached, attachments_of
from sessions_app.queries.chains import chain_of
from sessions_app.queries.transcript_steps import (
    NO_TEXT,
    RUN_STEPS,
    TEXT_CHARS,
    ModelStep,
    RunRows,
    RunShown,
    Step,
    Text,
    choose,
    light_between,
    light_by_run,
    read_full,
    run_shown,
)

PAGE_TURNS = 8
PAGE_STEPS = 40
"""A page ends before the turn that would bring more calls than these."""
PROMPT_CHARS = 1_200
"""How much of a prompt stands in the transcript; the rest is a link away."""
TOC_TURNS = 100
TOC_CHARS = 120
FORKS = 20
FAR_US = 2**62


@dataclass(frozen=True, slots=True)
class TurnShown:
    turn: Turn | None
    """None for what came before the first prompt."""
    prompt: Text
    runs: Sequence[Run]
    shown: RunShown
    files: Sequence[Attached] = ()
    """What came with the request."""

    @property
    def number(self) -> int:
        return self.turn.number if self.turn else 0

    @property
    def place(self) -> int:
        """Which of the runs is shown, from 1."""
        run = self.shown.run
        return next((place for place, one in enumerate(self.runs, 1) if run and one.key == run.key), 0)

    @property
    def before(self) -> Run | None:
        return self.runs[self.place - 2] if self.place > 1 else None

    @property
    def after(self) -> Run | None:
        return self.runs[self.place] if 0 < self.place < len(self.runs) else None

    @property
    def lasted_us(self) -> int | None:
        if self.turn is None or self.turn.ended_us is None:
            return None
        return self.turn.ended_us - self.turn.started_us


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    turns: Sequence[TurnShown]
    earlier: int | None
    """The number of the turn that the turns before these end at; None when there are none."""
    later: int | None


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a session and what it was forked from and into."""

    states: Sequence[SessionState] = ()
    shown: SessionState | None = None
    chain: Sequence[int] = ()
    """Keys of the states whose turns make up the version; empty where there is only one."""
    forks: Sequence[Session] = ()


def versions_of(session: Session, version: int | None = None) -> Versions:
    """
    Raises:
        NotFound: there is no such version.
    """
    forks = list(
        Session.objects.filter(forked_from=session.key, deleted_at=None)
        .only("id", "title", "user_request", "started_us", "forked_from_id")
        .order_by("started_us", "key")[:FORKS]
    )
    states = list(SessionState.objects.filter(session=session).order_by("version"))
    if len(states) < 2 and version is None:
        return Versions(states, states[0] if states else None, (), forks)
    chain = chain_of(states, version)
    return Versions(states, chain[-1], [state.key for state in chain] if len(states) > 1 else (), forks)


def newest_turns(session: Session, versions: Versions) -> TranscriptPage:
    return _backwards(session, versions, before=None)


def turns_before(session: Session, versions: Versions, number: int) -> TranscriptPage:
    """The turns that end before a number, in order."""
    return _backwards(session, versions, before=number)


def turns_from(
    session: Session, versions: Versions, number: int, *, run: int | None = None, lead: bool = False
) -> TranscriptPage:
    """From a turn on; ``run`` is which attempt at it is shown, ``lead`` adds what came before the first.

    Raises:
        NotFound: there is none of that number or after it.
    """
    rows = _turns(session, versions).filter(number__gte=number).order_by("number")[: PAGE_TURNS + 1]
    found = list(rows)
    if not found:
        raise NotFound("There is no such turn in this session.")
    kept = _fitting(found)
    first = found[0].number
    earlier = first if _turns(session, versions).filter(number__lt=first).exists() else None
    later = kept[-1].number + 1 if len(kept) < len(found) else None
    shown = _shown(session, kept, {number: run} if run else {})
    if lead and earlier is None and (before := _lead(session, None)) is not None:
        shown = [before, *shown]
    return TranscriptPage(shown, earlier, later)


def one_turn(
    session: Session, versions: Versions, number: int, *, run: int | None = None, until: str | None = None
) -> TurnShown:
    """A turn alone, with the attempt ``run`` of it; ``until`` is the cursor of earlier steps.

    Raises:
        NotFound: there is none of that number.
        Invalid: the cursor is not one of ours.
    """
    if number == 0:
        found = _lead(session, until)
        if found is None:
            raise NotFound("Nothing came before the first prompt.")
        return found
    turn = _turns(session, versions).filter(number=number).first()
    if turn is None:
        raise NotFound("There is no such turn in this session.")
    return _shown(session, [turn], {number: run} if run else {}, until)[-1]


def prompts(session: Session, versions: Versions, around: int | None) -> Sequence[Turn]:
    """TOC_TURNS turns around a number, or the newest, each with ``head``, the beginning of its prompt."""
    rows = _of_versions(session, versions).annotate(head=Substr("prompt", 1, TOC_CHARS)).defer("prompt")
    if around is None:
        return list(rows.order_by("-number")[:TOC_TURNS])[::-1]
    start = max(1, around - TOC_TURNS // 2)
    return list(rows.filter(number__gte=start).order_by("number")[:TOC_TURNS])


def iteration_of(session: Session, key: int) -> Iteration:
    """A model call with its whole texts.

    Raises:
        NotFound: there is none in this session.
    """
    found = Iteration.objects.filter(session=session, key=key).first()
    if found is None:
        raise NotFound("There is no such model call in this session.")
    return found


def _backwards(session: Session, versions: Versions, *, before: int | None) -> TranscriptPage:
    rows = _turns(session, versions)
    if before is not None:
        rows = rows.filter(number__lt=before)
    found = list(rows.order_by("-number")[: PAGE_TURNS + 1])
    kept = _fitting(found)
    earlier = kept[-1].number if len(kept) < len(found) else None
    shown = _shown(session, kept[::-1], {})
    if earlier is None and (lead := _lead(session, None)) is not None:
        shown = [lead, *shown]
    return TranscriptPage(shown, earlier, before)


def _fitting(turns: Sequence[Turn]) -> list[Turn]:
    """As many of them as make a page, at least one."""
    kept: list[Turn] = []
    steps = 0
    for turn in turns[:PAGE_TURNS]:
        steps += min(turn.call_count, RUN_STEPS)
        if kept and steps > PAGE_STEPS:
            break
        kept.append(turn)
    return kept


def _of_versions(session: Session, versions: Versions) -> QuerySet[Turn]:
    rows = Turn.objects.filter(session=session)
    return rows.filter(state__in=versions.chain) if versions.chain else rows


def _turns(session: Session, versions: Versions) -> QuerySet[Turn]:
    return (
        _of_versions(session, versions)
        .annotate(head=Substr("prompt", 1, PROMPT_CHARS), chars=Length("prompt"))
        .defer("prompt")
    )


def _lead(session: Session, until: str | None) -> TurnShown | None:
    """What came before the first prompt, such as the calls of a session that was first seen in its middle."""
    first = (
        Turn.objects.filter(session=session).order_by("number").values_list("started_us", flat=True).first()
    )
    rows = light_between(Q(session=session.key, run=None), 0, FAR_US if first is None else first)
    if not rows.steps:
        return None
    chosen = choose(rows, until)
    return TurnShown(None, NO_TEXT, (), run_shown(None, rows, chosen, read_full(session, [chosen])))


def _shown(
    session: Session, turns: Sequence[Turn], wanted: dict[int, int], until: str | None = None
) -> list[TurnShown]:
    runs = _runs(turns)
    chosen = {turn.key: _chosen(runs.get(turn.key, []), wanted.get(turn.number)) for turn in turns}
    keys = [run.key for run in chosen.values() if run is not None]
    of_runs = light_by_run([run for run in chosen.values() if run is not None])
    outside = _outside(session, turns)
    details = RunDetail.objects.filter(run__in=keys).defer("ctx").in_bulk()
    rows = {turn.key: _joined(chosen[turn.key], of_runs, outside[turn.key]) for turn in turns}
    steps = {turn.key: choose(rows[turn.key], until) for turn in turns}
    full = read_full(session, steps.values())
    made = []
    for turn in turns:
        run, key = chosen[turn.key], turn.key
        shown = run_shown(run, rows[key], steps[key], full, details.get(run.key) if run else None)
        text = Text(turn.head, turn.chars)  # type: ignore[attr-defined]  # annotated by _turns
        made.append(TurnShown(turn, text, runs.get(key, []), shown))
    return _with_files(session, made)


def _joined(run: Run | None, of_runs: dict[int, RunRows], outside: RunRows) -> RunRows:
    """What a run's rows are together with what of its time belongs to no run."""
    own = of_runs[run.key] if run else RunRows()
    return RunRows([*own.steps, *outside.steps], [*own.costs, *outside.costs])


def _with_files(session: Session, turns: list[TurnShown]) -> list[TurnShown]:
    """The same turns with what was attached to them and how their calls were routed."""
    steps = [step for one in turns for step in one.shown.steps if isinstance(step, ModelStep)]
    keys = [step.iteration.key for step in steps]
    files = attachments_of(session, turns=[one.turn.key for one in turns if one.turn], iterations=keys)
    routed = RoutingEvent.objects.filter(iteration__in=keys).order_by().values_list("iteration")
    counts = dict(routed.annotate(Count("key")))
    if not files and not counts:
        return turns

    def told(step: Step) -> Step:
        if not isinstance(step, ModelStep):
            return step
        key = step.iteration.key
        own = [one for one in files if one.file.iteration_id == key]
        return replace(step, files=own, rerouted=counts.get(key, 0))

    return [
        replace(
            one,
            shown=replace(one.shown, steps=[told(step) for step in one.shown.steps]),
            files=_of_turn(files, one.turn),
        )
        for one in turns
    ]


def _of_turn(files: Sequence[Attached], turn: Turn | None) -> list[Attached]:
    key = None if turn is None else turn.key
    return [one for one in files if one.file.iteration_id is None and one.file.turn_id == key]


def _outside(session: Session, turns: Sequence[Turn]) -> dict[int, RunRows]:
    """What belongs to no run, given to the turn that had begun by then."""
    found = {turn.key: RunRows() for turn in turns}
    if not turns:
        return found
    by_time = sorted(turns, key=lambda turn: turn.started_us)
    starts = [turn.started_us for turn in by_time]
    after = Turn.objects.filter(session=session, started_us__gt=starts[-1])
    following = after.order_by("started_us").values_list("started_us", flat=True).first()
    rows = light_between(
        Q(session=session.key, run=None), starts[0], FAR_US if following is None else following
    )
    for step in rows.steps:
        found[by_time[bisect_right(starts, step.at_us) - 1].key].steps.append(step)
    for at_us, cost in rows.costs:
        found[by_time[bisect_right(starts, at_us) - 1].key].costs.append((at_us, cost))
    return found


def _runs(turns: Sequence[Turn]) -> dict[int, list[Run]]:
    found: dict[int, list[Run]] = {}
    rows = (
        Run.objects.filter(turn__in=[turn.key for turn in turns])
        .annotate(
            answer_head=Substr("answer", 1, TEXT_CHARS),
            answer_chars=Length("answer"),
            error_head=Substr("error", 1, TEXT_CHARS),
        )
        .defer("answer", "error")
        .order_by("number")
    )
    for run in rows:
        found.setdefault(run.turn_id, []).append(run)
    return found


def _chosen(runs: Sequence[Run], number: int | None) -> Run | None:
    """The attempt of that number, else the newest."""
    return next((run for run in runs if run.number == number), runs[-1] if runs else None)
