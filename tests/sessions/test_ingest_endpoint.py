"""The hook endpoint over HTTP: who is let in, what is refused and how, what is kept of it."""

import gzip
import json
import logging
from typing import Any

import pytest
from django.test import Client

from contextdash.errors import Busy
from contextdash.limits import BODY_BYTES, DECOMPRESSED_BYTES
from contextdash.services import tokens
from sessions_app.models import Event, HookBucket, Quarantined, Session
from tests import factories
from tests.sessions.deliveries import body, tool

pytestmark = pytest.mark.django_db

URL = "/api/v1/hooks/claude-code"


class Hooks:
    def __init__(self, scope: str = "ingest") -> None:
        self.secret = factories.token(scope)[1]
        self.client = Client()

    def post(
        self, payload: Any, url: str = URL, content_type: str = "application/json", **headers: str
    ) -> Any:
        raw = payload if isinstance(payload, bytes) else json.dumps(payload)
        sent = {"Authorization": f"Bearer {self.secret}", **headers}
        return self.client.post(url, raw, content_type=content_type, headers=sent)


@pytest.fixture
def hooks() -> Hooks:
    return Hooks()


def test_a_delivery_is_answered_with_nothing_and_is_stored(hooks: Hooks) -> None:
    answer = hooks.post(body("SessionStart"))
    assert (answer.status_code, answer.content) == (204, b"")
    assert Session.objects.get().owner == tokens.authenticate(hooks.secret).owner  # type: ignore[union-attr]


def test_the_facts_of_the_hook_client_are_taken_from_the_headers(hooks: Hooks) -> None:
    facts = {
        "X-Contextdash-Delivery-Id": "d1",
        "X-Contextdash-Captured-At": "1790000000000000",
        "X-Contextdash-Host": "box%C3%A9%00",
        "X-Contextdash-Root": "/src/moss",
        "X-Contextdash-Remote": "https://git.example/moss.git",
        "X-Contextdash-Branch": "main",
    }
    hooks.post(body("SessionStart", cwd="/src/moss/web"), **facts)
    session = Session.objects.get()
    assert (session.host, session.workspace, session.branch) == ("boxé\ufffd", "/src/moss", "main")
    assert Event.objects.get().occurred_us == 1_790_000_000_000_000


def test_the_event_may_be_named_in_the_address(hooks: Hooks) -> None:
    assert hooks.post({"session_id": "s1"}, url="/api/v1/hooks/my-agent/Working%20hard").status_code == 204
    assert Event.objects.get().name == "Working hard"


def test_get_checks_the_connection(hooks: Hooks) -> None:
    answer = hooks.client.get(URL, headers={"Authorization": f"Bearer {hooks.secret}"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert hooks.client.get(URL).status_code == 401


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer cdt_wrong",
        "Basic abc",
    ],
)
def test_without_a_live_token_it_is_401_and_nothing_is_stored(hooks: Hooks, sent: str) -> None:
    answer = hooks.post(body("SessionStart"), Authorization=sent)
    assert answer.status_code == 401
    assert answer.json()["error"] == "unauthenticated"
    assert answer["WWW-Authenticate"] == "Bearer"
    assert not Session.objects.exists()


def test_a_read_token_is_403() -> None:
    assert Hooks("read").post(body("SessionStart")).status_code == 403


@pytest.mark.parametrize("scope", ["write", "admin"])
def test_wider_scopes_may_deliver_too(scope: str) -> None:
    assert Hooks(scope).post(body("SessionStart")).status_code == 204


@pytest.mark.parametrize("client", ["Claude", "x" * 41, "a b", "ä"])
def test_a_clients_name_that_can_be_none_is_404(hooks: Hooks, client: str) -> None:
    answer = hooks.post(body("SessionStart"), url=f"/api/v1/hooks/{client}")
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_are_405(hooks: Hooks, method: str) -> None:
    answer = getattr(hooks.client, method)(URL, headers={"Authorization": f"Bearer {hooks.secret}"})
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD, POST")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_content_type_is_415(hooks: Hooks, content_type: str) -> None:
    assert hooks.post(body("SessionStart"), content_type=content_type).status_code == 415
    assert not Session.objects.exists()


