"""Who gets in, and what each role may do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from contextdash import clock
from contextdash.actor import SYSTEM, Actor
from contextdash.errors import Conflict, Forbidden, Invalid
from contextdash.models import Change, SigninLink, Token, User
from contextdash.services import signin, tokens, users
from contextdash.services.signin import make_link
from tests import factories
from tests.seed import seed_demo

PUBLIC = {"signin/", "signin/<str:secret>/"}
OF_ONESELF = ("signout/", "profile/")
"""What a viewer may do as well: it touches nothing of the team's."""
PROGRAMS = ("api/", "otlp/")
SAMPLES = {"int": "1", "str": "s-1", "slug": "decisions", "path": "a/b"}
METHODS = ("get", "post", "put", "patch", "delete")


def routes(patterns: Any = None, before: str = "") -> Iterator[str]:
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def address(route: str) -> str:
    """An address of that route, with a plausible value for each part."""
    plain = re.sub(r"<(?:(\w+):)?\w+>", lambda found: SAMPLES.get(found[1] or "str", "1"), route)
    return "/" + plain.replace("^", "").replace("$", "").replace("(?P", "(")


ROUTES = sorted(set(routes()))
PAGES = [route for route in ROUTES if not route.startswith(PROGRAMS) and not route.startswith("admin/")]
CALLS = [route for route in ROUTES if route.startswith(PROGRAMS)]


@contextmanager
def nothing_written() -> Iterator[None]:
    """Nothing but Django's own tables (browser sessions) may be written meanwhile."""
    with CaptureQueriesContext(connection) as seen:
        yield
    statements = [query["sql"] for query in seen.captured_queries]
    written = [sql for sql in statements if sql.startswith(("INSERT", "UPDATE", "DELETE"))]
    assert [sql for sql in written if '"django_' not in sql] == []


@pytest.mark.parametrize("route", [route for route in PAGES if route not in PUBLIC])
def test_a_stranger_is_sent_to_the_sign_in_from_every_page(route, client, db):
    for method in METHODS:
        answer = getattr(client, method)(address(route))
        assert answer.status_code == 302, (method, route)
        assert answer["Location"].startswith("/signin/"), (method, route)


@pytest.mark.parametrize("route", CALLS)
def test_a_program_without_a_token_is_refused_by_every_call(route, client, db):
    if "docs" in route or route.endswith("api/v1/"):
        return
    statuses = {getattr(client, method)(address(route)).status_code for method in METHODS}
    assert statuses <= {401, 403, 404, 405}, route


def test_the_apis_own_page_needs_a_sign_in(client, db):
    assert client.get("/api/v1/docs").status_code in {302, 401}
    assert client.get("/api/v1/openapi.json").status_code in {302, 401}


@pytest.mark.parametrize(
    "route",
    [route for route in PAGES if route not in PUBLIC and not route.startswith(OF_ONESELF)],
)
def test_a_viewer_changes_nothing_on_any_page(route, viewer):
    client = Client()
    client.force_login(viewer)
    with nothing_written():
        for method in ("post", "put", "patch", "delete"):
            answer = getattr(client, method)(address(route))
            # 200 where the page is the same by any method; what matters is that nothing was written.
            assert answer.status_code in {200, 403, 404, 405}, (method, route)


def test_a_viewer_changes_nothing_by_the_api(viewer, make_api, owner):
    seed_demo(owner)
    program = make_api("write", viewer)
    program.get("sessions")  # marks the token as used
    with nothing_written():
        for path in ("messages", "plans", "decisions", "mistakes", "reviews", "backlog", "hook-events"):
            answer = program.post(
                path, session_id="s-1", agent_name="a", role="request", topic="t", choice="c"
            )
            assert answer.status_code in {403, 422}, path
        assert program.post("sessions/ensure", session_id="new").status_code == 403
        assert program.patch("decisions/1", topic="other").status_code == 403


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [("ingest", {}), ("read", {"get"}), ("write", {"get", "post"}), ("admin", {"get", "post"})],
)
def test_a_token_reaches_as_far_as_its_scope(scope, allowed, make_api, member):
    program = make_api(scope, member)
    assert (program.get("sessions").status_code == 200) == ("get" in allowed)
    answer = program.post("sessions/ensure", session_id="s-1")
    assert (answer.status_code in {200, 201}) == ("post" in allowed)


