"""The first hour of a new team, with the keyboard alone: nothing here yet, then the first session arrives."""

import json
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect

from backlog_app.models import BacklogItem
from contextdash.actor import SYSTEM
from contextdash.models import Change, User
from contextdash.services.signin import make_link
from reviews_app.models import Review
from tests import factories

SESSION = "8a6f1c52-0d0c-4f6e-9a55-6f1f7f0f2b11"
PAGES = ("Today", "Sessions", "Board", "Reviews", "Decisions", "Plans", "Mistakes", "Hooks", "Connect")


@pytest.fixture
def post(server: str, owner: User) -> Callable[..., Any]:
    """What agents and their hooks do meanwhile."""
    secret = factories.token("write", owner)[1]

    def post(path: str, **body: Any) -> Any:
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        request = Request(f"{server}/api/v1/{path}", json.dumps(body).encode(), headers)
        with urlopen(request, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    return post


@pytest.fixture
def hook(post: Callable[..., Any]) -> Callable[..., None]:
    def hook(event: str, **body: Any) -> None:
        place = {"cwd": "/home/mia/ledgerline", "transcript_path": "", "permission_mode": "default"}
        post("hooks/claude-code", session_id=SESSION, hook_event_name=event, **place, **body)

    return hook


def press_until_focused(page: Page, key: str, selector: str, most: int = 80) -> None:
    """Press a key until what has the focus fits, as somebody without a mouse does."""
    for _ in range(most):
        if page.evaluate("selector => document.activeElement?.matches(selector)", selector):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{selector} was not reached by {key}")


def test_every_page_opens_from_the_navigation(page: Page) -> None:
    for name in PAGES:
        link = page.get_by_role("navigation").get_by_role("link", name=name).first
        link.focus()
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_count(1)
        expect(page).to_have_title(re.compile(r"contextdash$"))


def test_a_session_arrives_while_one_looks_and_is_read(page: Page, server: str, hook: Any) -> None:
    page.goto(f"{server}/sessions/")
    expect(page.locator(".empty")).to_contain_text("contextdash connect claude-code")

    hook("UserPromptSubmit", prompt="Make refunds safe to retry", prompt_id="p-1")
    begun = time.monotonic()
    row = page.locator("[data-row]").filter(has_text="Make refunds safe to retry")
    expect(row).to_be_visible()
    assert time.monotonic() - begun < 5, "within a second on a quiet machine"

    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Make refunds safe to retry")

    hook(
        "PreToolUse",
        tool_name="Bash",
        tool_use_id="t-1",
        tool_input={"command": "make <b>test</b>"},
        prompt_id="p-1",
    )
    expect(page.locator("#live")).to_contain_text("make <b>test</b>")
    hook(
        "PostToolUseFailure",
        tool_name="Bash",
        tool_use_id="t-1",
        tool_input={"command": "make <b>test</b>"},
        error="2 tests failed",
        prompt_id="p-1",
    )
    expect(page.locator("#live")).to_contain_text("2 tests failed")
    hook("Stop", last_assistant_message="Refunds are safe to retry now.", prompt_id="p-1")
    expect(page.locator("#live")).to_contain_text("Refunds are safe to retry now.")


def test_sessions_are_filtered_from_the_keyboard(page: Page, server: str) -> None:
    factories.session("one", title="Refunds twice", user_request="Refunds twice")
    factories.session("two", title="Slow search", user_request="Slow search")
    page.goto(f"{server}/sessions/")
    expect(page.locator("[data-row]")).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("refunds")
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.locator("[data-row]")).to_contain_text("Refunds twice")
    assert "q=refunds" in page.url


def test_a_card_is_moved_from_the_keyboard(page: Page, server: str, post: Any) -> None:
    made = post("backlog", story="Refunds are safe to retry", acceptance_criteria="- one refund per key")
    page.goto(f"{server}/board/")
    card = page.locator(".card").filter(has_text="Refunds are safe to retry")
    expect(card).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("2")
    expect(page.locator('[data-column="in_progress"]')).to_contain_text("Refunds are safe to retry")
    story = BacklogItem.objects.get(pk=made["id"])
    assert story.status == "in_progress"
    assert Change.objects.filter(noun="sprint_backlog", row_id=story.pk, user__username="olga").exists()


def test_a_finding_is_resolved_from_the_keyboard_with_a_reason(page: Page, server: str, post: Any) -> None:
    post(
        "reviews",
        target="src/refunds.py:84",
        severity="High",
        finding="The lock is missing.",
        session_id="s-1",
    )
    page.goto(f"{server}/reviews/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("article.finding")).to_contain_text("The lock is missing.")
    press_until_focused(page, "Tab", "textarea[name=reason]")
    page.keyboard.type("Fixed in the next commit")
    press_until_focused(page, "Tab", "button[name=to][value=resolved]")
    page.keyboard.press("Enter")
    expect(page.locator(".empty")).to_contain_text("Nothing is open")
    finding = Review.objects.get()
    assert finding.resolution == "resolved"
    assert Change.objects.filter(
        noun="reviews", row_id=finding.pk, reason="Fixed in the next commit"
    ).exists()


def test_a_link_works_once_in_the_browser_too(
    stranger: Page, server: str, owner: User, errors: list[str]
) -> None:
    _, secret = make_link(user=owner, actor=SYSTEM)
    stranger.goto(f"{server}/signin/{secret}/?next=/board/")
    expect(stranger).to_have_url(f"{server}/board/")
    stranger.goto(f"{server}/signin/{secret}/")
    expect(stranger.get_by_role("alert")).to_contain_text("each works once")
    errors.clear()  # the browser notes every answer of 403
