"""Who may call what: scopes, roles, foreign sites, foreign names; and the one form of every refusal."""

import json

import pytest
from django.test import Client

from contextdash.services.tokens import revoke_token
from sessions_app.models import AgentMessage, Session
from tests import factories
from tests.api.nouns import BY_NAME, NOUNS
from tests.conftest import Api

pytestmark = pytest.mark.django_db

MESSAGE = BY_NAME["message"].body


def error(answer) -> str:
    return answer.json()["error"]


# Tokens


@pytest.mark.parametrize("path", ["sessions", "messages", "sessions/latest", "openapi.json"])
def test_without_a_token_nothing_is_read(path):
    answer = Client().get(f"/api/v1/{path}")
    assert answer.status_code == 401
    assert error(answer) == "unauthenticated"


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.name)
def test_without_a_token_nothing_is_written(noun, db):
    answer = Client().post(f"/api/v1/{noun.path}", json.dumps(noun.body), content_type="application/json")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert noun.model.objects.count() == Session.objects.count() == 0


@pytest.mark.parametrize(
    "secret", ["", "x", "cdt_", "cdt_" + "x" * 43, "\xff", "a b c", "cdt_" + "x" * 100_000]
)
def test_a_token_that_is_none_is_401(secret, db):
    assert Api(secret).get("sessions").status_code == 401


def test_a_revoked_token_stops_working(member):
    token, secret = factories.token("write", member)
    caller = Api(secret)
    assert caller.get("sessions").status_code == 200
    revoke_token(token=token, actor=factories.SYSTEM)
    assert caller.get("sessions").status_code == 401


READS = [
    "sessions",
    "sessions/S1",
    "sessions/S1/events",
    "sessions/S1/tool-calls",
    "turns?session=S1",
    "projects",
    "workspaces",
    "sprints",
    *(noun.path for noun in NOUNS),
]

SCOPES = {
    # scope: (reads, writes, hook lines, purges)
    "ingest": (403, 403, 200, 403),
    "read": (200, 403, 403, 403),
    "write": (200, 201, 200, 403),
    "admin": (200, 201, 200, 200),
}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_reaches_as_far_as_it_says(scope, owner, make_api):
    factories.session("S1")
    caller = make_api(scope, owner)
    reads, writes, hooks, purges = SCOPES[scope]
    assert {path: caller.get(path).status_code for path in READS} == dict.fromkeys(READS, reads)
    for noun in NOUNS:
        assert caller.post(noun.path, noun.body).status_code == writes, noun
    changed = {200, 412} if writes == 201 else {403}
    assert caller.patch("sessions/S1", title="x").status_code in changed
    line = {
        "type": "hook",
        "client": "claude-code",
        "body": {"session_id": "S1", "hook_event_name": "Stop"},
    }
    assert caller.post("ingest", line).status_code == hooks
    assert caller.post("sessions/S1/purge", reason="x").status_code == purges


def test_a_viewers_token_reads_and_changes_nothing(viewer, make_api):
    factories.session("S1")
    caller = make_api("admin", viewer)
    assert caller.get("sessions").status_code == 200
    for noun in NOUNS:
        assert caller.post(noun.path, noun.body).status_code == 403
    assert caller.post("sessions/S1/close").status_code == 403
    assert caller.post("sessions/S1/purge", reason="x").status_code == 403
    line = caller.post("ingest", {"type": "message", **MESSAGE}).json()
    assert line["rejected"][0]["error"] == "forbidden"
    assert AgentMessage.objects.count() == 0


def test_what_a_viewers_agents_do_is_recorded_by_token_and_not_by_browser(viewer, make_api):
    line = {"type": "hook", "client": "claude-code", "body": {"session_id": "S1", "hook_event_name": "Stop"}}
    assert make_api("ingest", viewer).post("ingest", line).json()["accepted"] == [1]
    browser = Client()
    browser.force_login(viewer)
    sent = browser.post("/api/v1/ingest", json.dumps(line), content_type="application/json")
    assert sent.status_code == 403


# People in a browser


def test_a_signed_in_person_reads_by_cookie(page):
    assert page.get("/api/v1/sessions").status_code == 200


