"""When each agent of a session worked: turns, model calls and tool calls of a stretch of time.

Up to BARS are read one by one. Of more the database makes BUCKETS heaps, and only what is longer than a heap
is read beside them, so a picture costs little however long the session is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import BigIntegerField, Case, Count, ExpressionWrapper, F, Q, QuerySet, Sum, Value, When

from contextdash import clock
from contextdash.errors import Invalid, NotFound
from sessions_app.models import Iteration, Session, ToolCall, Turn
from sessions_app.queries.session import Family
from sessions_app.vocabulary import Activity, CallState

BARS = 1_000
BUCKETS = 240
OVERVIEW_BUCKETS = 160
LONG_BARS = 200
BEFORE_CALLS = 500
"""How many calls that began before the stretch are looked at, for those that reach into it."""
TURNS = 120
LANES = 24
SHORTEST_US = 1_000
"""Nobody looks closer than a millisecond."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time, µs."""

    start_us: int
    end_us: int

    @property
    def length_us(self) -> int:
        return self.end_us - self.start_us


@dataclass(frozen=True, slots=True)
class Bar:
    start_us: int
    end_us: int
    kind: str
    """turn, span, model or call."""
    key: int = 0
    """Of the call or model call; the number of a turn."""
    name: str = ""
    summary: str = ""
    duration_us: int | None = None
    failed: bool = False
    running: bool = False
    count: int = 1
    """How many are heaped here."""
    failures: int = 0


@dataclass(slots=True)
class Lane:
    """One agent: its own bars only."""

    session: Session
    spans: list[Bar] = field(default_factory=list)
    model: list[Bar] = field(default_factory=list)
    calls: list[Bar] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Picture:
    whole: Stretch
    shown: Stretch
    lanes: Sequence[Lane]
    left_out: int
    """Agents at work in the stretch that have no lane."""
    heaped: bool
    calls: int
    """Tool calls in the stretch; at least so many where they are heaped."""


def whole_of(family: Family) -> Stretch:
    """From the first to the last sign of life of the session and its subagents; until now while one works."""
    start = min(session.started_us for session in family.all)
    end = max(session.last_us for session in family.all)
    if any(session.activity != Activity.ENDED and session.ended_at is None for session in family.all):
        busy = any(session.activity in (Activity.WORKING, Activity.WAITING) for session in family.all)
        end = clock.now_us() if busy else end
    return Stretch(start, max(end, start + SHORTEST_US))


def stretch_of(whole: Stretch, start_us: int | None, end_us: int | None) -> Stretch:
    """What is asked for, inside the whole.

    Raises:
        Invalid: it ends before it begins.
    """
    start = (
        whole.start_us if start_us is None else max(whole.start_us, min(start_us, whole.end_us - SHORTEST_US))
    )
    end = whole.end_us if end_us is None else min(whole.end_us, end_us)
    if start_us is not None and end_us is not None and end_us <= start_us:
        raise Invalid("from must be before to.", field="from")
    return Stretch(start, max(end, start + SHORTEST_US))


def stretch_of_turn(session: Session, whole: Stretch, number: int) -> Stretch:
    """
    Raises:
        NotFound: there is no such turn.
    """
    turn = Turn.objects.filter(session=session, number=number).only("started_us", "ended_us").first()
    if turn is None:
        raise NotFound("There is no such turn in this session.")
    end = turn.ended_us if turn.ended_us is not None else whole.end_us
    return Stretch(turn.started_us, max(end, turn.started_us + SHORTEST_US))


