"""The one timeline of a session: rows of many sources merged by time, read in windows from the newest back.

What is read costs the same for a session of ten events and of a million: every source gives the newest rows
before a moment out of an index.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from contextdash.clock import MAX_US, from_us, to_us
from contextdash.errors import Invalid, NotFound
from sessions_app.models import AgentMessage, Run, RunDetail, Session, ToolCall, Turn
from sessions_app.queries import timeline_sources as sources
from sessions_app.queries.session import Family
from sessions_app.registry import Row, Rows, Window, registry
from sessions_app.vocabulary import CallState

WINDOW_ROWS = 120
"""How many rows a page shows at first, and how many more "earlier" brings."""

ROWS_AFTER = 40
"""How many calls or messages after a linked row its page shows."""

TAIL_ROWS = 500
"""How many rows an open page takes in after it was drawn."""

KINDS = {
    "turn": "Prompts",
    "call": "Tool calls",
    "message": "Messages",
    "decision": "Decisions",
    "plan": "Plans",
    "mistake": "Mistakes",
    "finding": "Findings",
    "story": "Stories",
    "note": "Session",
    "hook": "Hooks",
}
"""What can be left out of a timeline, in the order of the filter."""

OFF_AT_FIRST = frozenset({"hook"})
"""Hook reports are many and seldom what one looks for."""

type FamilyRows = Callable[[Family, Window], Sequence[Row]]

OF_FAMILY: dict[str, tuple[FamilyRows, ...]] = {
    "turn": (sources.turns, sources.answers),
    "call": (sources.calls,),
    "message": (sources.messages,),
    "note": (sources.notes,),
}
"""The sources that also read subagents; all others are registered and read the session itself."""


@dataclass(frozen=True, slots=True)
class TimelineFilter:
    kinds: frozenset[str]
    only_failed: bool = False


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows in order of time, oldest first."""

    rows: Sequence[Row]
    earlier: str | None
    """The cursor of the rows before these; None when there are none."""


def stretch_before(
    family: Family, wanted: TimelineFilter, *, cursor: str | None = None, limit: int = WINDOW_ROWS
) -> Stretch:
    """The newest rows before a cursor, or the newest of all.

    Raises:
        Invalid: the cursor is not one of ours.
    """
    end_us, shown = (MAX_US, 0) if cursor is None else _parse(cursor)
    # Rows of the border moment may be on both sides of it: read them too, and leave out those already shown.
    window = Window(start_us=0, end_us=end_us + 1, limit=limit + shown + 1, only_failed=wanted.only_failed)
    rows = _merged(family, wanted, window)
    border = len(rows)
    while shown and border and rows[border - 1].at_us == end_us:
        border -= 1
        shown -= 1
    rows = rows[:border]
    kept = rows[-limit:]
    return Stretch(kept, _cursor(kept, cursor) if len(rows) > len(kept) else None)


def stretch_after(family: Family, wanted: TimelineFilter, *, from_us: int) -> Stretch:
    """The newest rows from a moment on, at most TAIL_ROWS: what came while a page was open."""
    window = Window(start_us=from_us, end_us=MAX_US, limit=TAIL_ROWS, only_failed=wanted.only_failed)
    return Stretch(_merged(family, wanted, window)[-TAIL_ROWS:], None)


def cursor_around(family: Family, at_us: int) -> str | None:
    """The cursor of a window that holds a moment and some rows after it; None when the newest does."""
    calls = ToolCall.objects.filter(session__in=family.keys, started_us__gt=at_us).order_by(
        "started_us", "key"
    )
    spoken = AgentMessage.objects.filter(session__id=family.root.id, ts__gt=from_us(at_us)).order_by(
        "ts", "id"
    )
    ends = [
        *calls.values_list("started_us", flat=True)[ROWS_AFTER : ROWS_AFTER + 1],
        *(to_us(ts) for ts in spoken.values_list("ts", flat=True)[ROWS_AFTER : ROWS_AFTER + 1]),
    ]
    return f"{min(ends)}.0" if ends else None


def turn_of(session: Session, number: int) -> Turn:
    """A turn, its text whole.

    Raises:
        NotFound: there is none of that number.
    """
    found = Turn.objects.filter(session=session, number=number).first()
    if found is None:
        raise NotFound("There is no such turn in this session.")
    return found


def turn_item(family: Family, number: int) -> sources.TurnItem:
    """A turn as its row draws it.

    Raises:
        NotFound: there is none of that number.
    """
    start_us = turn_of(family.root, number).started_us
    window = Window(start_us=start_us, end_us=start_us + 1, limit=TAIL_ROWS)
    items: list[sources.TurnItem] = [row.item for row in sources.turns(family, window)]
    return next(item for item in items if item.turn.number == number)


def runs_of(turn: Turn) -> Sequence[tuple[Run, RunDetail | None]]:
    """The attempts at a turn with what their writers told beside, in order."""
    runs = list(turn.runs.order_by("number"))
    details = RunDetail.objects.filter(run__in=[run.key for run in runs]).defer("ctx").in_bulk()
    return [(run, details.get(run.key)) for run in runs]


def tail_starts(rows: Sequence[Row]) -> int:
    """From where on an open page asks again: rows before it have come to rest.

    A call that still runs will get its result in place, so the tail begins with the oldest such, else with
    the newest row: what comes next may carry the same time.
    """
    running = (row.at_us for row in rows if row.kind == "call" and row.item.state == CallState.PREPARED)
    return min(running, default=rows[-1].at_us if rows else 0)


def _merged(family: Family, wanted: TimelineFilter, window: Window) -> list[Row]:
    """Rows of all sources by time. Equal times keep the order of sources, and within one its own."""
    lists = [rows(family, window) for kind in OF_FAMILY if kind in wanted.kinds for rows in OF_FAMILY[kind]]
    lists += [rows(family.root, window) for kind, rows in _registered() if kind in wanted.kinds]
    if window.only_failed:
        lists = [[row for row in rows if row.failed] for rows in lists]
    merged = sorted(chain.from_iterable(lists), key=lambda row: row.at_us)
    return merged[-window.limit :]


def _registered() -> Iterable[tuple[str, Rows]]:
    return registry.timeline.items()


def _cursor(kept: Sequence[Row], before: str | None) -> str:
    oldest = kept[0].at_us
    shown = sum(1 for row in kept if row.at_us == oldest)
    if before is not None:
        end_us, already = _parse(before)
        shown += already if end_us == oldest else 0
    return f"{oldest}.{shown}"


def _parse(cursor: str) -> tuple[int, int]:
    us, _, shown = cursor.partition(".")
    if not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in (us, shown)):
        raise Invalid("This page's address is not valid. Start from the newest rows.", field="before")
    # More rows of one moment than a page of them are skipped, not counted for ever.
    return min(int(us), MAX_US), min(int(shown), 100 * WINDOW_ROWS)