def test_a_signed_in_person_writes_with_the_csrf_token_only(member):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(member)
    body = json.dumps(MESSAGE)
    refused = browser.post("/api/v1/messages", body, content_type="application/json")
    assert refused.status_code == 403
    assert error(refused) == "forbidden"
    browser.cookies["contextdash_csrf"] = "a" * 32
    sent = browser.post(
        "/api/v1/messages", body, content_type="application/json", headers={"X-CSRFToken": "a" * 32}
    )
    assert sent.status_code == 201


def test_a_signed_out_browser_is_asked_for_a_token_and_not_for_a_form(db):
    browser = Client(enforce_csrf_checks=True)
    assert browser.post("/api/v1/messages", "{}", content_type="application/json").status_code == 401


# Other sites


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.name)
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://testserver.evil.example"]
)
def test_another_sites_origin_is_refused_whatever_it_brings(api, page, noun, origin):
    for client, headers in ((api.client, api.headers), (page, {})):
        for content_type in ("text/plain", "application/json"):
            answer = client.post(
                f"/api/v1/{noun.path}",
                data=json.dumps(noun.body),
                content_type=content_type,
                headers={**headers, "Origin": origin},
            )
            assert answer.status_code == 403
            assert "Access-Control-Allow-Origin" not in answer
    assert noun.model.objects.count() == 0


def test_another_sites_origin_reads_nothing(api):
    factories.session("S1")
    for path in READS:
        answer = api.client.get(f"/api/v1/{path}", headers={**api.headers, "Origin": "https://evil.example"})
        assert answer.status_code == 403
        assert "Access-Control-Allow-Origin" not in answer


def test_a_preflight_is_never_granted(api):
    answer = api.client.options(
        "/api/v1/messages",
        headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"},
    )
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


def test_the_own_origin_and_none_are_fine(api):
    for headers in ({}, {"Origin": "http://testserver"}):
        assert api.post("messages", MESSAGE, headers=headers).status_code == 201


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "localhost.evil.example", "", "127.0.0.1.nip.io", "[::1].evil"],
)
def test_another_name_of_this_server_is_refused(api, host):
    for path in ("/api/v1/sessions", "/api/v1/docs", "/", "/static/app.css", "/admin/"):
        answer = api.client.get(path, headers={**api.headers, "Host": host})
        assert answer.status_code == 400, path
        assert b"Traceback" not in answer.content


def test_a_forwarded_host_is_not_believed(api):
    answer = api.client.get("/api/v1/sessions", headers={**api.headers, "X-Forwarded-Host": "evil.example"})
    assert answer.status_code == 200
    assert "evil" not in answer.content.decode()


# Errors have one form


@pytest.mark.parametrize("path", ["sessions?q=%00", "messages?agent=a%00b", "sessions/%00abcd"])
def test_an_address_with_a_nul_is_refused(api, path):
    answer = api.client.get(f"/api/v1/{path}", headers=api.headers)
    assert answer.status_code == 400
    assert error(answer) == "malformed"


@pytest.mark.parametrize("path", ["/sessions/?q=%00", "/decisions/?project=%00", "/sessions/%00/"])
def test_a_page_with_a_nul_in_its_address_is_refused(page, path):
    assert page.get(path).status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("get", "/api/v1/nothing", 404, "not_found"),
        ("get", "/api/v2/sessions", 404, "not_found"),
        ("get", "/api/", 404, "not_found"),
        ("put", "/api/v1/messages", 405, "method_not_allowed"),
        ("get", "/api/v1/ingest", 405, "method_not_allowed"),
        ("post", "/api/v1/sessions/S1", 405, "method_not_allowed"),
    ],
)
def test_what_the_framework_refuses_is_said_in_json(api, method, path, status, code):
    answer = getattr(api.client, method)(path, headers=api.headers)
    assert answer.status_code == status
    assert error(answer) == code


def test_a_405_says_what_is_allowed(api):
    assert "POST" in api.client.put("/api/v1/messages", headers=api.headers)["Allow"]


def test_a_failure_of_ours_tells_nothing(api, monkeypatch):
    monkeypatch.setattr("sessions_app.api.messages.queries.recent_messages", lambda **kwargs: 1 / 0)
    api.client.raise_request_exception = False
    answer = api.get("messages")
    assert answer.status_code == 500
    assert error(answer) == "failed"
    assert "division" not in answer.content.decode()
