"""A session's conversation: turns in order, each with the model calls and tool calls of one of its runs.

Read in pages of few turns, and of a turn the last steps: a session of 500 turns and a turn of 5,000 calls
cost what small ones cost. Of long texts the beginning is read.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from django.db.models.functions import Length, Substr

from contextdash.errors import Invalid, NotFound
from sessions_app.figures import sum_or_none
from sessions_app.models import Iteration, Run, Session, SessionState, ToolCall, Turn
from sessions_app.vocabulary import CallState

PAGE_TURNS = 12
PAGE_STEPS = 60
"""A page ends before the turn that would bring more calls than these."""
RUN_STEPS = 30
"""How many steps of one run are shown at once: the last ones, earlier ones on demand."""
PROMPT_CHARS = 1_200
TEXT_CHARS = 2_000
"""How much of a prompt, and of a text or an answer, stands in the transcript; the rest is a link away."""
THINKING_CHARS = 1_000
TOC_TURNS = 100
TOC_CHARS = 120
FORKS = 20
FAR_US = 2**62


@dataclass(frozen=True, slots=True)
class Text:
    head: str
    chars: int

    @property
    def cut(self) -> bool:
        return self.chars > len(self.head)


NO_TEXT = Text("", 0)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of model calls: tokens and micro-dollars, None where nobody knows them."""

    calls: int = 0
    given: int | None = None
    output: int | None = None
    cached: int | None = None
    micro: int | None = None


@dataclass(frozen=True, slots=True)
class CallStep:
    call: ToolCall
    open: bool
    """It still runs: its session has not ended."""

    @property
    def key(self) -> str:
        return f"c-{self.call.key}"


@dataclass(frozen=True, slots=True)
class ModelStep:
    """One model call and the tool calls that it asked for."""

    iteration: Iteration
    thinking: Text
    prose: Text
    cost: Cost
    calls: Sequence[CallStep]

    @property
    def key(self) -> str:
        return f"i-{self.iteration.key}"

    @property
    def took_us(self) -> int:
        return max(0, self.iteration.ended_us - self.iteration.at_us)


@dataclass(frozen=True, slots=True)
class RunShown:
    run: Run | None
    """None for what happened outside of any run."""
    steps: Sequence[ModelStep | CallStep]
    earlier: str | None
    """The cursor of the steps before these, and how many there are."""
    earlier_count: int
    answer: Text
    """Empty where the last model call has said it."""
    cost: Cost


@dataclass(frozen=True, slots=True)
class TurnShown:
    turn: Turn | None
    """None for what came before the first prompt."""
    prompt: Text
    runs: Sequence[Run]
    shown: RunShown

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


class _Light(NamedTuple):
    """A model call or a tool call in the order of its run."""

    at_us: int
    rank: int
    key: int
    call_ids: Sequence[str] = ()


@dataclass(slots=True)
class _RunRows:
    steps: list[_Light] = field(default_factory=list)
    costs: list[tuple[int, Cost]] = field(default_factory=list)
    """With the time of each."""


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
    if version is not None and all(state.version != version for state in states):
        raise NotFound("This session has no such version.")
    if len(states) < 2:
        return Versions(states, states[0] if states else None, (), forks)
    shown = next(state for state in reversed(states) if version in (None, state.version))
    by_key = {state.key: state for state in states}
    chain = [shown.key]
    while (parent := by_key[chain[-1]].parent_id) in by_key and parent not in chain:
        chain.append(parent)
    return Versions(states, shown, chain, forks)


def newest_turns(session: Session, versions: Versions) -> TranscriptPage:
    return _backwards(session, versions, before=None)


def turns_before(session: Session, versions: Versions, number: int) -> TranscriptPage:
    """The turns that end before a number, in order."""
    return _backwards(session, versions, before=number)


