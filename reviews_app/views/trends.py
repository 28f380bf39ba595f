"""How findings came and went and how the gate was answered, day by day."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from contextdash import live
from reviews_app.queries import tallies
from reviews_app.queries.trends import Day, cache_rate, days

HEIGHT = 160
"""Of the drawing, in px; its width is in percent."""


@dataclass(frozen=True, slots=True)
class Bar:
    css: str
    x: str
    width: str
    y: str
    height: str


@dataclass(frozen=True, slots=True)
class Chart:
    names: Sequence[str]
    """Of the parts, darkest first."""
    top: int
    bars: Sequence[Bar]


def trends(request: HttpRequest) -> HttpResponse:
    version = tallies.version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    shown = days(project=request.GET.get("project", ""))
    asked = sum(day.hits + day.misses for day in shown)
    context = {
        "nav": "reviews",
        "days": shown,
        "found": _chart(
            shown,
            (
                ("Critical and High", lambda day: day.blocking_found),
                ("other severities", lambda day: day.found - day.blocking_found),
            ),
        ),
        "gate": _chart(
            shown,
            (
                ("answered by a review", lambda day: day.hits),
                ("no fresh review, or blocked", lambda day: day.misses),
                ("skipped", lambda day: day.skipped),
            ),
        ),
        "week": cache_rate(),
        "sums": {
            "found": sum(day.found for day in shown),
            "closed": sum(day.closed for day in shown),
            "hits": sum(day.hits for day in shown),
            "asked": asked,
            "skipped": sum(day.skipped for day in shown),
        },
    }
    return live.respond(request, "reviews/trends.html", context, version=version, fragment="live")


type Part = tuple[str, Callable[[Day], int]]


def _chart(shown: Sequence[Day], parts: Sequence[Part]) -> Chart:
    """Stacked columns, one for each day; every length is relative to the highest column."""
    top = max((sum(value(day) for _, value in parts) for day in shown), default=0)
    step = 100 / max(1, len(shown))
    bars: list[Bar] = []
    for n, day in enumerate(shown):
        base = float(HEIGHT)
        for part, (_, value) in enumerate(parts, start=1):
            height = HEIGHT * value(day) / top if top else 0
            if height <= 0:
                continue
            base -= height
            bars.append(
                Bar(
                    f"c{part}",
                    f"{n * step + step * 0.15:.2f}%",
                    f"{step * 0.7:.2f}%",
                    f"{base:.1f}",
                    f"{height:.1f}",
                )
            )
    return Chart([name for name, _ in parts], top, bars)
