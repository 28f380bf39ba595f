"""Charts as SVG paths in a box of 200 by 88 units; the templates draw them, a table says the numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from backlog_app.queries.flow import Burndown, FlowDay

WIDTH, HEIGHT = 200.0, 88.0
TOP = 4.0
LABELS = (7, 6, 5, 4)
"""How many days an axis names: the first of these that divides them, so that each stands at its day."""


@dataclass(frozen=True, slots=True)
class Burn:
    line: str
    """What is left, as steps."""
    ideal: str
    """An even pace from the start to nothing."""
    ticks: tuple[int, int, int]
    days: Sequence[date]
    summary: str


@dataclass(frozen=True, slots=True)
class Area:
    status: str
    title: str
    css: str
    path: str


@dataclass(frozen=True, slots=True)
class Flow:
    areas: Sequence[Area]
    ticks: tuple[int, int, int]
    days: Sequence[date]


_SERIES = (
    ("done", "Done", "c1"),
    ("review", "In review", "c2"),
    ("blocked", "Blocked", "cw"),
    ("in_progress", "In progress", "now"),
    ("todo", "To do", "c3"),
)


def burn(burned: Burndown, all_days: Sequence[date]) -> Burn:
    top = max([burned.start, *(day.left for day in burned.days), 1])
    width = WIDTH / max(1, burned.total_days)

    def y(value: int) -> str:
        return f"{HEIGHT - (HEIGHT - TOP) * value / top:.1f}"

    steps = "".join(f"h{width:.2f}V{y(day.left)}" for day in burned.days)
    left = burned.days[-1].left if burned.days else burned.start
    return Burn(
        line=f"M0 {y(burned.start)}{steps}",
        ideal=f"M0 {y(burned.start)} {WIDTH:.0f} {HEIGHT:.0f}",
        ticks=(top, round(top / 2), 0),
        days=spaced(all_days),
        summary=(
            f"Burn-down: {burned.start} {burned.unit} at the start, {left} left on day {len(burned.days)} "
            f"of {burned.total_days}."
        ),
    )


def flow(days: Sequence[FlowDay]) -> Flow:
    """Columns stacked on one another, Done at the bottom; each day is a step."""
    totals = [sum(day.counts[status] for status, _, _ in _SERIES) for day in days]
    top = max([*totals, 1])
    width = WIDTH / max(1, len(days))
    floor = [0] * len(days)
    areas = []
    for status, title, css in _SERIES:
        roof = [below + day.counts[status] for below, day in zip(floor, days, strict=True)]
        if roof != floor:
            areas.append(Area(status, title, css, _band(floor, roof, width, top)))
        floor = roof
    return Flow(areas, (top, round(top / 2), 0), spaced([day.day for day in days]))


def spaced(days: Sequence[date]) -> list[date]:
    """The days that the axis names."""
    if len(days) <= LABELS[0]:
        return list(days)
    count = next((number for number in LABELS if len(days) % number == 0), LABELS[-1])
    return [days[n * len(days) // count] for n in range(count)]


def _band(floor: Sequence[int], roof: Sequence[int], width: float, top: int) -> str:
    def y(value: int) -> str:
        return f"{HEIGHT - (HEIGHT - TOP) * value / top:.1f}"

    there = "".join(f"V{y(value)}h{width:.2f}" for value in roof)
    back = "".join(f"V{y(value)}h-{width:.2f}" for value in reversed(floor))
    return f"M0 {y(floor[0])}{there}{back}Z"
