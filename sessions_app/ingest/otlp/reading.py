"""The records of a request, each read by the module of what sent it."""

from collections.abc import Mapping
from typing import Any

from sessions_app.ingest.otlp import claude_code, genai, metrics, wire
from sessions_app.ingest.otlp.taking import Taker


def read_request(taker: Taker, body: Mapping[str, Any], signal: str) -> None:
    """Take in a decoded request of one of ``wire.SIGNALS``."""
    if signal == "logs":
        for record in wire.log_records(body):
            if claude_code.is_claude(record.service, record.said):
                claude_code.take_log(taker, record)
            else:
                taker.count(record.service, "other log")
    elif signal == "traces":
        _read_spans(taker, list(wire.spans(body)))
    else:
        for point in wire.points(body):
            metrics.take_point(taker, point)


def _read_spans(taker: Taker, spans: list[wire.Span]) -> None:
    named = [span for span in spans if span.trace_id and span.span_id]
    for span in spans:
        if not (span.trace_id and span.span_id):
            taker.refuse(span.service, "other span", "A span needs a trace id and a span id.")
    claude = [span for span in named if claude_code.is_claude(span.service, span.name)]
    # Ids of spans are unique within their trace alone.
    by_id = {(span.trace_id, span.span_id): span for span in claude}
    for span in claude:
        claude_code.take_span(taker, span, by_id.get((span.trace_id, span.parent_id)))
    genai.take_spans(taker, [span for span in named if not claude_code.is_claude(span.service, span.name)])
