"""What every request passes: this site only, a busy database, refusals, health."""

import sqlite3
from contextlib import closing

import pytest
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings

from contextdash import health
from contextdash.db import database_file
from contextdash.errors import Busy, Conflict
from contextdash.middleware import AnswerRefusals, ReaderTimeZone, Sessions, SignedIn
from contextdash.models import SigninLink
from tests import factories

EVIL = {"Origin": "https://evil.example"}
STRANGERS = ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "a b"]
PATHS = ["/", "/sessions/", "/signin/", "/api/v1/sessions", "/static/app.css", "/admin/", "/nowhere/"]


@pytest.fixture
def curl() -> Client:
    """A program that keeps no cookies and sends what it is told; Django's test client checks no CSRF."""
    return Client(enforce_csrf_checks=True)


@pytest.mark.parametrize("host", STRANGERS)
@pytest.mark.parametrize("path", PATHS)
def test_a_name_that_is_not_ours_is_refused_everywhere(path, host, curl, db):
    answer = curl.get(path, headers={"Host": host})
    assert answer.status_code == 400
    assert "contextdash_session" not in answer.cookies
    assert "Access-Control-Allow-Origin" not in answer


@pytest.mark.parametrize("path", PATHS)
def test_a_request_without_a_host_is_refused(path, curl, db):
    assert curl.get(path, SERVER_NAME="", HTTP_HOST="").status_code == 400


def test_a_forwarded_host_is_not_believed(curl, db):
    answer = curl.get("/signin/", headers={"Host": "localhost", "X-Forwarded-Host": "evil.example"})
    assert answer.status_code == 200
    assert "evil.example" not in answer.text


@override_settings(USE_X_FORWARDED_HOST=True, ALLOWED_HOSTS=["dash.example"])
def test_behind_a_named_proxy_it_is(curl, db):
    answer = curl.get("/signin/", headers={"Host": "127.0.0.1", "X-Forwarded-Host": "dash.example"})
    assert answer.status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["get", "post", "options", "delete"])
def test_another_site_is_refused_whatever_it_asks(path, method, curl, member):
    curl.force_login(member)
    answer = getattr(curl, method)(path, headers=EVIL)
    assert answer.status_code == 403
    assert "Access-Control-Allow-Origin" not in answer


@pytest.mark.parametrize("origin", ["null", "https://testserver", "http://testserver:1", "http://localhost"])
def test_an_origin_that_is_nearly_ours_is_another_site(origin, curl, db):
    assert curl.get("/signin/", headers={"Origin": origin}).status_code == 403


def test_another_site_is_refused_with_a_token_too(curl, member):
    secret = factories.token("write", member)[1]
    answer = curl.post(
        "/api/v1/messages",
        '{"session_id": "s", "agent_name": "a", "role": "request"}',
        content_type="text/plain",
        headers={**EVIL, "Authorization": f"Bearer {secret}"},
    )
    assert answer.status_code == 403
    assert answer.json()["error"] == "foreign_origin"


def test_our_own_pages_may_ask(curl, db):
    assert curl.get("/signin/", headers={"Origin": "http://testserver"}).status_code == 200


@override_settings(CSRF_TRUSTED_ORIGINS=["https://dash.example"])
def test_an_origin_that_the_operator_named_may_ask(curl, db):
    assert curl.get("/signin/", headers={"Origin": "https://dash.example"}).status_code == 200


def test_forms_need_the_token_of_their_page(curl, member):
    curl.force_login(member)
    assert curl.post("/signout/").status_code == 403


@pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
@pytest.mark.parametrize("host", ["testserver", "10.1.2.3", "evil.example"])
def test_health_answers_anyone_and_tells_nothing(path, host, curl, db):
    answer = curl.get(path, headers={"Host": host})
    assert (answer.status_code, answer.content) == (204, b"")
    assert not answer.cookies


def test_live_does_not_ask_the_database(curl):
    assert curl.get("/health/live").status_code == 204


@pytest.mark.django_db(transaction=True)
@pytest.mark.sqlite
def test_an_unmigrated_database_is_not_ready(curl):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE sessions RENAME TO away")
        try:
            assert curl.get("/health/ready").status_code == 503
            assert curl.get("/health/ready").content == b""
        finally:
            cursor.execute("ALTER TABLE away RENAME TO sessions")
    assert health.ready()


