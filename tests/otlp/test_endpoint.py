"""What exporters are answered: taken, to be sent again, or not to be sent again."""

import gzip
import json
from io import BytesIO
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextdash import limits
from contextdash.actor import Actor
from contextdash.models import User
from contextdash.services.tokens import create_token
from sessions_app.ingest.otlp import endpoint, storing
from sessions_app.models import Event, Quarantined, Session
from sessions_app.services.ending import delete_session
from tests.otlp.sending import Exporter, protobuf, sample

pytestmark = pytest.mark.django_db

JSON, PROTOBUF = "application/json", "application/x-protobuf"
LOGS = sample("v1-logs.json")


def status_of(raw: bytes) -> tuple[int, str]:
    """Code and message of a google.rpc.Status."""
    assert raw[0] == 8
    assert raw[2] == 18
    start = 4 if raw[3] < 128 else 5
    return raw[1], raw[start:].decode()


@pytest.mark.parametrize("scope", ["ingest", "write", "admin"])
def test_tokens_that_may_ingest(owner: User, scope: str) -> None:
    _, secret = create_token(owner=owner, name=scope, scope=scope, actor=Actor(user=owner))
    assert Exporter(secret).send(LOGS).status_code == 200


def test_a_header_that_is_written_as_in_an_address(exporter: Exporter) -> None:
    exporter.headers = {"Authorization": exporter.headers["Authorization"].replace(" ", "%20")}
    assert exporter.send(LOGS).status_code == 200


def test_others_are_told_so_in_their_encoding(owner: User) -> None:
    answer = Exporter("cdt_nobody").send(LOGS)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.json()["code"] == 16
    _, secret = create_token(owner=owner, name="r", scope="read", actor=Actor(user=owner))
    answer = Exporter(secret).send(LOGS, as_protobuf=True)
    assert (answer.status_code, answer["Content-Type"]) == (403, PROTOBUF)
    code, message = status_of(answer.content)
    assert code == 7
    assert "ingest" in message
    assert not Event.objects.exists()


def test_a_form_of_a_web_page_is_refused_and_so_is_get(exporter: Exporter, member: User) -> None:
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert exporter.send_raw("logs", b"{}", media).status_code == 415
    answer = exporter.client.get("/otlp/v1/logs", headers=exporter.headers)
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    browser = Client()
    browser.force_login(member)
    assert browser.post("/otlp/v1/logs", b"{}", content_type=JSON).status_code == 401


@pytest.mark.parametrize(
    ("raw", "media", "zipped", "status"),
    [
        (b"{", JSON, False, 400),
        (b"[]", JSON, False, 400),
        (b'{"resourceLogs": 1}', JSON, False, 400),
        (b"\xff\xff\xff", PROTOBUF, False, 400),
        (b"{}", JSON, True, 400),
        (gzip.compress(b"{}", mtime=0)[:-4], JSON, True, 400),
        (b"{}", JSON, False, 200),
        (b'{"resourceLogs": [1, {"scopeLogs": null}, {"scopeLogs": [{}]}]}', JSON, False, 200),
        (b"[" * 1000 + b"]" * 1000, JSON, False, 400),
    ],
)
def test_bodies_that_cannot_be_read(
    exporter: Exporter, raw: bytes, media: str, zipped: bool, status: int
) -> None:
    answer = exporter.send_raw("logs", raw, media, zipped=zipped)
    assert answer.status_code == status
    assert Quarantined.objects.filter(client="telemetry").exists() == (status != 200)


def test_a_bomb_and_a_flood_are_named_by_their_limit(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = gzip.compress(b" " * (limits.DECOMPRESSED_BYTES + 1))
    answer = exporter.send_raw("logs", bomb, JSON, zipped=True)
    assert answer.status_code == 413
    assert "DECOMPRESSED_BYTES" in answer.json()["message"]
    flood = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{}] * (limits.OTLP_RECORDS + 1)}]}]}
    answer = exporter.send(flood)
    assert answer.status_code == 413
    assert "OTLP_RECORDS" in answer.json()["message"]


def test_when_others_are_read_already_it_is_to_be_sent_again(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "OTLP_WAIT_SECONDS", 0.01)
    with endpoint._turn:
        answer = exporter.send(LOGS)
    assert (answer.status_code, answer["Retry-After"]) == (429, "2")
    assert exporter.send(LOGS).status_code == 200


def test_a_busy_database_is_to_be_tried_again(exporter: Exporter, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: Any) -> Any:
        raise OperationalError("database is locked")

    monkeypatch.setattr(storing.ingest, "store", locked)
    answer = exporter.send(LOGS, as_protobuf=True)
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert status_of(answer.content)[0] == 14
    monkeypatch.undo()
    assert exporter.send(LOGS).status_code == 200


