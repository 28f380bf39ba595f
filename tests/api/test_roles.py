"""What each role may do, over every endpoint and every page that there is.

A role is a person's; a token never reaches further than its owner. Pages are walked by their addresses and
endpoints by the examples of docs/api.md, so that what is added later is held to the same.
"""

import re

import pytest
from django.db import models
from django.test import Client

from backlog_app.models import BacklogItem
from backlog_app.services.stories import add_story
from contextdash.actor import Actor
from contextdash.models import User
from reviews_app.models import Review
from sessions_app.models import AgentMessage, Decision, Mistake, Plan, Session
from tests import factories
from tests.api.test_docs import EXAMPLES, filled, run
from tests.claims.documented import runs_of_the_examples
from tests.core.test_access import PAGES, PUBLIC, address, nothing_written
from tests.seed import seed_demo

pytestmark = pytest.mark.django_db

CHANGING = [
    text for text in EXAMPLES if any(f"-X {verb}" in text for verb in ("POST", "PUT", "PATCH", "DELETE"))
]
OF_HOOKS = ("/api/v1/hooks/", "/api/v1/ingest", "/otlp/v1/")
"""What agents report is recorded whoever owns them; of a body with other lines each is judged by itself."""
OWNERS_PAGES = [route for route in PAGES if route.startswith("people/") or route.endswith("/purge/")]
OF_ONESELF = {"", "/signout/", "/profile/theme/", "/profile/password/"}
ROWS: dict[str, type[models.Model]] = {
    "decisions": Decision,
    "mistakes": Mistake,
    "plans": Plan,
    "messages": AgentMessage,
    "reviews": Review,
    "board/stories": BacklogItem,
}
DISABLED = "/criteria/"
"""Shown to everybody, with boxes that a viewer cannot tick."""
FOR_OWNERS = ("/purge", "/admin/")


def first_line(example: str) -> str:
    return " ".join(example.split())[:100]


def asked(example: str, secret: str, other: int) -> str:
    """The example, with a number for each row that another example makes."""
    return re.sub(r"\$[A-Z]+|\bNone\b", "1", filled(example, secret, other, {}))


@pytest.fixture
def other(owner: User) -> int:
    """A story of somebody else, for examples that link to one; the sessions of the examples are there too."""
    for session in ("s-1", "old-1", "old-2"):
        factories.session(session)
    runs_of_the_examples()
    return add_story(actor=Actor(user=owner), story="Another story").pk


@pytest.mark.parametrize("scope", ["write", "admin"])
@pytest.mark.parametrize(
    "example", [text for text in CHANGING if not any(path in text for path in OF_HOOKS)], ids=first_line
)
def test_a_viewers_token_changes_nothing_by_any_endpoint(example, scope, viewer, other):
    _, secret = factories.token(scope, viewer)
    Client().get("/api/v1/sessions", headers={"Authorization": f"Bearer {secret}"})  # marks it as used
    with nothing_written():
        answer = run(asked(example, secret, other))
    assert answer.status_code == 403, answer.content[:300]
    assert answer.json()["error"] == "forbidden"


@pytest.mark.parametrize("example", CHANGING, ids=first_line)
def test_a_members_token_is_stopped_by_its_role_only_where_owners_administer(example, member, other):
    answer = run(asked(example, factories.token("admin", member)[1], other))
    assert (answer.status_code == 403) == any(path in example for path in FOR_OWNERS), answer.content[:300]


@pytest.mark.parametrize("route", OWNERS_PAGES)
@pytest.mark.parametrize("who", ["member", "viewer"])
def test_pages_of_owners_are_refused_to_everybody_else(route, who, request, owner):
    client = Client()
    client.force_login(request.getfixturevalue(who))
    with nothing_written():
        for method in ("get", "post"):
            answer = getattr(client, method)(address(route))
            assert answer.status_code in {403, 405}, method


@pytest.mark.parametrize("who", ["member", "viewer"])
def test_the_admin_is_for_owners(who, request):
    client = Client()
    client.force_login(request.getfixturevalue(who))
    assert client.get("/admin/").status_code in {302, 403}
    assert client.get("/admin/", follow=True).status_code == 403


def test_a_viewer_sees_every_page_and_no_form_that_changes_the_teams_things(viewer, owner):
    seed_demo(owner)
    client = Client()
    client.force_login(viewer)
    session = Session.objects.exclude(turn_count=0).order_by("key").first()
    assert session is not None
    pages = ["/", "/sessions/", f"/sessions/{session.id}/", "/board/", "/reviews/", "/decisions/", "/plans/"]
    pages += ["/mistakes/", "/hooks/", "/connect/", "/handoffs/", "/standup/", "/profile/"]
    for place, model in ROWS.items():
        pages.append(f"/{place}/{model._default_manager.order_by('pk').values_list('pk', flat=True)[0]}/")
    offered = {}
    for path in pages:
        answer = client.get(path)
        assert answer.status_code == 200, path
        forms = set(_post_actions(answer.text)) - OF_ONESELF
        if forms := {action for action in forms if not action.endswith(DISABLED)}:
            offered[path] = forms
    assert offered == {}


@pytest.mark.parametrize("route", [route for route in PAGES if route not in PUBLIC])
def test_nobody_who_is_not_active_gets_in(route, member):
    client = Client()
    client.force_login(member)
    User.objects.update(is_active=False)
    assert client.get(address(route)).status_code == 302


def _post_actions(text: str) -> list[str]:
    forms = re.findall(r"<form\b[^>]*method=\"post\"[^>]*>", text, re.IGNORECASE)
    return [(re.findall(r'action="([^"]*)"', form) or [""])[0] for form in forms]
