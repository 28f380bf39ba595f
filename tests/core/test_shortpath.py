"""The short path in front of Django: the same answers, and everything else passes through."""

import io
import json
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse
from wsgiref.validate import validator

import pytest

from contextdash.shortpath import short_path
from sessions_app.models import Event
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _connections_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    # A test's connection is inside a transaction, which this would take for a leftover.
    monkeypatch.setattr("contextdash.shortpath.close_old_connections", lambda: None)


def behind(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    start_response("299 Django", [("Content-Type", "text/plain"), ("Content-Length", "0")])
    return [b""]


def call(path: str, method: str = "POST", payload: bytes = b"", token: str = "", **environ: str) -> Any:
    """(status line, headers, body)"""
    got: dict[str, Any] = {}

    def start_response(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
        got.update(status=status, headers=dict(headers))

    sent = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8765",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "127.0.0.1:8765",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(payload)),
        "HTTP_AUTHORIZATION": f"Bearer {token}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(payload),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        **environ,
    }
    # The validator fails the test on any breach of WSGI.
    result = validator(short_path(behind))(sent, start_response)
    body = b"".join(result)
    result.close()  # type: ignore[attr-defined]
    return got["status"], got["headers"], body


STOP = json.dumps({"session_id": "s1", "hook_event_name": "Stop"}).encode()


def test_a_delivery_is_answered_in_front_of_django() -> None:
    secret = factories.token("ingest")[1]
    assert call("/api/v1/hooks/claude-code", payload=STOP, token=secret) == ("204 No Content", {}, b"")
    assert call("/api/v1/hooks/claude-code/Stop/", payload=STOP, token=secret)[0] == "204 No Content"
    assert Event.objects.get().name == "Stop"


@pytest.mark.parametrize(
    "path", ["/", "/api/v1/sessions", "/api/v1/hooks/", "/x/api/v1/hooks/claude-code", "/api/v1/hooks/a/b/c"]
)
def test_everything_else_passes_through(path: str) -> None:
    assert call(path, "GET")[0] == "299 Django"


def test_a_refusal_is_json_with_its_length() -> None:
    status, headers, body = call("/api/v1/hooks/claude-code", payload=STOP, token="cdt_wrong")
    assert status == "401 Unauthorized"
    assert headers["Content-Length"] == str(len(body))
    assert json.loads(body)["error"] == "unauthenticated"


def test_a_head_request_has_no_body() -> None:
    status, _, body = call("/api/v1/hooks/claude-code", "HEAD")
    assert (status, body) == ("401 Unauthorized", b"")


def test_an_event_in_the_address_is_read_as_utf8() -> None:
    secret = factories.token("ingest")[1]
    path = "/api/v1/hooks/my-agent/" + "événement".encode().decode("latin-1")
    call(path, payload=b'{"session_id": "s1"}', token=secret)
    assert Event.objects.get().name == "événement"


def test_a_body_that_stops_half_way_is_400() -> None:
    secret = factories.token("ingest")[1]
    status, _, body = call(
        "/api/v1/hooks/claude-code", payload=STOP, token=secret, CONTENT_LENGTH=str(len(STOP) + 10)
    )
    assert status == "400 Bad Request"
    assert "stopped after" in json.loads(body)["detail"]
    assert not Event.objects.exists()


def test_a_foreign_origin_and_host_are_refused_before_the_token_is_looked_at() -> None:
    foreign = call("/api/v1/hooks/claude-code", payload=STOP, HTTP_ORIGIN="https://evil.example")
    assert foreign[0] == "403 Forbidden"
    assert call("/api/v1/hooks/claude-code", payload=STOP, HTTP_HOST="evil.example")[0] == "400 Bad Request"
    pretended = call(
        "/api/v1/hooks/claude-code",
        payload=STOP,
        HTTP_HOST="evil.example",
        HTTP_X_FORWARDED_HOST="127.0.0.1:8765",
    )
    assert pretended[0] == "400 Bad Request"
