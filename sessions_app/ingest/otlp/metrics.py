"""Claude Code's metrics: of lines, commits, pull requests and starts; tokens there are those of its logs."""

import math

from contextdash.ids import digest16
from sessions_app.importers.gathering import whose
from sessions_app.ingest.otlp.claude_code import SERVICE, is_claude
from sessions_app.ingest.otlp.taking import CodeSeen, Taker, shown_attributes
from sessions_app.ingest.otlp.wire import Point
from sessions_app.ingest.reading import encode, text
from sessions_app.vocabulary import EventKind

_COLUMNS = {
    "claude_code.session.count": "starts",
    "claude_code.commit.count": "commits",
    "claude_code.pull_request.count": "pull_requests",
}
_LINES = {"added": "lines_added", "removed": "lines_removed"}
_MOST = 10**9
"""More of anything within one point is no count but a fault."""


def take_point(taker: Taker, point: Point) -> None:
    """One point of a metric; those that are not kept are counted."""
    column = _COLUMNS.get(point.name)
    if point.name == "claude_code.lines_of_code.count":
        column = _LINES.get(text(point.attributes, "type"))
    session = text(point.attributes, "session.id")
    if column is None or not session.strip():
        taker.count(point.service, "other metric" if not is_claude(point.service, point.name) else "metric")
        return
    short = point.name.removeprefix("claude_code.")
    if not point.delta:
        taker.refuse(
            SERVICE,
            short,
            f"{point.name}: send deltas (OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta).",
        )
        return
    if not math.isfinite(point.value) or not 0 <= point.value <= _MOST:
        taker.refuse(SERVICE, short, f"{point.name}: {point.value} is no count.")
        return
    number = round(point.value)
    if not number:
        taker.count(SERVICE, short)
        return
    who = whose(session)
    told = shown_attributes(point.attributes)
    series = digest16(encode(sorted((name, str(value)) for name, value in point.attributes.items()))).hex()
    seen = taker.observe(
        who,
        SERVICE,
        ("point", who.root_id, point.name, series, str(point.start_nanos), str(point.nanos)),
        name=point.name,
        kind=EventKind.OTHER,
        at_us=taker.at_us(point.nanos),
        body={**told, "value": number},
    )
    taker.take(seen, short, code=CodeSeen(column, number))