@pytest.mark.django_db(transaction=True)
@pytest.mark.sqlite
def test_a_write_that_finds_the_database_held_is_told_to_come_again(curl, monkeypatch):
    user = factories.user()
    from contextdash.actor import SYSTEM
    from contextdash.services.signin import make_link

    _, secret = make_link(user=user, actor=SYSTEM)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 100")
    other = sqlite3.connect(database_file(), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        answer = curl.get(f"/signin/{secret}/")
    finally:
        other.execute("ROLLBACK")
        other.close()
        connection.close()
    assert answer.status_code == 503
    assert answer["Retry-After"] == "2"
    assert SigninLink.objects.get().used_at is None, "the link is still good"


def ask(path: str, error: Exception, middleware: type, **headers: str) -> HttpResponse | None:
    request = RequestFactory().get(path, headers=headers)
    request.htmx = headers.get("HX-Request") == "true" and type("Htmx", (), {"boosted": False})()
    return middleware(lambda request: HttpResponse()).process_exception(request, error)


def test_a_refusal_is_a_page_for_a_person():
    answer = ask("/board/", Conflict("Somebody <b>was</b> first."), AnswerRefusals)
    assert answer.status_code == 409
    assert "Somebody &lt;b&gt;was&lt;/b&gt; first." in answer.text
    assert "<html" in answer.text


def test_a_refusal_is_one_line_for_htmx():
    answer = ask("/board/", Conflict("Somebody was <first>."), AnswerRefusals, **{"HX-Request": "true"})
    assert (answer.status_code, answer.text) == (409, "Somebody was <first>.")
    assert answer["Content-Type"].startswith("text/plain")


def test_a_refusal_is_json_for_a_program():
    answer = ask("/api/v1/x", Conflict("No."), AnswerRefusals)
    assert answer.status_code == 409
    assert answer["Content-Type"] == "application/json"


def test_busy_says_when_to_come_again():
    assert ask("/", Busy("Wait."), AnswerRefusals)["Retry-After"] == "2"
    assert ask("/", OperationalError("database is locked"), AnswerRefusals)["Retry-After"] == "2"


def test_other_errors_are_left_alone():
    assert ask("/", ValueError("x"), AnswerRefusals) is None


@pytest.mark.sqlite
def test_a_database_that_lacks_a_table_is_no_busy_one(db):
    assert ask("/", OperationalError("no such table"), AnswerRefusals) is None


@pytest.mark.parametrize(
    "said",
    [
        "database or disk is full",
        'could not extend file "base/5/16": No space left on device',
        "attempt to write a readonly database",
        "disk I/O error",
        "unable to open database file",
    ],
)
@pytest.mark.parametrize("path", ["/board/", "/api/v1/messages"])
def test_a_database_that_cannot_be_written_is_told_as_that(said, path):
    answer = ask(path, OperationalError(said), AnswerRefusals)
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert "Nothing was stored" in answer.text


@pytest.mark.parametrize("middleware", [ReaderTimeZone, SignedIn, Sessions])
def test_a_database_that_fails_before_or_after_the_view_is_told_as_that(
    middleware, monkeypatch, client, member
):
    def full(*args: object) -> None:
        raise OperationalError("database or disk is full")

    base = middleware.__mro__[1]
    if middleware is ReaderTimeZone:
        monkeypatch.setattr(ModelBackend, "get_user", full)
    else:
        monkeypatch.setattr(base, "process_view" if middleware is SignedIn else "process_response", full)
    client.force_login(member)
    answer = client.get("/profile/")
    assert answer.status_code == 503
    assert "disk is full" in answer.text


@pytest.mark.parametrize(
    ("zone", "shown"), [("Europe/Berlin", "Europe/Berlin"), ("../../etc/passwd", "UTC"), ("", "UTC")]
)
def test_times_are_shown_in_the_readers_zone(zone, shown):
    from django.utils import timezone

    seen: list[str] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(timezone.get_current_timezone_name())
        return HttpResponse()

    request = RequestFactory().get("/")
    request.COOKIES["contextdash_zone"] = zone
    ReaderTimeZone(view)(request)
    assert seen == [shown]


def test_pages_carry_a_policy_without_exceptions(client, db):
    policy = client.get("/signin/")["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert settings.SESSION_COOKIE_HTTPONLY


def test_no_other_site_is_offered_our_files(client, db):
    with closing(client.get("/static/app.css")) as answer:
        assert answer.status_code == 200
        assert "Access-Control-Allow-Origin" not in answer