def picture(family: Family, whole: Stretch, shown: Stretch) -> Picture:
    lanes, left_out = _lanes(family, shown)
    keys = list(lanes)
    calls = ToolCall.objects.filter(
        session__in=keys, started_us__gte=shown.start_us, started_us__lt=shown.end_us
    )
    thoughts = Iteration.objects.filter(session__in=keys, at_us__gte=shown.start_us, at_us__lt=shown.end_us)
    many = _bounded(calls) + _bounded(thoughts)
    heaped = many > BARS
    now_us = clock.now_us()
    if heaped:
        width = max(1, -(-shown.length_us // BUCKETS))
        number = _heap_calls(calls, lanes, shown, width)
        _heap_thoughts(thoughts, lanes, shown, width)
        _add_calls(calls.filter(duration_us__gt=width).order_by("-duration_us")[:LONG_BARS], lanes, now_us)
    else:
        number = _add_calls(calls.order_by("started_us", "key"), lanes, now_us)
        _add_thoughts(thoughts, lanes)
    _add_earlier(keys, lanes, shown, now_us)
    _add_turns(family.root, lanes, shown, now_us)
    return Picture(whole, shown, list(lanes.values()), left_out, heaped, number)


def overview(family: Family, whole: Stretch) -> Sequence[Bar]:
    """How many calls there were over the whole time, and how many of them failed."""
    width = max(1, -(-whole.length_us // OVERVIEW_BUCKETS))
    calls = ToolCall.objects.filter(
        session__in=family.keys, started_us__gte=whole.start_us, started_us__lt=whole.end_us
    )
    found = calls.order_by().values_list(_bucket("started_us", whole, width))
    return [
        Bar(
            whole.start_us + bucket * width,
            whole.start_us + (bucket + 1) * width,
            "call",
            count=count,
            failures=failed or 0,
        )
        for bucket, count, failed in found.annotate(n=Count("key"), bad=_FAILED)
    ]


_FAILED = Sum(
    Case(When(state=CallState.FAILED, then=Value(1)), default=Value(0), output_field=BigIntegerField())
)
_CALL = ("session_id", "key", "started_us", "ended_us", "duration_us", "state", "name", "summary")


def _lanes(family: Family, shown: Stretch) -> tuple[dict[int, Lane], int]:
    """The session itself, then subagents that were there in this stretch, in order of their start."""
    children = [
        child
        for child in family.children
        if child.started_us <= shown.end_us and _end_of(child, shown) >= shown.start_us
    ]
    lanes = {session.key: Lane(session) for session in (family.root, *children[: LANES - 1])}
    for child in children[: LANES - 1]:
        lanes[child.key].spans.append(
            Bar(child.started_us, _end_of(child, shown), "span", child.key, child.agent_name)
        )
    return lanes, max(0, len(children) - LANES + 1)


def _end_of(child: Session, shown: Stretch) -> int:
    over = child.activity != Activity.WORKING or child.ended_at is not None
    return child.last_us if over else max(child.last_us, shown.end_us)


def _bounded(rows: QuerySet[ToolCall] | QuerySet[Iteration]) -> int:
    return len(rows.order_by().values_list("key", flat=True)[: BARS + 1])


def _add_calls(rows: QuerySet[ToolCall], lanes: dict[int, Lane], now_us: int) -> int:
    number = 0
    for session, key, start, ended, took, state, name, summary in rows.values_list(*_CALL):
        lane = lanes[session]
        running = state == CallState.PREPARED and lane.session.ended_at is None
        end = now_us if running else ended if took is None else start + took
        end = max(start, start if end is None else end)
        failed = state == CallState.FAILED
        lane.calls.append(Bar(start, end, "call", key, name, summary, took, failed, running))
        number += 1
    return number


def _add_thoughts(rows: QuerySet[Iteration], lanes: dict[int, Lane]) -> None:
    names = ("session_id", "key", "at_us", "ended_us", "duration_us", "model")
    for session, key, at_us, end, told, model in rows.order_by("at_us", "key").values_list(*names):
        # A call begins before the first piece of its answer is written.
        start = at_us if told is None else min(at_us, end - told)
        lanes[session].model.append(Bar(start, max(start, end), "model", key, model, "", end - start))


def _add_earlier(keys: Sequence[int], lanes: dict[int, Lane], shown: Stretch, now_us: int) -> None:
    """Calls that began before the stretch and reach into it."""
    before = ToolCall.objects.filter(session__in=keys, started_us__lt=shown.start_us)
    newest = list(before.order_by("-started_us").values_list("key", flat=True)[:BEFORE_CALLS])
    reaching = ToolCall.objects.filter(key__in=newest).filter(
        Q(ended_us__gt=shown.start_us) | Q(ended_us=None, state=CallState.PREPARED)
    )
    _add_calls(reaching.order_by("started_us", "key"), lanes, now_us)


def _add_turns(root: Session, lanes: dict[int, Lane], shown: Stretch, now_us: int) -> None:
    turns = Turn.objects.filter(session=root, started_us__lt=shown.end_us)
    rows = turns.order_by("-started_us").values_list("number", "started_us", "ended_us", "failed_count")
    found = [row for row in rows[: TURNS + 1] if row[2] is None or row[2] >= shown.start_us]
    if len(found) > TURNS:
        return  # side by side they would be one block
    for number, start, ended, failed in found:
        end = ended if ended is not None else min(now_us, shown.end_us)
        lanes[root.key].spans.append(
            Bar(start, max(start, end), "turn", number, f"Turn {number}", "", end - start, failures=failed)
        )


def _bucket(name: str, stretch: Stretch, width: int) -> Any:
    """Which heap a moment falls into."""
    return ExpressionWrapper(
        (F(name) - Value(stretch.start_us)) / Value(width), output_field=BigIntegerField()
    )


def _heap_calls(rows: QuerySet[ToolCall], lanes: dict[int, Lane], shown: Stretch, width: int) -> int:
    place = _bucket("started_us", shown, width)
    found = rows.order_by().values_list("session_id", place).annotate(n=Count("key"), bad=_FAILED)
    number = 0
    for session, bucket, count, failed in found.order_by("session_id"):
        start = shown.start_us + bucket * width
        lanes[session].calls.append(Bar(start, start + width, "call", count=count, failures=failed or 0))
        number += count
    return number


def _heap_thoughts(rows: QuerySet[Iteration], lanes: dict[int, Lane], shown: Stretch, width: int) -> None:
    place = _bucket("at_us", shown, width)
    for session, bucket, count in rows.order_by().values_list("session_id", place).annotate(n=Count("key")):
        start = shown.start_us + bucket * width
        lanes[session].model.append(Bar(start, start + width, "model", count=count))