def turns_from(
    session: Session, versions: Versions, number: int, *, run: int | None = None
) -> TranscriptPage:
    """From a turn on; ``run`` is which attempt at that turn is shown."""
    rows = _turns(session, versions).filter(number__gte=number).order_by("number")[: PAGE_TURNS + 1]
    found = list(rows)
    if not found:
        raise NotFound("There is no such turn in this session.")
    kept = _fitting(found)
    first = found[0].number
    earlier = first if _turns(session, versions).filter(number__lt=first).exists() else None
    later = kept[-1].number + 1 if len(kept) < len(found) else None
    return TranscriptPage(_shown(session, kept, {number: run} if run else {}), earlier, later)


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


def cost_of(rows: Iterable[Cost]) -> Cost:
    costs = list(rows)
    return Cost(
        sum(one.calls for one in costs),
        sum_or_none([one.given for one in costs]),
        sum_or_none([one.output for one in costs]),
        sum_or_none([one.cached for one in costs]),
        sum_or_none([one.micro for one in costs]),
    )


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
    rows = _light(Q(session=session.key, run=None), 0, FAR_US if first is None else first)
    if not rows.steps:
        return None
    return TurnShown(None, NO_TEXT, (), _run_shown(session, None, rows, until))


def _shown(
    session: Session, turns: Sequence[Turn], wanted: dict[int, int], until: str | None = None
) -> list[TurnShown]:
    runs = _runs(turns)
    chosen = {turn.key: _chosen(runs.get(turn.key, []), wanted.get(turn.number)) for turn in turns}
    keys = [run.key for run in chosen.values() if run is not None]
    of_runs = _light_by_run(keys)
    outside = _outside(session, turns)
    made = []
    for turn in turns:
        run = chosen[turn.key]
        rows = of_runs.get(run.key, _RunRows()) if run else _RunRows()
        rows.steps = sorted([*rows.steps, *outside[turn.key].steps])
        rows.costs += outside[turn.key].costs
        text = Text(turn.head, turn.chars)  # type: ignore[attr-defined]  # annotated by _turns
        made.append(TurnShown(turn, text, runs.get(turn.key, []), _run_shown(session, run, rows, until)))
    return made


def _outside(session: Session, turns: Sequence[Turn]) -> dict[int, _RunRows]:
    """What belongs to no run, given to the turn that had begun by then."""
    found = {turn.key: _RunRows() for turn in turns}
    if not turns:
        return found
    by_time = sorted(turns, key=lambda turn: turn.started_us)
    starts = [turn.started_us for turn in by_time]
    after = Turn.objects.filter(session=session, started_us__gt=starts[-1])
    following = after.order_by("started_us").values_list("started_us", flat=True).first()
    rows = _light(Q(session=session.key, run=None), starts[0], FAR_US if following is None else following)
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


_ITERATION = (
    *("at_us", "key", "call_ids", "input_tokens", "output_tokens", "cache_read_tokens"),
    *("cache_write_5m_tokens", "cache_write_1h_tokens", "cost_micro"),
)


def _light_by_run(keys: Sequence[int]) -> dict[int, _RunRows]:
    found = {key: _RunRows() for key in keys}
    for run, *row in Iteration.objects.filter(run__in=keys).order_by().values_list("run_id", *_ITERATION):
        _take(found[run], row)
    calls = ToolCall.objects.filter(run__in=keys).order_by()
    for run, at_us, key, call_id in calls.values_list("run_id", "started_us", "key", "call_id"):
        found[run].steps.append(_Light(at_us, 1, key, (call_id,)))
    return found


def _light(which: Q, start_us: int, end_us: int) -> _RunRows:
    rows = _RunRows()
    inside = Iteration.objects.filter(which, at_us__gte=start_us, at_us__lt=end_us)
    for row in inside.order_by().values_list(*_ITERATION):
        _take(rows, row)
    calls = ToolCall.objects.filter(which, started_us__gte=start_us, started_us__lt=end_us)
    for at_us, key, call_id in calls.order_by().values_list("started_us", "key", "call_id"):
        rows.steps.append(_Light(at_us, 1, key, (call_id,)))
    return rows


