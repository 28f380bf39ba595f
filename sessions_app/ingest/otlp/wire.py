"""OTLP requests as records, spans and points, the same from protobuf and from JSON.

JSON is read by our own tolerant decoder: OTLP writes ids as hex, where protobuf's JSON would mean base64, and
64-bit numbers as text or as numbers.
"""

import base64
import binascii
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextdash.cleaning import clean
from contextdash.decoding import decode_json
from contextdash.errors import Malformed, TooLarge
from contextdash.limits import JSON_DEPTH, OTLP_RECORDS

if TYPE_CHECKING:
    from google.protobuf.message import Message

type Attributes = dict[str, Any]

SIGNALS = ("logs", "traces", "metrics")
_LATEST_NANOS = 2**63
_WHOLE = re.compile(r"-?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class LogRecord:
    service: str
    name: str
    """Of the event; empty for a plain line of a log."""
    said: str
    """The record's body, where it is a text."""
    nanos: int
    trace_id: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Span:
    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start_nanos: int
    end_nanos: int
    failed: bool
    message: str
    """Why it failed."""
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Point:
    service: str
    name: str
    """Of the metric."""
    start_nanos: int
    nanos: int
    value: float
    delta: bool
    """Whether it is what came to the last one, and not the sum so far."""
    attributes: Attributes


def decode(raw: bytes, signal: str, *, protobuf: bool) -> dict[str, Any]:
    """The body of a request as a JSON value with the names of OTLP/JSON.

    Raises:
        Malformed: it is not what its content type says.
        TooLarge: it holds more than OTLP_RECORDS.
    """
    body = _decode_protobuf(raw, signal) if protobuf else decode_json(raw)
    if not isinstance(body, dict):
        raise Malformed("The body must be an Export request: a JSON object.")
    outer, inner, records = _LISTS[signal]
    if not isinstance(body.get(outer, []), list):
        raise Malformed(f"{outer} must be a list.")
    count = sum(1 for _ in _items(body, outer, inner, records))
    if count > OTLP_RECORDS:
        raise TooLarge(f"The request holds {count} records, more than {OTLP_RECORDS} (OTLP_RECORDS).")
    return body


_LISTS = {
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
}


def log_records(body: Mapping[str, Any]) -> Iterator[LogRecord]:
    for service, record in _items(body, *_LISTS["logs"]):
        attributes = attributes_of(record.get("attributes"))
        said = value_of(record.get("body"))
        name = attributes.get("event.name") or record.get("eventName") or said
        nanos = whole(record.get("timeUnixNano")) or whole(record.get("observedTimeUnixNano"))
        yield LogRecord(
            service=service,
            name=name if isinstance(name, str) else "",
            said=said if isinstance(said, str) else "",
            nanos=nanos,
            trace_id=_hex(record.get("traceId")),
            attributes=attributes,
        )


def spans(body: Mapping[str, Any]) -> Iterator[Span]:
    for service, span in _items(body, *_LISTS["traces"]):
        status = span.get("status")
        told = status if isinstance(status, dict) else {}
        yield Span(
            service=service,
            name=_text(span.get("name")),
            trace_id=_hex(span.get("traceId")),
            span_id=_hex(span.get("spanId")),
            parent_id=_hex(span.get("parentSpanId")),
            start_nanos=whole(span.get("startTimeUnixNano")),
            end_nanos=whole(span.get("endTimeUnixNano")),
            failed=told.get("code") in (2, "STATUS_CODE_ERROR"),
            message=_text(told.get("message")),
            attributes=attributes_of(span.get("attributes")),
        )


def points(body: Mapping[str, Any]) -> Iterator[Point]:
    """The points of sums; those of gauges and histograms tell nothing that is kept."""
    for service, metric in _items(body, *_LISTS["metrics"]):
        total = metric.get("sum")
        if not isinstance(total, dict):
            continue
        delta = total.get("aggregationTemporality") in (1, "AGGREGATION_TEMPORALITY_DELTA")
        for point in _objects(total.get("dataPoints")):
            value = point.get("asDouble", point.get("asInt"))
            yield Point(
                service=service,
                name=_text(metric.get("name")),
                start_nanos=whole(point.get("startTimeUnixNano")),
                nanos=whole(point.get("timeUnixNano")),
                value=number(value),
                delta=delta,
                attributes=attributes_of(point.get("attributes")),
            )


def attributes_of(pairs: object) -> Attributes:
    return {
        pair["key"]: value_of(pair.get("value"))
        for pair in _objects(pairs)
        if isinstance(pair.get("key"), str) and pair["key"]
    }


def value_of(value: object) -> Any:
    """What an AnyValue holds."""
    if not isinstance(value, dict) or not value:
        return None
    sort, held = next(iter(value.items()))
    if sort == "intValue":
        return whole(held)
    if sort == "doubleValue":
        return number(held)
    if sort == "arrayValue":
        return [value_of(one) for one in _objects(held.get("values"))] if isinstance(held, dict) else []
    if sort == "kvlistValue":
        return attributes_of(held.get("values")) if isinstance(held, dict) else {}
    return held


def whole(value: object) -> int:
    """A 64-bit number, however JSON wrote it; 0 where it is none."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if -_LATEST_NANOS <= value < _LATEST_NANOS else 0


def number(value: object) -> float:
    if isinstance(value, str):
        return float(whole(value))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _items(
    body: Mapping[str, Any], outer: str, inner: str, records: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    for group in _objects(body.get(outer)):
        resource = group.get("resource")
        told = attributes_of(resource.get("attributes")) if isinstance(resource, dict) else {}
        service = told.get("service.name")
        for scope in _objects(group.get(inner)):
            for record in _objects(scope.get(records)):
                yield (service if isinstance(service, str) else ""), record


def _objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _hex(value: object) -> str:
    """An id of a trace or span; empty where it is none or all zeros."""
    text = value.lower() if isinstance(value, str) and len(value) <= 32 else ""
    try:
        return text if int(text, 16) else ""
    except ValueError:
        return ""


# Protobuf. The library is loaded with the first such request: it would cost every process 5 MB.


def _decode_protobuf(raw: bytes, signal: str) -> dict[str, Any]:
    from google.protobuf.message import DecodeError

    message = _request(signal)
    try:
        message.ParseFromString(raw)
    except (DecodeError, RecursionError) as error:
        raise Malformed(f"The body is not a protobuf Export request for {signal}.") from error
    return _plain(message, JSON_DEPTH)


def _request(signal: str) -> "Message":
    if signal == "logs":
        from opentelemetry.proto.collector.logs.v1 import logs_service_pb2

        return logs_service_pb2.ExportLogsServiceRequest()
    if signal == "traces":
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

        return trace_service_pb2.ExportTraceServiceRequest()
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

    return metrics_service_pb2.ExportMetricsServiceRequest()


def _plain(message: "Message", depth: int) -> dict[str, Any]:
    if not depth:
        raise Malformed(f"The body is nested deeper than {JSON_DEPTH} levels (JSON_DEPTH).")
    return {
        field.json_name: (
            [_value(one, field.json_name, depth) for one in held]
            if field.is_repeated
            else _value(held, field.json_name, depth)
        )
        for field, held in message.ListFields()
    }


def _value(held: Any, name: str, depth: int) -> Any:
    if name == "attributes":  # most of what there is, and the short way takes half the time
        sort = held.value.WhichOneof("value")
        if sort == "string_value":
            return {"key": clean(held.key), "value": {"stringValue": clean(held.value.string_value)}}
        if sort == "int_value":
            return {"key": clean(held.key), "value": {"intValue": held.value.int_value}}
    if isinstance(held, str):
        return clean(held)
    if isinstance(held, bytes):
        return base64.b64encode(held).decode() if name == "bytesValue" else binascii.hexlify(held).decode()
    if isinstance(held, float) and not math.isfinite(held):
        return str(held)  # as the decoder of JSON keeps it
    return held if isinstance(held, int | float) else _plain(held, depth - 1)