def test_administration_needs_an_owner_even_with_the_scope(make_api, member, owner):
    factories.session("s-1")
    assert make_api("admin", member).post("sessions/s-1/purge", reason="x").status_code == 403
    assert make_api("write", owner).post("sessions/s-1/purge", reason="x").status_code == 403
    assert make_api("admin", owner).post("sessions/s-1/purge", reason="x").status_code == 200


def test_a_token_cannot_manage_tokens_or_people(make_api, owner):
    program = make_api("admin", owner)
    for path in ("tokens", "users", "people"):
        assert program.post(path, name="x", scope="admin").status_code == 404
    assert program.client.get("/admin/", headers=program.headers).status_code == 302


def test_a_revoked_token_stops_within_five_seconds(make_api, member, monkeypatch):
    program = make_api("read", member)
    assert program.get("sessions").status_code == 200
    # As another process does it: the lookups of this one are not told.
    Token.objects.update(revoked_at=clock.now())
    now = tokens.monotonic()
    monkeypatch.setattr(tokens, "monotonic", lambda: now + 5.01)
    assert program.get("sessions").status_code == 401


def test_a_revoked_token_stops_at_once_in_the_process_that_revoked_it(make_api, member):
    program = make_api("read", member)
    assert program.get("sessions").status_code == 200
    tokens.revoke_token(token=Token.objects.get(), actor=SYSTEM)
    assert program.get("sessions").status_code == 401


def test_the_tokens_of_somebody_who_left_stop(make_api, member, owner):
    program = make_api("read", member)
    assert program.get("sessions").status_code == 200
    users.change_user(user=member, values={"is_active": False}, actor=Actor(user=owner), reason="left")
    assert program.get("sessions").status_code == 401


# Links


def link_of(user: User) -> str:
    return f"/signin/{make_link(user=user, actor=SYSTEM)[1]}/"


def test_a_link_signs_in_once(client, member):
    link = link_of(member)
    assert client.get(link)["Location"] == "/"
    assert client.get("/profile/").status_code == 200
    again = Client().get(link)
    assert again.status_code == 403
    assert "each works once" in again.text


def test_a_link_is_kept_as_a_digest_only(member):
    secret = make_link(user=member, actor=SYSTEM)[1]
    assert secret.encode() not in bytes(SigninLink.objects.get().digest)


def test_a_link_is_too_old_after_fifteen_minutes(client, member):
    link = link_of(member)
    with time_machine.travel(clock.now() + timedelta(minutes=15, seconds=1)):
        assert client.get(link).status_code == 403


def test_a_link_of_somebody_who_left_does_not_work(client, member):
    link = link_of(member)
    User.objects.update(is_active=False)
    assert client.get(link).status_code == 403


@pytest.mark.parametrize("secret", ["x", "%00", "é" * 300, "..%2F..", "a" * 5000])
def test_a_made_up_link_does_not_work(secret, client, db):
    assert client.get(f"/signin/{secret}/").status_code in {400, 403, 404}


def test_a_link_is_not_posted(client, member):
    assert client.post(link_of(member)).status_code == 405


def test_links_that_nobody_used_are_forgotten(member):
    link_of(member)
    with time_machine.travel(clock.now() + timedelta(hours=1)):
        link_of(member)
    assert SigninLink.objects.count() == 1


# Where one goes afterwards


