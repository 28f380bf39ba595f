"""The steps of a run: model calls with the tool calls that they asked for, tool calls that none claims, and
texts that only a ledger tells.

The order of a run is made of light rows, keys and times; only what is shown is read with its texts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Count, Q, Sum
from django.db.models.functions import Length, Substr

from contextdash.errors import Invalid
from sessions_app.figures import sum_or_none
from sessions_app.models import Event, Iteration, Run, RunDetail, Session, ToolCall
from sessions_app.queries.attached import Attached
from sessions_app.queries.blocks import Block, blocks_of
from sessions_app.queries.payloads import body_of
from sessions_app.vocabulary import CallState, EventKind, Source

RUN_STEPS = 30
"""How many steps of one run are shown at once: the last ones, earlier ones on demand."""
TEXT_CHARS = 2_000
"""How much of a text or an answer stands in the transcript; the rest is a link away."""
THINKING_CHARS = 1_000


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
    child: Session | None
    """The session that it spawned."""
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
    files: Sequence[Attached] = ()
    """What its tools made."""
    rerouted: int = 0
    """How often the way to its model was changed."""

    @property
    def key(self) -> str:
        return f"i-{self.iteration.key}"

    @property
    def took_us(self) -> int:
        """As its client measured it, else from its first to its last record."""
        told = self.iteration.duration_us
        return max(0, self.iteration.ended_us - self.iteration.at_us) if told is None else told


@dataclass(frozen=True, slots=True)
class ToldStep:
    """A text that a ledger's writer told of, where no model call has it."""

    event: Event
    by_user: bool
    thinking: Text
    prose: Text

    @property
    def key(self) -> str:
        return f"e-{self.event.key}"


type Step = ModelStep | CallStep | ToldStep


@dataclass(frozen=True, slots=True)
class RunShown:
    run: Run | None
    """None for what happened outside of any run."""
    steps: Sequence[Step]
    earlier: str | None
    """The cursor of the steps before these, and how many there are."""
    earlier_count: int
    answer: Text
    """Empty where the last model call or a block has said it."""
    blocks: Sequence[Block]
    """What its writer sent as its content."""
    cost: Cost


class Light(NamedTuple):
    """A model call (rank 0), a tool call (1) or a told text (2) in the order of its run."""

    at_us: int
    rank: int
    key: int
    call_ids: Sequence[str] = ()


@dataclass(slots=True)
class RunRows:
    steps: list[Light] = field(default_factory=list)
    costs: list[tuple[int, Cost]] = field(default_factory=list)
    """With the time of each."""


def costs_of_runs(keys: Sequence[int]) -> dict[int, Cost]:
    """What each of these runs cost, with one query; a run without model calls is left out."""
    rows = Iteration.objects.filter(run__in=keys).order_by().values_list("run_id")
    found = rows.annotate(Count("key"), *(Sum(name) for name in (*_INPUT, "output_tokens", "cost_micro")))
    return {
        run: Cost(calls, sum_or_none([fresh, read, short, long]), output, read, micro)
        for run, calls, fresh, read, short, long, output, micro in found
    }


def cost_of(rows: Iterable[Cost]) -> Cost:
    costs = list(rows)
    return Cost(
        sum(one.calls for one in costs),
        sum_or_none([one.given for one in costs]),
        sum_or_none([one.output for one in costs]),
        sum_or_none([one.cached for one in costs]),
        sum_or_none([one.micro for one in costs]),
    )


_INPUT = ("input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")
_ITERATION = (
    *("at_us", "key", "call_ids", "input_tokens", "output_tokens", "cache_read_tokens"),
    *("cache_write_5m_tokens", "cache_write_1h_tokens", "cost_micro"),
)


def light_by_run(runs: Sequence[Run]) -> dict[int, RunRows]:
    keys = [run.key for run in runs]
    found = {key: RunRows() for key in keys}
    for run, *row in Iteration.objects.filter(run__in=keys).order_by().values_list("run_id", *_ITERATION):
        _take(found[run], row)
    calls = ToolCall.objects.filter(run__in=keys).order_by()
    for run, at_us, key, call_id in calls.values_list("run_id", "started_us", "key", "call_id"):
        found[run].steps.append(Light(at_us, 1, key, (call_id,)))
    ledgers = [run.key for run in runs if run.ledger]
    if ledgers:
        _take_told(found, ledgers)
    return found


def _take_told(found: dict[int, RunRows], ledgers: Sequence[int]) -> None:
    """Texts of the ledgers of runs whose model calls were not told with theirs."""
    speaking = Iteration.objects.filter(run__in=ledgers).exclude(thinking="", prose="")
    silent = set(ledgers) - set(speaking.values_list("run_id", flat=True))
    texts = Event.objects.filter(run__in=silent, source=Source.API, name__in=("text", "thinking"))
    rows = texts.exclude(kind=EventKind.PROMPT).order_by()
    for run, at_us, key in rows.values_list("run_id", "occurred_us", "key"):
        found[run].steps.append(Light(at_us, 2, key))


def light_between(which: Q, start_us: int, end_us: int) -> RunRows:
    rows = RunRows()
    inside = Iteration.objects.filter(which, at_us__gte=start_us, at_us__lt=end_us)
    for row in inside.order_by().values_list(*_ITERATION):
        _take(rows, row)
    calls = ToolCall.objects.filter(which, started_us__gte=start_us, started_us__lt=end_us)
    for at_us, key, call_id in calls.order_by().values_list("started_us", "key", "call_id"):
        rows.steps.append(Light(at_us, 1, key, (call_id,)))
    return rows


