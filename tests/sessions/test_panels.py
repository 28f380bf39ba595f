"""The tabs of a session: registered panels, subagents, the ledger."""

import re
from typing import Any

import pytest
from django.test import Client

from sessions_app.models import LogEntry, ModelPreference, RunDetail, Session, SessionState, WarmSession
from sessions_app.registry import registry
from tests import factories
from tests.teller import Teller, started


@pytest.fixture
def tell(db: None) -> Teller:
    return started("one", 30)


def tabs(response: Any) -> list[str]:
    nav = re.search(
        r'<nav class="tabs" aria-label="Views of this session">.*?</nav>', response.content.decode(), re.S
    )
    assert nav
    return re.findall(r">([A-Z][a-z]+)", nav[0])


def test_panels_of_other_apps_are_tabs_without_being_imported(page: Client, tell: Teller) -> None:
    shown = tabs(page.get("/sessions/one/"))
    assert shown[0] == "Timeline"
    assert shown[-1] == "Ledger"
    assert shown[1:4] == ["Waterfall", "Transcript", "Files"]
    assert set(shown[4:-1]) == {panel.title for panel in registry.panels.values() if not panel.raw}


@pytest.mark.parametrize("slug", sorted({*registry.panels, "ledger", "waterfall", "transcript", "files"}))
def test_each_tab_opens_empty_and_is_the_current_one(page: Client, tell: Teller, slug: str) -> None:
    response = page.get(f"/sessions/one/{slug}/")
    assert response.status_code == 200
    assert re.search(rf'href="/sessions/one/{slug}/" aria-current="page"', response.content.decode())
    version = response["X-Version"]
    assert page.get(f"/sessions/one/{slug}/", {"v": version}).status_code == 204


def test_a_tab_that_nobody_registered_is_404(page: Client, tell: Teller) -> None:
    assert page.get("/sessions/one/nonsense/").status_code == 404


def test_a_prefix_leads_to_the_same_tab(page: Client, db: None) -> None:
    factories.session("abcdef-one")
    for slug in ("ledger", "subagents", "waterfall", "transcript", "files"):
        response = page.get(f"/sessions/abcdef/{slug}/")
        assert response["Location"] == f"/sessions/abcdef-one/{slug}/"


def test_subagents_are_listed_with_what_they_do(page: Client, tell: Teller) -> None:
    child = factories.session(
        "kid", parent=tell.session, agent_name="tester", child_count=1, activity="working"
    )
    factories.session("grandkid", parent=child, agent_name="reader")
    Session.objects.filter(key=tell.session.key).update(child_count=1)
    text = page.get("/sessions/one/subagents/").content.decode()
    assert "tester" in text
    assert "reader" in text
    assert "Working" in text


def test_the_ledger_is_paged_newest_first(page: Client, tell: Teller) -> None:
    for number in range(130):
        tell.event(f"Event{number}", "other", {})
    tell.end()
    first = page.get("/sessions/one/ledger/").content.decode()
    assert re.findall(r'id="l-(\d+)"', first) == [str(n) for n in range(130, 30, -1)]
    older = re.search(r'href="([^"]*)" rel="next"', first)
    assert older
    second = page.get(f"/sessions/one/ledger/{older[1]}").content.decode()
    assert re.findall(r'id="l-(\d+)"', second) == [str(n) for n in range(30, 0, -1)]
    assert page.get("/sessions/one/ledger/?cursor=x").status_code == 422


def test_the_ledger_reads_no_payload_for_its_list(
    page: Client, tell: Teller, django_assert_max_num_queries: Any
) -> None:
    for number in range(100):
        tell.event(f"Event{number}", "other", {"text": "payload text " * 100})
    page.get("/sessions/one/ledger/")
    with django_assert_max_num_queries(20):
        text = page.get("/sessions/one/ledger/").content.decode()
    assert "payload text" not in text
    assert len(text) < 120_000


def test_the_ledger_is_narrowed_and_says_how_far_it_looked(page: Client, tell: Teller) -> None:
    tell.prompt("First")
    tell.event("PreToolUse", "tool_start", {})
    tell.prompt("Second")
    tell.event("Odd%Name", "other", {})
    tell.end()
    kid = factories.session("kid", parent=tell.session, agent_name="tester")
    Teller(kid, tell.at_us).event("KidsEvent", "other", {})
    Session.objects.filter(key=kid.key).update(ordinal=1, event_count=1)

    def found(**query: Any) -> list[str]:
        text = page.get("/sessions/one/ledger/", query).content.decode()
        return re.findall(r'<span class="mono cut" title="([^"]*)"', text)

    assert found(kind="prompt") == ["UserPromptSubmit", "UserPromptSubmit"]
    assert found(name="pretool") == ["PreToolUse"]
    assert found(name="%") == ["Odd%Name"]
    assert found(source="api") == []
    assert found(turn="1") == ["Stop", "PreToolUse", "UserPromptSubmit"]
    assert found(turn="9") == []
    assert found(turn="1", run="1") == found(turn="1")
    assert found(turn="1", run="2") == []
    assert found(after="3") == ["Odd%Name", "UserPromptSubmit"]
    assert found(agent="kid") == ["KidsEvent"]
    assert "No entry fits" in page.get("/sessions/one/ledger/?kind=none").content.decode()
    Session.objects.filter(key=tell.session.key).update(ordinal=50_000)
    text = page.get("/sessions/one/ledger/?kind=none").content.decode()
    assert "Look further back" in text
    assert "cursor=30001" in text


def test_an_entry_is_a_file_to_keep(page: Client, tell: Teller) -> None:
    tell.event("Odd", "other", {"text": "<script>alert(1)</script>"})
    tell.end()
    answer = page.get("/sessions/one/ledger/1/?download=1")
    assert answer["Content-Disposition"] == 'attachment; filename="event-1.json"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer.json()["text"] == "<script>alert(1)</script>"


def test_what_is_kept_beside_is_shown_as_names_and_values_and_nothing_private(
    page: Client, tell: Teller
) -> None:
    tell.prompt("Go")
    assert tell.run
    session = tell.session
    private = [{"type": "reasoning", "text": "the secret thought"}]
    RunDetail.objects.create(
        run=tell.run, prior_outcome="cancelled", ctx={"long": "x" * 9_000}, content=private
    )
    WarmSession.objects.create(session=session, created_us=tell.at_us)
    ModelPreference.objects.create(session=session, model="<script>alert(1)</script>")
    LogEntry.objects.create(level="warn", event="gateway/slow-read", session=session, at_us=tell.at_us)
    SessionState.objects.create(
        session=session, version=1, parent=session.states.get(), created_us=tell.at_us
    )
    tell.end()
    assert "No client" not in page.get("/sessions/one/beside/").content.decode()
    text = page.get("/sessions/one/beside/").content.decode()
    for told in ("cancelled", "gateway/slow-read", "Made ahead", "Versions", "(9,0"):
        assert told in text
    assert "the secret thought" not in text
    assert "<script>alert" not in text
    assert "/sessions/one/beside/" in page.get("/sessions/one/ledger/").content.decode()