@pytest.mark.parametrize("place", ["/sessions/?q=x", "/board/"])
def test_one_goes_on_to_the_page_that_was_asked_for(place, client, member):
    assert client.get(link_of(member), {"next": place})["Location"] == place


@pytest.mark.parametrize(
    "place",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:///evil.example",
    ],
)
def test_nobody_is_sent_to_another_site(place, client, member):
    assert client.get(link_of(member), {"next": place})["Location"] == "/"
    assert client.get("/signin/", {"next": place})["Location"] == "/"


# Passwords


def test_a_password_signs_in_where_one_is_set(client, member):
    users.set_password(user=member, password="correct horse battery", actor=Actor(user=member))
    answer = client.post(
        "/signin/", {"username": "mia", "password": "correct horse battery", "next": "/sessions/"}
    )
    assert answer["Location"] == "/sessions/"
    assert client.session.get_expire_at_browser_close()


def test_staying_signed_in_is_asked_for(client, member):
    users.set_password(user=member, password="correct horse battery", actor=Actor(user=member))
    client.post("/signin/", {"username": "mia", "password": "correct horse battery", "keep": "on"})
    assert not client.session.get_expire_at_browser_close()


def test_a_wrong_password_keeps_the_name_and_says_how_many_tries_are_left(client, member):
    answer = client.post("/signin/", {"username": "mia", "password": "wrong"})
    assert answer.status_code == 403
    assert "4 tries are left" in answer.text
    assert 'value="mia"' in answer.text
    assert "wrong" not in answer.text


def test_after_five_wrong_passwords_even_the_right_one_waits(client, member):
    users.set_password(user=member, password="correct horse battery", actor=Actor(user=member))
    for _ in range(signin.TRIES):
        client.post("/signin/", {"username": "MIA", "password": "wrong"})
    answer = client.post("/signin/", {"username": "mia", "password": "correct horse battery"})
    assert answer.status_code == 429


@pytest.fixture(autouse=True)
def _no_failures() -> None:
    signin._failures._times.clear()


@pytest.mark.parametrize("password", ["short", "password123", "1234567890123"])
def test_a_weak_password_is_refused(password, member):
    with pytest.raises(Invalid):
        users.set_password(user=member, password=password, actor=Actor(user=member))


def test_nobody_sets_anothers_password_but_an_owner(member, viewer, owner):
    with pytest.raises(Forbidden):
        users.set_password(user=viewer, password="correct horse battery", actor=Actor(user=member))
    users.set_password(user=viewer, password="correct horse battery", actor=Actor(user=owner))


# Signing out, people


def test_signing_out_is_a_post(page):
    assert page.get("/signout/").status_code == 405
    assert page.post("/signout/")["Location"] == "/signin/"
    assert page.get("/profile/").status_code == 302


def test_the_first_start_makes_the_owner_and_later_ones_do_not(db):
    first = users.first_owner()
    assert (first.username, first.role, first.is_superuser) == ("owner", "owner", True)
    assert users.first_owner() == first
    User.objects.update(last_login=clock.now())
    assert users.first_owner() is None


def test_only_owners_manage_people(member, owner):
    with pytest.raises(Forbidden):
        users.create_user(username="eve", role="owner", actor=Actor(user=member))
    with pytest.raises(Forbidden):
        users.change_user(user=member, values={"role": "owner"}, actor=Actor(user=member))


def test_roles_change_with_history_and_the_last_owner_stays(member, owner):
    actor = Actor(user=owner)
    users.change_user(user=member, values={"role": "owner"}, actor=actor, reason="shares the work")
    change = Change.objects.get(noun="users", row_id=member.pk, field="role")
    assert (change.old, change.new, change.reason) == ("member", "owner", "shares the work")
    users.change_user(user=owner, values={"role": "viewer"}, actor=actor)
    member.refresh_from_db()
    with pytest.raises(Conflict):
        users.change_user(user=member, values={"is_active": False}, actor=Actor(user=member))