def _take(rows: RunRows, row: Sequence[Any]) -> None:
    at_us, key, call_ids, fresh, output, read, short, long, micro = row
    rows.steps.append(Light(at_us, 0, key, call_ids))
    rows.costs.append((at_us, Cost(1, sum_or_none([fresh, read, short, long]), output, read, micro)))


@dataclass(slots=True)
class Chosen:
    """What of a run is shown: the last steps before a cursor, as light rows."""

    steps: Sequence[Light]
    more: int
    by_id: dict[str, int]
    """The keys of all its tool calls by the ids of their client."""

    @property
    def calls(self) -> list[int]:
        own = [step.key for step in self.steps if step.rank == 1]
        asked = (one for step in self.steps if step.rank == 0 for one in step.call_ids)
        return own + [self.by_id[one] for one in asked if one in self.by_id]

    @property
    def iterations(self) -> list[int]:
        return [step.key for step in self.steps if step.rank == 0]

    @property
    def told(self) -> list[int]:
        return [step.key for step in self.steps if step.rank == 2]

    @property
    def cursor(self) -> str | None:
        first = self.steps[0] if self.steps else None
        return f"{first.at_us}.{first.rank}.{first.key}" if first and self.more else None


@dataclass(slots=True)
class Full:
    """The rows of what is shown, of several runs at once."""

    calls: dict[int, CallStep]
    iterations: dict[int, Any]
    """Each with the heads of its texts."""
    told: dict[int, ToldStep]


def choose(rows: RunRows, until: str | None) -> Chosen:
    """
    Raises:
        Invalid: the cursor is not one of ours.
    """
    owned = {call for step in rows.steps if step.rank == 0 for call in step.call_ids}
    steps = sorted(step for step in rows.steps if step.rank != 1 or step.call_ids[0] not in owned)
    if until is not None:
        end = _parse(until)
        steps = [step for step in steps if (step.at_us, step.rank, step.key) < end]
    kept = steps[-RUN_STEPS:]
    by_id = {step.call_ids[0]: step.key for step in rows.steps if step.rank == 1}
    return Chosen(kept, len(steps) - len(kept), by_id)


def read_full(session: Session, chosen: Iterable[Chosen]) -> Full:
    """With four queries at most, however many runs there are."""
    runs = list(chosen)
    calls = list(ToolCall.objects.filter(key__in=[key for one in runs for key in one.calls]))
    spawned = [call.child_id for call in calls if call.child_id is not None]
    needed = ("key", "id", "agent_name", "call_count", "cost_micro")
    children = Session.objects.filter(key__in=spawned).only(*needed).in_bulk() if spawned else {}
    running = session.ended_at is None
    iterations = (
        Iteration.objects.filter(key__in=[key for one in runs for key in one.iterations])
        .annotate(
            thinking_head=Substr("thinking", 1, THINKING_CHARS),
            thinking_chars=Length("thinking"),
            prose_head=Substr("prose", 1, TEXT_CHARS),
            prose_chars=Length("prose"),
        )
        .defer("thinking", "prose", "call_ids")
    )
    told = [key for one in runs for key in one.told]
    return Full(
        {
            call.key: CallStep(
                call, children.get(call.child_id or 0), running and call.state == CallState.PREPARED
            )
            for call in calls
        },
        {row.key: row for row in iterations},
        {row.key: _told_step(row) for row in Event.objects.filter(key__in=told)} if told else {},
    )


def run_shown(
    run: Run | None, rows: RunRows, chosen: Chosen, full: Full, detail: RunDetail | None = None
) -> RunShown:
    shown = _steps(chosen, full)
    blocks = blocks_of(detail.content, chars=TEXT_CHARS) if detail else []
    answer = NO_TEXT if any(block.kind == "prose" for block in blocks) else _answer(run, shown)
    cost = cost_of(cost for _, cost in rows.costs)
    return RunShown(run, shown, chosen.cursor, chosen.more, answer, blocks, cost)


def _steps(chosen: Chosen, full: Full) -> list[Step]:
    made: list[Step] = []
    for step in chosen.steps:
        if step.rank == 1 and step.key in full.calls:
            made.append(full.calls[step.key])
        elif step.rank == 2 and step.key in full.told:
            made.append(full.told[step.key])
        elif step.rank == 0 and step.key in full.iterations:
            own = (full.calls.get(chosen.by_id.get(one, 0)) for one in step.call_ids)
            made.append(_model_step(full.iterations[step.key], [call for call in own if call]))
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


def _told_step(event: Event) -> ToldStep:
    body = body_of(event)
    content = body.get("content")
    told = content.get("text") if isinstance(content, dict) else None
    text = told if isinstance(told, str) else ""
    thinking = event.name == "thinking"
    head = Text(text[: THINKING_CHARS if thinking else TEXT_CHARS], len(text))
    by_user = body.get("role") == "user"
    return ToldStep(event, by_user, head if thinking else NO_TEXT, NO_TEXT if thinking else head)


def _answer(run: Any, steps: Sequence[Step]) -> Text:
    """The run's answer, where no model call that is shown has said it already."""
    if run is None or not run.answer_chars:
        return NO_TEXT
    answer = Text(run.answer_head, run.answer_chars)
    said = next(
        (step.prose for step in reversed(steps) if not isinstance(step, CallStep) and step.prose.chars), None
    )
    same = said is not None and said.head.strip() == answer.head.strip()
    return NO_TEXT if same else answer


def _parse(cursor: str) -> tuple[int, int, int]:
    parts = cursor.split(".")
    if len(parts) != 3 or not all(one.isascii() and one.isdigit() and len(one) <= 18 for one in parts):
        raise Invalid("This address is not valid. Start from the turn.", field="until")
    at_us, rank, key = (int(one) for one in parts)
    return at_us, rank, key