def test_what_is_not_taken_is_told_and_the_rest_is_stored(exporter: Exporter, member: User) -> None:
    exporter.send(LOGS)
    session = Session.objects.get()
    changed = json.loads(json.dumps(LOGS).replace('"Overloaded"', '"Something else"'))
    answer = exporter.send(changed)
    told = answer.json()["partialSuccess"]
    assert (answer.status_code, told["rejectedLogRecords"]) == (200, "1")
    assert "other content" in told["errorMessage"]
    delete_session(session=session, actor=Actor(user=member), reason="test")
    answer = exporter.send(LOGS, as_protobuf=True)
    assert answer.status_code == 200
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

    response = ExportLogsServiceResponse.FromString(answer.content)
    assert response.partial_success.rejected_log_records == len(
        LOGS["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    )
    assert "deleted" in response.partial_success.error_message


def test_counts_that_are_no_deltas_are_not_taken(exporter: Exporter) -> None:
    body = json.loads(
        json.dumps(sample("v1-metrics.json")).replace(
            '"aggregationTemporality": 1', '"aggregationTemporality": 2'
        )
    )
    told = exporter.send(body).json()["partialSuccess"]
    assert told["rejectedDataPoints"] == "3"
    assert "DELTA" in told["errorMessage"].upper()


def test_chunks_are_read_where_the_server_marks_their_end(exporter: Exporter) -> None:
    raw = protobuf(LOGS)
    headers = exporter.headers | {"Transfer-Encoding": "chunked"}
    extra: dict[str, Any] = {"CONTENT_LENGTH": "", "wsgi.input_terminated": True, "wsgi.input": BytesIO(raw)}
    answer = exporter.client.post("/otlp/v1/logs", raw, content_type=PROTOBUF, headers=headers, **extra)
    assert answer.status_code == 200
    assert Event.objects.count() == 6
    extra = {"CONTENT_LENGTH": "", "wsgi.input_terminated": False, "wsgi.input": BytesIO(raw)}
    answer = exporter.client.post("/otlp/v1/logs", raw, content_type=PROTOBUF, headers=headers, **extra)
    assert answer.status_code == 400


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("key", "value", "stringValue", "intValue", "arrayValue", "values", "kvlistValue"),
                    *("attributes", "body", "timeUnixNano", "traceId", "spanId", "name", "status", "sum"),
                    *("dataPoints", "asInt", "asDouble", "aggregationTemporality", "resource"),
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    record=anything,
    named=st.sampled_from(["api_request", "tool_result", "user_prompt", "strange"]),
    value=anything,
)
def test_strange_records_are_answered_200(exporter: Exporter, record: Any, named: str, value: Any) -> None:
    """Whatever a record holds, it is taken or left; nothing fails."""
    told = record if isinstance(record, dict) else {}
    keys = ["prompt.id", "tool_use_id", "request_id", "output_tokens", "cost_usd", "duration_ms", "error"]
    attributes = [
        {"key": "session.id", "value": {"stringValue": "s1"}},
        {"key": "event.name", "value": {"stringValue": named}},
        *({"key": key, "value": value} for key in keys),
        *({"key": f"gen_ai.{key}", "value": value} for key in ("operation.name", "usage.input_tokens")),
    ]
    held = {**told, "attributes": attributes, "traceId": "ab" * 16, "spanId": "cd" * 8}
    scope = {"logRecords": [record, held], "spans": [record, held], "metrics": [record, held]}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "claude-code"}}]}
    for outer, inner, service in (
        ("resourceLogs", "scopeLogs", resource),
        ("resourceSpans", "scopeSpans", resource),
        ("resourceSpans", "scopeSpans", told.get("resource")),
        ("resourceMetrics", "scopeMetrics", resource),
    ):
        answer = exporter.send({outer: [{"resource": service, inner: [scope]}]})
        assert answer.status_code == 200, answer.content


def test_no_statement_more_for_more_records(exporter: Exporter, django_assert_max_num_queries: Any) -> None:
    exporter.send(sample("v1-metrics.json"))
    record = LOGS["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    tools = json.dumps(next(one for one in record if "tool_result" in json.dumps(one)))
    many = [json.loads(tools.replace("toolu_01UGUHQAXsEpNm2gcZVYyeaS", f"t{n}")) for n in range(150)]
    for n, one in enumerate(many):
        one["timeUnixNano"] = str(int(one["timeUnixNano"]) + n * 1000)
    request = {
        "resourceLogs": [
            {
                "resource": LOGS["resourceLogs"][0]["resource"],
                "scopeLogs": [{"logRecords": many}],
            }
        ]
    }
    with django_assert_max_num_queries(40, connection=connection):
        assert exporter.send(request).status_code == 200
    assert Session.objects.get().call_count == 150
