"""A waterfall as SVG: shapes are attributes in percent, so it needs no inline style and fits any width."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from contextdash.clock import from_us
from contextdash.rendering.ansi import plain
from contextdash.rendering.numbers import duration
from contextdash.rendering.states import monogram
from sessions_app.queries.session import Family
from sessions_app.queries.waterfall import Bar, Lane, Picture, Stretch
from sessions_app.views.drawing import Lanes

ROWS = 80
"""Up to so many calls of a stretch get a row of their own."""
TRACKS = 5
"""Calls side by side that a lane tells apart."""
SPAN_PX, TRACK_PX, BAR_PX = 16, 11, 8
STRIP_PX = 36
TITLE_CHARS = 70
AXIS_TICKS = 7
STEPS_MS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000),
    *(60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000),
    *(21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000),
)
UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000))

# A thousand bars are no stops of the Tab key: rows and lanes have the same links.
_BAR = (
    '<a href="{{}}" tabindex="-1"><rect class="{{}}" x="{{}}" y="{y}" width="{{}}" height="{height}"/>'
    "<title>{{}}</title></a>"
)

type ZoomTo = Callable[[int, int], str]
"""The address of the picture of a stretch."""


@dataclass(frozen=True, slots=True)
class Tick:
    at: str
    """Percent."""
    text: str


@dataclass(frozen=True, slots=True)
class CallRow:
    bar: Bar
    url: str
    svg: SafeString


@dataclass(frozen=True, slots=True)
class LaneRow:
    lane: Lane
    slot: int
    letters: str
    tracks: int
    """The height of its drawing: how many tracks of calls it has."""
    svg: SafeString
    took_us: int
    """How long its session has lasted so far."""
    side_by_side: bool
    rows: Sequence[CallRow]


@dataclass(frozen=True, slots=True)
class Drawing:
    picture: Picture
    lanes: Sequence[LaneRow]
    ticks: Sequence[Tick]
    listed: bool
    """Each call has a row of its own."""


def draw(family: Family, picture: Picture, zoom_to: ZoomTo) -> Drawing:
    scale = _Scale(picture.shown)
    slots = Lanes(family)
    listed = not picture.heaped and picture.calls <= ROWS
    lanes = []
    for lane in picture.lanes:
        slot = slots.slot_of(lane.session.key, family.root.key)
        lanes.append(_lane(lane, slot, scale, zoom_to, listed=listed))
    return Drawing(picture, lanes, ticks(picture.shown, picture.whole), listed)


def overview(bars: Sequence[Bar], whole: Stretch, shown: Stretch) -> SafeString:
    """How busy the whole time was, and which part of it is shown."""
    scale = _Scale(whole)
    most = max((bar.count for bar in bars), default=1)
    made = format_html_join(
        "",
        '<rect class="{}" x="{}" y="{}" width="0.5%" height="{}"/>',
        (
            (css, scale.x(bar.start_us), 40 - high, high)
            for bar in bars
            for css, high in _heap(bar, STRIP_PX, most)
        ),
    )
    if shown == whole:
        return made
    window = format_html(
        '<rect class="win" x="{}" y="1" width="{}" height="40"/>',
        scale.x(shown.start_us),
        scale.width(shown.start_us, shown.end_us, least=0.6),
    )
    return made + window


def since_start(ms: int, step_ms: int) -> str:
    """A time since the session began, as exact as its steps: ``30m``, ``1h 30m``, ``29m 14.2s``, ``20ms``."""
    if ms < 1000:
        return f"{ms}ms"
    words: list[str] = []
    for unit, size_ms in UNITS:
        count, ms = divmod(ms, size_ms)
        if words or count:
            words.append(f"{count:02}{unit}" if words else f"{count}{unit}")
        if step_ms >= size_ms:
            break
    return " ".join(words) if not ms else f"{' '.join(words)[:-1]}{f'.{ms:03}'.rstrip('0')}s"


def ticks(shown: Stretch, whole: Stretch) -> list[Tick]:
    """Round times since the session began, a handful."""
    wanted = shown.length_us / AXIS_TICKS / 1000
    step_us = next((step for step in STEPS_MS if step >= wanted), STEPS_MS[-1]) * 1000
    first = -(-(shown.start_us - whole.start_us) // step_us)
    scale = _Scale(shown)
    made = []
    for number in range(first, first + AXIS_TICKS + 2):
        at_us = whole.start_us + number * step_us
        # A label that begins close to the edge would be cut.
        if at_us <= shown.end_us - shown.length_us // 20:
            made.append(
                Tick(
                    scale.x(at_us), since_start(number * step_us // 1000, step_us // 1000) if number else "0"
                )
            )
    return made


@dataclass(frozen=True, slots=True)
class _Scale:
    shown: Stretch

    def x(self, at_us: int) -> str:
        share = (at_us - self.shown.start_us) / self.shown.length_us
        return f"{100 * min(1.0, max(0.0, share)):.2f}%"

    def width(self, start_us: int, end_us: int, *, least: float = 0.15) -> str:
        start, end = max(start_us, self.shown.start_us), min(end_us, self.shown.end_us)
        return f"{max(least, 100 * (end - start) / self.shown.length_us):.2f}%"


def _lane(lane: Lane, slot: int, scale: _Scale, zoom_to: ZoomTo, *, listed: bool) -> LaneRow:
    css = f"a{slot}"
    y = SPAN_PX
    parts = [_spans(lane.spans, css, scale)]
    if lane.model:
        parts.append(_bars(((bar, y) for bar in lane.model), f"wfb wfb--model {css}", scale, zoom_to))
        y += TRACK_PX
    placed, tracks, side_by_side = _packed(lane.calls)
    parts.append(_bars(((bar, y + TRACK_PX * track) for bar, track in placed), f"wfb {css}", scale, zoom_to))
    rows = [CallRow(bar, _url(bar, zoom_to), _one(bar, css, scale)) for bar in lane.calls] if listed else []
    return LaneRow(
        lane=lane,
        slot=slot,
        letters=monogram(lane.session.agent_name),
        tracks=tracks + bool(lane.model),
        svg=format_html_join("", "{}", ((part,) for part in parts)),
        took_us=max(0, lane.session.last_us - lane.session.started_us),
        side_by_side=side_by_side,
        rows=sorted(rows, key=lambda row: row.bar.start_us),
    )


def _packed(bars: Iterable[Bar]) -> tuple[list[tuple[Bar, int]], int, bool]:
    """Each bar with the first track that is free at its start; heaps lie on the first."""
    ends: list[int] = []
    placed = []
    for bar in sorted(bars, key=lambda bar: (bar.key != 0, bar.start_us)):
        track = 0
        if bar.key:
            track = next((n for n, end in enumerate(ends) if end <= bar.start_us), len(ends))
            track = min(track, TRACKS - 1)
            if track == len(ends):
                ends.append(bar.end_us)
            ends[track] = max(ends[track], bar.end_us)
        placed.append((bar, track))
    return placed, max(1, len(ends)), len(ends) > 1


def _spans(bars: Iterable[Bar], css: str, scale: _Scale) -> SafeString:
    return format_html_join(
        "",
        _BAR.format(y="3", height='10" rx="1.5'),
        (
            (
                f"../?at={bar.start_us}#turn-{bar.key}"
                if bar.kind == "turn"
                else f"?from={bar.start_us}&to={bar.end_us}",
                "wfb wfb--turn" if bar.kind == "turn" else f"wfb wfb--span {css}",
                scale.x(bar.start_us),
                scale.width(bar.start_us, bar.end_us),
                _title(bar),
            )
            for bar in bars
        ),
    )


def _bars(placed: Iterable[tuple[Bar, int]], css: str, scale: _Scale, zoom_to: ZoomTo) -> SafeString:
    bars = list(placed)
    most = max((bar.count for bar, _ in bars), default=1)
    return format_html_join(
        "",
        _BAR.format(y="{}", height="{}"),
        (
            (
                _url(bar, zoom_to),
                colour or css + _state(bar),
                scale.x(bar.start_us),
                y + BAR_PX - high,
                scale.width(bar.start_us, bar.end_us),
                high,
                _title(bar),
            )
            for bar, y in bars
            for colour, high in (_heap(bar, BAR_PX, most, css) if not bar.key else (("", BAR_PX),))
        ),
    )


def _heap(bar: Bar, high: int, most: int, css: str = "wfb") -> list[tuple[str, int]]:
    """A heap is as high as it is large; what failed of it lies at its foot."""
    made = [(css, max(3, round(high * bar.count / most)))]
    if bar.failures:
        made.append(("wfb wfb--bad", max(2, round(high * bar.failures / most))))
    return made


def _one(bar: Bar, css: str, scale: _Scale) -> SafeString:
    return format_html(
        '<rect class="{}" x="{}" y="9" width="{}" height="8" rx="1.5"/>',
        f"wfb {css}{_state(bar)}",
        scale.x(bar.start_us),
        scale.width(bar.start_us, bar.end_us, least=0.3),
    )


def _state(bar: Bar) -> str:
    if bar.failed:
        return " wfb--bad"
    return " wfb--live" if bar.running else ""


def _url(bar: Bar, zoom_to: ZoomTo) -> str:
    if not bar.key:
        return zoom_to(bar.start_us, bar.end_us)
    if bar.kind == "model":
        return f"../model-calls/{bar.key}/"
    return f"../?at={bar.start_us}#c-{bar.key}"


def _title(bar: Bar) -> str:
    at = f"{from_us(bar.start_us):%H:%M:%S} UTC"
    if not bar.key:
        noun = "model call" if bar.kind == "model" else "call"
        failed = f", {bar.failures} failed" if bar.failures else ""
        return f"{bar.count} {noun}{'s' * (bar.count != 1)}{failed}, from {at}"
    took = "running" if bar.running else duration(bar.duration_us) if bar.duration_us is not None else ""
    words = (bar.name or "model call", took, "failed" if bar.failed else "", bar.summary)
    return plain(" ".join(word for word in words if word))[:TITLE_CHARS]
