"""Timelines as drawings: a lane for each agent, a mark for each row, a bar for each duration.

Shapes are SVG attributes, so that the pages need no inline style.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from math import log
from typing import NamedTuple

from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from contextdash.clock import from_us
from contextdash.rendering.states import AGENT_SLOTS, SHARED_SLOT, agent_slot, monogram
from sessions_app.models import ToolCall
from sessions_app.queries.session import Family
from sessions_app.queries.timeline import Stretch
from sessions_app.queries.timeline_sources import YOU
from sessions_app.registry import Row
from sessions_app.vocabulary import Activity, CallState

MAX_LANES = 8
LANE_PX = 18
ROW_MID = 17
"""Where the mark of a row sits, in px from its top."""

BAR_FROM_US = 50_000
BAR_TO_US = 600_000_000
LONG_US = 120_000_000
"""A call from here on is set in bold."""


class Stroke(NamedTuple):
    """One path of a row's drawing."""

    css: str
    d: str


@dataclass(slots=True)
class Lane:
    name: str
    slot: int
    place: int
    start_us: int = 0
    end_us: int | None = None
    """None while it runs."""
    waits: Sequence[tuple[int, int | None]] = ()
    """When its agent waited for a child."""

    @property
    def x(self) -> int:
        return LANE_PX // 2 + LANE_PX * self.place

    @property
    def letters(self) -> str:
        return "Yo" if self.name == YOU else monogram(self.name)


@dataclass(frozen=True, slots=True)
class Bar:
    width: str
    """Percent of the column: logarithmic from 50 ms to 10 minutes."""
    css: str
    long: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """A row with its drawing and its bar."""

    row: Row
    lanes: SafeString
    """The paths of its drawing."""
    css: str
    bar: Bar | None
    slot: int
    letters: str
    shows_agent: bool
    """Whether several agents work here, so that each row must say whose it is."""
    day: date | None
    """Its day in the reader's zone, where that is not the day of the row before."""


def bar_of(call: ToolCall, now_us: int, *, over: bool = False) -> Bar | None:
    """The bar of a call; of one that runs, until now; None where the length is not known.

    ``over`` says that its session has ended, so nothing runs any more.
    """
    running = call.state == CallState.PREPARED and not over
    length = max(0, now_us - call.started_us) if running else call.duration_us
    if length is None or length < 0:
        return None
    css = "x" if call.state == CallState.FAILED else "l" if running else "on"
    return Bar(bar_width(length), css, length >= LONG_US)


def bar_width(length_us: int) -> str:
    share = log(max(length_us, 1) / BAR_FROM_US) / log(BAR_TO_US / BAR_FROM_US)
    return f"{min(100, max(2, round(100 * share)))}%"


