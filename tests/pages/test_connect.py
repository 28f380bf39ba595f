import json
import re
from html import unescape

import pytest
from django.test import Client

from contextdash.actor import SYSTEM
from contextdash.models import Change, Token, User
from contextdash.pages.snippets import snippet
from contextdash.services.tokens import authenticate, revoke_token
from tests import factories
from tests.seed import seed_demo

pytestmark = pytest.mark.django_db


def text_of(response) -> str:
    return response.content.decode()


def test_a_token_is_shown_once_and_works(page: Client, member: User):
    made = page.post("/connect/tokens/", {"name": "build-box", "scope": "ingest"})
    secret = re.search(r"cdt_[\w-]{40,}", text_of(made))[0]
    assert authenticate(secret).owner == member
    assert f"--token {secret}" in unescape(text_of(made))
    assert "no-store" in made["Cache-Control"]
    assert secret not in text_of(page.get("/connect/"))


def test_a_token_without_a_name_is_asked_for_again(page: Client):
    answer = page.post("/connect/tokens/", {"name": "", "scope": "ingest"})
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in text_of(answer)
    assert not Token.objects.exists()


def test_only_owners_are_offered_a_token_for_everything(page: Client, owner: User):
    assert "maintenance and purge" not in text_of(page.get("/connect/"))
    assert page.post("/connect/tokens/", {"name": "x", "scope": "admin"}).status_code == 422
    page.force_login(owner)
    assert "maintenance and purge" in text_of(page.get("/connect/"))
    assert page.post("/connect/tokens/", {"name": "x", "scope": "admin"}).status_code == 200


def test_a_viewer_makes_no_token(viewer: User):
    client = Client()
    client.force_login(viewer)
    body = text_of(client.get("/connect/"))
    assert "Viewers make no tokens" in body
    assert 'id="live"' in body
    assert "contextdash connect" not in body
    assert "curl" not in body
    assert client.post("/connect/tokens/", {"name": "x", "scope": "read"}).status_code == 403
    assert not Token.objects.exists()


def test_revoking_keeps_the_reason(page: Client, member: User):
    token, secret = factories.token("write", member)
    page.post(f"/connect/tokens/{token.pk}/revoke/", {"reason": "laptop lost"})
    assert authenticate(secret) is None
    assert Change.objects.get(noun="tokens", field="revoked").reason == "laptop lost"


def test_another_members_token_is_not_there(page: Client):
    token, secret = factories.token("write")
    assert page.post(f"/connect/tokens/{token.pk}/revoke/", {"reason": "mine now"}).status_code == 404
    assert authenticate(secret) is not None
    assert token.prefix not in text_of(page.get("/connect/"))


def test_it_waits_for_the_first_event_and_then_says_what_came(page: Client):
    first = page.get("/connect/")
    assert "Waiting for the first event" in text_of(first)
    seed_demo()
    news = page.get("/connect/", {"v": first["X-Version"]}, headers={"HX-Request": "true"})
    assert news.status_code == 200
    assert "Received" in text_of(news)
    assert "Waiting for the first event" not in text_of(news)
    again = page.get("/connect/", {"v": news["X-Version"]}, headers={"HX-Request": "true"})
    assert again.status_code == 204


def test_a_revoked_token_is_news(page: Client, member: User):
    token, _ = factories.token("write", member)
    version = page.get("/connect/")["X-Version"]
    revoke_token(token=token, actor=SYSTEM)
    answer = page.get("/connect/", {"v": version}, headers={"HX-Request": "true"})
    assert token.prefix not in text_of(answer)


def test_the_settings_are_json_with_a_command_for_session_start_and_http_for_the_rest():
    hooks = json.loads(snippet("claude-code", base="http://127.0.0.1:8765", secret="").settings)["hooks"]
    kinds = {event: groups[0]["hooks"][0]["type"] for event, groups in hooks.items()}
    assert kinds.pop("SessionStart") == "command"
    assert set(kinds.values()) == {"http"}
    assert {"PreToolUse", "PostToolUse", "Stop", "SessionEnd"} <= set(kinds)
    handler = hooks["Stop"][0]["hooks"][0]
    assert handler["url"] == "http://127.0.0.1:8765/api/v1/hooks/claude-code"
    assert handler["timeout"] <= 5


def test_the_settings_never_hold_the_token():
    assert "cdt_" not in snippet("claude-code", base="http://x", secret="cdt_secret").settings


def test_an_unknown_client_shows_claude_code(page: Client):
    assert "contextdash connect claude-code" in text_of(page.get("/connect/?client=<script>"))


def test_the_page_costs_the_same_with_many_tokens(page: Client, member: User, django_assert_max_num_queries):
    for _ in range(30):
        factories.token("write", member)
    with django_assert_max_num_queries(30):
        page.get("/connect/")