def _take(rows: _RunRows, row: Sequence[Any]) -> None:
    at_us, key, call_ids, fresh, output, read, short, long, micro = row
    rows.steps.append(_Light(at_us, 0, key, call_ids))
    rows.costs.append((at_us, Cost(1, sum_or_none([fresh, read, short, long]), output, read, micro)))


def _run_shown(session: Session, run: Run | None, rows: _RunRows, until: str | None) -> RunShown:
    owned = {call for step in rows.steps if step.rank == 0 for call in step.call_ids}
    steps = sorted(step for step in rows.steps if step.rank == 0 or step.call_ids[0] not in owned)
    if until is not None:
        end = _parse(until)
        steps = [step for step in steps if (step.at_us, step.rank, step.key) < end]
    kept = steps[-RUN_STEPS:]
    by_id = {step.call_ids[0]: step.key for step in rows.steps if step.rank == 1}
    shown = _full(session, kept, by_id)
    first = kept[0] if kept else None
    more = len(steps) - len(kept)
    cursor = f"{first.at_us}.{first.rank}.{first.key}" if first and more else None
    return RunShown(run, shown, cursor, more, _answer(run, shown), cost_of(cost for _, cost in rows.costs))


def _full(session: Session, steps: Sequence[_Light], by_id: dict[str, int]) -> list[ModelStep | CallStep]:
    wanted = [step.key for step in steps if step.rank == 1]
    wanted += [by_id[one] for step in steps if step.rank == 0 for one in step.call_ids if one in by_id]
    calls = {
        call.key: CallStep(call, call.state == CallState.PREPARED and session.ended_at is None)
        for call in ToolCall.objects.filter(key__in=wanted).select_related("child")
    }
    iterations = {
        row.key: row
        for row in Iteration.objects.filter(key__in=[step.key for step in steps if step.rank == 0])
        .annotate(
            thinking_head=Substr("thinking", 1, THINKING_CHARS),
            thinking_chars=Length("thinking"),
            prose_head=Substr("prose", 1, TEXT_CHARS),
            prose_chars=Length("prose"),
        )
        .defer("thinking", "prose")
    }
    made: list[ModelStep | CallStep] = []
    for step in steps:
        if step.rank == 1 and step.key in calls:
            made.append(calls[step.key])
        elif step.rank == 0 and step.key in iterations:
            own = [calls[by_id[one]] for one in step.call_ids if by_id.get(one) in calls]
            made.append(_model_step(iterations[step.key], own))
    return made


def _model_step(row: Any, calls: Sequence[CallStep]) -> ModelStep:
    """``row`` is an Iteration with the heads of its texts."""
    given = [row.input_tokens, row.cache_read_tokens, row.cache_write_5m_tokens, row.cache_write_1h_tokens]
    return ModelStep(
        row,
        Text(row.thinking_head, row.thinking_chars),
        Text(row.prose_head, row.prose_chars),
        Cost(1, sum_or_none(given), row.output_tokens, row.cache_read_tokens, row.cost_micro),
        calls,
    )


def _answer(run: Any, steps: Sequence[ModelStep | CallStep]) -> Text:
    """The run's answer, where no model call that is shown has said it already."""
    if run is None or not run.answer_chars:
        return NO_TEXT
    answer = Text(run.answer_head, run.answer_chars)
    said = next(
        (step.prose for step in reversed(steps) if isinstance(step, ModelStep) and step.prose.chars), None
    )
    same = said is not None and said.head.strip() == answer.head.strip()
    return NO_TEXT if same else answer


def _parse(cursor: str) -> tuple[int, int, int]:
    parts = cursor.split(".")
    if len(parts) != 3 or not all(one.isascii() and one.isdigit() and len(one) <= 18 for one in parts):
        raise Invalid("This address is not valid. Start from the turn.", field="until")
    at_us, rank, key = (int(one) for one in parts)
    return at_us, rank, key