class Lanes:
    """The lanes of a page: you, the session's agent, its subagents in order, then other names that speak."""

    def __init__(self, family: Family, speakers: Sequence[str] = ()) -> None:
        self.all: list[Lane] = []
        self._by_key: dict[int | None, Lane] = {}
        self._by_name: dict[str, Lane] = {}
        self._add(YOU)
        main = self._add(family.root.agent_name)
        self._by_key[None] = main
        for child in family.children:
            lane = self._by_key[child.key] = self._add(child.agent_name, own=True)
            lane.start_us = child.started_us if lane.start_us == 0 else min(lane.start_us, child.started_us)
            over = child.activity == Activity.ENDED or child.ended_at is not None
            lane.end_us = max(lane.end_us or 0, child.last_us) if over else None
        for name in speakers:
            if name not in self._by_name:
                self._add(name)

    def draw(self, stretch: Stretch, now_us: int, *, follows_us: int | None = None) -> list[Drawn]:
        """``follows_us`` is the time of what stands above the first row; without it that row's day is
        told unless it is today.
        """
        self._read_spawns(stretch.rows)
        last = self._last_rows(stretch.rows)
        drawn = []
        above = _day(now_us if follows_us is None else follows_us)
        for index, row in enumerate(stretch.rows):
            lane = self.of(row)
            day = _day(row.at_us)
            begins = index == 0 and stretch.earlier is None
            drawn.append(
                Drawn(
                    row=row,
                    lanes=_paths(tuple(self._strokes(row, begins, ends=last.get(id(row), False)))),
                    css=_css(row),
                    bar=bar_of(row.item.call, now_us, over=not row.item.open) if row.kind == "call" else None,
                    slot=lane.slot,
                    letters=lane.letters,
                    shows_agent=len(self.all) > 2,
                    day=None if day == above else day,
                )
            )
            above = day
        return drawn

    def of(self, row: Row) -> Lane:
        if row.session_key is not None and row.session_key in self._by_key:
            return self._by_key[row.session_key]
        return self._by_name.get(row.agent, self._by_key[None])

    def slot_of(self, key: int, root: int) -> int:
        """The colour of a session's lane."""
        return self._by_key[None if key == root else key].slot

    def _add(self, name: str, *, own: bool = False) -> Lane:
        """A lane for a name; past the eighth all share the last."""
        if not own and name in self._by_name:
            return self._by_name[name]
        if len(self.all) == MAX_LANES:
            return self.all[-1]
        lane = Lane(name, self._slot(name), len(self.all))
        self.all.append(lane)
        self._by_name.setdefault(name, lane)
        return lane

    def _slot(self, name: str) -> int:
        taken = {lane.slot for lane in self.all}
        slot = agent_slot(name)
        if name.strip().lower() in AGENT_SLOTS and slot not in taken:
            return slot
        return next((free for free in range(1, MAX_LANES + 1) if free not in taken), SHARED_SLOT)

    def _read_spawns(self, rows: Sequence[Row]) -> None:
        """A lane begins at the call that spawned it and ends with it; its parent waits in between."""
        waits: list[tuple[int, int | None]] = []
        for row in rows:
            if row.kind != "call" or row.item.child is None:
                continue
            call, lane = row.item.call, self._by_key.get(row.item.child.key)
            if lane is None or lane is self._by_key[None]:
                continue
            lane.start_us = min(lane.start_us, call.started_us)
            if row.session_key is None:
                waits.append((call.started_us, call.ended_us if call.state != CallState.PREPARED else None))
        self._by_key[None].waits = waits

    def _last_rows(self, rows: Sequence[Row]) -> dict[int, bool]:
        """The rows with which a subagent's lane returns to its parent's."""
        newest: dict[int, Row] = {}
        for row in rows:
            if row.session_key is not None:
                newest[self.of(row).place] = row
        until = rows[-1].at_us if rows else 0
        ends = {}
        for place, row in newest.items():
            lane = self.all[place]
            if lane.end_us is not None and lane.end_us <= max(until, row.at_us):
                ends[id(row)] = True
                lane.end_us = row.at_us
        return ends

    def _strokes(self, row: Row, begins: bool, *, ends: bool) -> list[Stroke]:
        main, own = self._by_key[None], self.of(row)
        strokes = []
        for lane in self.all[1:]:
            if lane is main or self._passes(lane, row):
                if ends and lane is own:
                    back = lane.x - main.x - 7
                    strokes.append(Stroke(f"a{lane.slot}", f"M{lane.x} 0v10q0 7-7 7h-{back}"))
                    continue
                top = ROW_MID if begins else 0
                dotted = " w" if self._waits(lane, row) else ""
                strokes.append(Stroke(f"a{lane.slot}{dotted}", f"M{lane.x} {top}v3e3"))
        spawned = self._by_key.get(row.item.child.key) if row.kind == "call" and row.item.child else None
        if spawned is not None and spawned.x > own.x:
            out = spawned.x - own.x - 7
            strokes.append(Stroke(f"a{spawned.slot}", f"M{own.x} {ROW_MID}h{out}q7 0 7 7v3e3"))
        strokes.append(_mark(row, own))
        return strokes

    def _passes(self, lane: Lane, row: Row) -> bool:
        if lane.start_us == 0:  # a name without a session of its own has marks and no line
            return False
        return lane.start_us < row.at_us and (lane.end_us is None or row.at_us <= lane.end_us)

    def _waits(self, lane: Lane, row: Row) -> bool:
        return any(start < row.at_us and (end is None or row.at_us < end) for start, end in lane.waits)


@lru_cache(maxsize=2000)
def _paths(strokes: tuple[Stroke, ...]) -> SafeString:
    """Most rows of a timeline look like the one above them, so few drawings are made."""
    return format_html_join("", '<path class="{}" d="{}"/>', strokes)


def _day(us: int) -> date:
    return timezone.localdate(from_us(us))


def _css(row: Row) -> str:
    if row.person:
        return "ev ev--wait"
    return {"hook": "ev ev--hook", "note": "ev ev--hook"}.get(row.kind, "ev") + (
        " ev--turn" if row.key.startswith("turn-") else ""
    )


def _mark(row: Row, lane: Lane) -> Stroke:
    x, css = lane.x, f"a{lane.slot} m"
    match row.kind:
        case "turn" if row.agent == YOU:
            return Stroke("a0 m", f"M{x} 10l7 7-7 7-7-7z")
        case "call":
            return Stroke(css + " o", _circle(x, "3.6"))
        case "decision" | "plan" | "story":
            return Stroke(css, f"M{x - 5} 12h10v10h-10z")
        case "mistake" | "finding":
            return Stroke(css, f"M{x} 10.5l6.5 11.5h-13z")
        case "hook" | "note":
            return Stroke(css, _circle(x, "2.8"))
        case _:
            return Stroke(css, _circle(x, "5"))


def _circle(x: int, radius: str) -> str:
    width = f"{float(radius) * 2:g}"
    return f"M{x} {ROW_MID}m-{radius} 0a{radius} {radius} 0 1 0 {width} 0a{radius} {radius} 0 1 0-{width} 0z"
