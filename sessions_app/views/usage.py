"""Usage: tokens and cost by day, model, project, agent and client."""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from io import StringIO

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from contextdash.rendering.ansi import plain
from contextdash.viewkit import whole_number
from sessions_app.queries import usage
from sessions_app.queries.usage import DayLine, Line, Report, Wanted
from sessions_app.views.listing import address

HEIGHT = 160
"""Of the drawing, in px; its width is in percent."""
SPANS = {1: "Today", 7: "7 days", 15: "15 days", 30: "30 days", 90: "90 days"}
SPAN = 15
SERIES = 2
"""Models that the chart tells apart, the dearest; the others are one more part."""
BARS = 12
FILTERS = ("client", "agent", "model")
MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Bar:
    css: str
    x: str
    width: str
    y: str
    height: str


@dataclass(frozen=True, slots=True)
class ChartDay:
    day: date
    url: str
    parts: Sequence[int]
    """Micro-dollars of each series."""
    line: DayLine
    labelled: bool


@dataclass(frozen=True, slots=True)
class Chart:
    names: Sequence[str]
    top: int
    """Micro-dollars of the highest day."""
    bars: Sequence[Bar]
    days: Sequence[ChartDay]


@dataclass(frozen=True, slots=True)
class Row:
    line: Line
    url: str
    width: str
    """Of its bar, in percent of the dearest."""


@dataclass(frozen=True, slots=True)
class Span:
    title: str
    url: str
    current: bool


@require_GET
def usage_page(request: HttpRequest) -> HttpResponse:
    wanted = read_wanted(request.GET)
    found = usage.report(wanted)
    return render(request, "usage/page.html", {"nav": "usage", **_context(request.GET, wanted, found)})


@require_GET
def usage_file(request: HttpRequest) -> HttpResponse:
    """The same days and filters as a table of days and models."""
    wanted = read_wanted(request.GET)
    found = usage.report(wanted)
    made = StringIO()
    rows = csv.writer(made)
    zone = timezone.get_current_timezone_name()
    rows.writerow([f"day ({zone})", "model", "cost_usd"])
    for day in found.days:
        for model, micro in sorted(day.by_model.items()):
            priced = next((line.cost_micro for line in found.models if line.value == model), None)
            cost = "" if priced is None else f"{micro / MICRO:.6f}"
            rows.writerow([day.day.isoformat(), _cell(model), cost])
    response = HttpResponse(made.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="usage.csv"'
    return response


def read_wanted(query: QueryDict) -> Wanted:
    """What the address asks for; a day or span that is none of ours is left out."""
    last = usage.today()
    days = whole_number(query.get("days", "")) or SPAN
    first = last - timedelta(days=(days if days in SPANS else SPAN) - 1)
    if (day := _day(query.get("day", ""))) is not None:
        first = last = day
    return Wanted(
        first, last, query.get("project", "")[:100], *(query.get(name, "")[:200] for name in FILTERS)
    )


def _context(query: QueryDict, wanted: Wanted, found: Report) -> dict[str, object]:
    days = whole_number(query.get("days", "")) or SPAN
    single = wanted.first == wanted.last
    chosen = [
        (name, value, address(query, **{name: None}))
        for name in ("day", *FILTERS)
        if (value := query.get(name, "")[:200])
    ]
    return {
        "wanted": wanted,
        "single": single,
        "zone": timezone.get_current_timezone_name(),
        "spans": [
            Span(title, address(query, days=str(span), day=None), span == days and "day" not in query)
            for span, title in SPANS.items()
        ],
        "chosen": chosen,
        "total": found.total,
        "code": usage.code(wanted),
        "input": sum(found.total.numbers[name] for name in usage.TOKENS[:-1]),
        "cached_percent": _percent(found.total),
        "unpriced": [line for line in found.models if line.numbers["unpriced"]],
        "chart": _chart(query, found),
        "models": _rows(query, "model", found.models, len(found.models)),
        "projects": _rows(query, "project", found.projects),
        "agents": _rows(query, "agent", found.agents),
        "clients": _rows(query, "client", found.clients),
        "file_url": reverse("usage_file") + address(query),
    }


def _percent(total: Line) -> int | None:
    whole = sum(total.numbers[name] for name in usage.TOKENS[:-1])
    return round(100 * total.numbers["cache_read_tokens"] / whole) if whole else None


def _chart(query: QueryDict, found: Report) -> Chart:
    """Stacked columns, one for each day."""
    own = [line.value for line in found.models if line.numbers["cost_micro"]]
    names = own[:SERIES] + (["other models"] if len(own) > SERIES else [])
    top = max((sum(day.by_model.values()) for day in found.days), default=0)
    step = 100 / max(1, len(found.days))
    bars: list[Bar] = []
    days: list[ChartDay] = []
    each = max(1, len(found.days) // 15)
    for place, day in enumerate(found.days):
        parts = _parts(day.by_model, own)[: len(names)]
        bars += _stack(parts, top, place * step, step)
        back = len(found.days) - 1 - place
        url = address(query, day=day.day.isoformat())
        days.append(ChartDay(day.day, url, parts, day, back % each == 0))
    return Chart(names, top, bars, days)


def _parts(by_model: object, own: Sequence[str]) -> list[int]:
    costs = Counter(by_model)  # type: ignore[call-overload]  # a mapping of numbers
    shown = [costs[name] for name in own[:SERIES]]
    return [*shown, sum(costs.values()) - sum(shown)]


def _stack(parts: Sequence[int], top: int, x: float, step: float) -> list[Bar]:
    base = float(HEIGHT)
    bars: list[Bar] = []
    for number, part in enumerate(parts, 1):
        height = HEIGHT * part / top if top else 0
        if height > 0:
            base -= height
            place = (f"{x + step * 0.15:.2f}%", f"{step * 0.7:.2f}%", f"{base:.1f}", f"{height:.1f}")
            bars.append(Bar(f"c{number}", *place))
    return bars


def _rows(query: QueryDict, name: str, lines: Sequence[Line], limit: int = BARS) -> list[Row]:
    dearest = max((line.numbers["cost_micro"] for line in lines), default=0)
    return [
        Row(
            line,
            address(query, **{name: line.value}),
            f"{100 * line.numbers['cost_micro'] / dearest:.1f}%" if dearest else "0%",
        )
        for line in lines[:limit]
    ]


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1970 < day.year < 9999 else None


def _cell(text: str) -> str:
    """Plain text; what a spreadsheet would take for a formula is quoted."""
    text = plain(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