def test_another_sites_page_cannot_deliver_even_with_a_token(hooks: Hooks) -> None:
    answer = hooks.post(body("SessionStart"), Origin="https://evil.example")
    assert (answer.status_code, answer.json()["error"]) == (403, "foreign_origin")
    assert "Access-Control-Allow-Origin" not in answer
    assert hooks.post(body("SessionStart"), Origin="http://testserver").status_code == 204


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "localhost.evil.example", "a b"])
def test_another_host_is_400(hooks: Hooks, host: str) -> None:
    answer = hooks.post(body("SessionStart"), Host=host)
    assert answer.status_code == 400
    assert not Session.objects.exists()


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b" ", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b'"text"', "must be a JSON object"),
        (b'{"session_id": "s1"}', "names no event"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "JSON_DEPTH"),
        (b"[" * 1_000_000, "JSON_DEPTH"),
    ],
)
def test_a_malformed_body_is_400_and_quarantined(hooks: Hooks, raw: bytes, says: str) -> None:
    answer = hooks.post(raw)
    assert (answer.status_code, answer.json()["error"]) == (400, "malformed")
    assert says in answer.json()["detail"]
    kept = Quarantined.objects.get()
    assert (kept.client, kept.reason, kept.body_size) == ("claude-code", "malformed", len(raw))
    assert len(bytes(kept.body)) <= 64 * 1024
    assert HookBucket.objects.get().refused == 1


def test_nul_surrogates_and_numbers_without_end_are_accepted(hooks: Hooks) -> None:
    raw = (
        b'{"session_id":"s1","hook_event_name":"PostToolUse","tool_use_id":"c1","tool_name":"Bash",'
        b'"tool_response":{"stdout":"a\\u0000b cut \\ud83d","n":[NaN,1e999,' + b"9" * 400 + b"]}}"
    )
    assert hooks.post(raw).status_code == 204
    assert Event.objects.count() == 1


def test_of_duplicate_keys_the_last_wins(hooks: Hooks) -> None:
    assert hooks.post(b'{"session_id":"a","session_id":"b","hook_event_name":"Stop"}').status_code == 204
    assert Session.objects.get().id == "b"


def test_gzip_is_taken_and_a_bomb_is_413(hooks: Hooks) -> None:
    packed = gzip.compress(json.dumps(body("SessionStart")).encode())
    assert hooks.post(packed, **{"Content-Encoding": "gzip"}).status_code == 204
    bomb = gzip.compress(b" " * (DECOMPRESSED_BYTES + 1))
    answer = hooks.post(bomb, **{"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
    assert "DECOMPRESSED_BYTES" in answer.json()["detail"]
    assert Quarantined.objects.get().reason == "too_large"


def test_a_body_above_the_limit_is_413(hooks: Hooks) -> None:
    answer = hooks.post(b" " * (BODY_BYTES + 1))
    assert answer.status_code == 413
    assert "BODY_BYTES" in answer.json()["detail"]
    assert Quarantined.objects.get().body_size == BODY_BYTES + 1


def test_a_conflict_is_204_for_the_hook_and_kept_to_look_at(hooks: Hooks) -> None:
    hooks.post(tool("PostToolUse", "c1", tool_response="one"))
    assert hooks.post(tool("PostToolUse", "c1", tool_response="two")).status_code == 204
    assert Quarantined.objects.get().reason == "conflict"


def test_a_busy_database_is_503_with_retry_after(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise Busy("The database was busy.")

    monkeypatch.setattr("sessions_app.ingest.endpoint.writer.submit", busy)
    answer = hooks.post(body("SessionStart"))
    assert (answer.status_code, answer.json()["error"]) == (503, "busy")
    assert int(answer["Retry-After"]) > 0


def test_a_failure_is_500_and_nothing_of_the_body_is_logged(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object, batch: list[Any]) -> None:
        raise RuntimeError(batch[0].prompt)

    monkeypatch.setattr("sessions_app.ingest.endpoint.writer.submit", fail)
    with caplog.at_level(logging.ERROR):
        answer = hooks.post(body("UserPromptSubmit", prompt="SECRET TEXT"))
    assert answer.status_code == 500
    assert "SECRET" not in caplog.text + answer.content.decode()
    assert "RuntimeError" in caplog.text


def test_a_revoked_token_stops_at_once_where_it_was_revoked(hooks: Hooks) -> None:
    from contextdash.actor import SYSTEM

    token = tokens.authenticate(hooks.secret)
    assert token is not None
    assert hooks.post(body("SessionStart")).status_code == 204
    tokens.revoke_token(token=token, actor=SYSTEM)
    assert hooks.post(body("SessionStart")).status_code == 401
