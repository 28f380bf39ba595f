"""Telemetry on its way: the samples, in both encodings, and an exporter with a token."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from django.test import Client
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from sessions_app.ingest.otlp.wire import _request

DATA = Path(__file__).parent.parent / "data" / "otlp"
REAL = sorted((DATA / "real").glob("*.json"))
IDS = {"traceId", "spanId", "parentSpanId"}


def sample(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / name).read_text())
    return found


def signal_of(body: dict[str, Any]) -> str:
    return {"resourceLogs": "logs", "resourceSpans": "traces", "resourceMetrics": "metrics"}[next(iter(body))]


def protobuf(body: dict[str, Any]) -> bytes:
    """The same request as protobuf; its ids are hex in OTLP/JSON and base64 in protobuf's."""
    message: Message = _request(signal_of(body))
    ParseDict(_with_base64(body), message)
    return message.SerializeToString()


def _with_base64(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_base64(one) for one in value]
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(held)).decode() if key in IDS else _with_base64(held)
            for key, held in value.items()
        }
    return value


class Exporter:
    def __init__(self, secret: str) -> None:
        self.client = Client()
        self.headers = {"Authorization": f"Bearer {secret}"}

    def send(self, body: dict[str, Any], *, as_protobuf: bool = False, zipped: bool = False) -> Any:
        raw = protobuf(body) if as_protobuf else json.dumps(body).encode()
        media = "application/x-protobuf" if as_protobuf else "application/json"
        return self.send_raw(signal_of(body), gzip.compress(raw) if zipped else raw, media, zipped=zipped)

    def send_raw(self, signal: str, raw: bytes, media: str, *, zipped: bool = False) -> Any:
        headers = self.headers | ({"Content-Encoding": "gzip"} if zipped else {})
        return self.client.post(f"/otlp/v1/{signal}", raw, content_type=media, headers=headers)
