"""Trust in a real browser: what was refused, what one has seen, who waits though another tab is in front."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from contextdash import clock
from contextdash.models import User
from sessions_app.models import SeenMark
from sessions_app.queries.seen import timeline_seen_us
from sessions_app.services.messages import write_message
from tests import factories

NEWS_MS = 15_000
"""The line that counts is asked for every five seconds; the rest is for a busy machine."""
HIDDEN_MS = 30_000
HIDDEN = "Object.defineProperty(document, 'hidden', {configurable: true, get: () => window.away ?? false});"
NOTED = """
    window.notes = [];
    window.Notification = class {
        static permission = "default";
        static async requestPermission() { return (this.permission = "granted"); }
        constructor(title) { window.notes.push(title); }
    };
"""


@pytest.fixture
def deliver(server: str, owner: User) -> Callable[..., int]:
    secret = factories.token("ingest", owner)[1]

    def deliver(body: Any) -> int:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        try:
            with urlopen(Request(f"{server}/api/v1/hooks/claude-code", data, headers), timeout=10) as answer:
                return int(answer.status)
        except HTTPError as error:
            return error.code

    return deliver


@pytest.fixture
def other(
    browser: Browser, browser_context_args: dict[str, Any], sign_in: Callable[[Page, User], None]
) -> Iterator[Page]:
    """A second person's browser."""
    context = browser.new_context(**browser_context_args)
    page = context.new_page()
    sign_in(page, factories.user(username="mia"))
    yield page
    context.close()


def marked(user: User, session_id: str, until_us: int) -> None:
    """Wait until the server knows that the person has seen so much."""
    for _ in range(80):
        mark = SeenMark.objects.filter(user=user, session__id=session_id).first()
        if mark is not None and max(mark.seen_us, mark.listed_us) >= until_us:
            return
        time.sleep(0.1)
    raise AssertionError("it was never told")


def test_a_refused_delivery_appears_with_its_reason_while_one_looks(
    page: Page, server: str, deliver: Callable[..., int]
) -> None:
    page.goto(f"{server}/connect/")
    expect(page.get_by_text("Waiting for the first event")).to_be_visible()
    assert deliver({"session_id": "s-1", "hook_event_name": "Stop"}) == 204
    assert deliver(b"{broken") == 400
    health = page.locator("#health")
    row = health.get_by_role("row").filter(has_text="Claude Code")
    expect(row.get_by_role("link", name="1")).to_be_visible()
    expect(health.get_by_role("listitem")).to_contain_text("malformed")
    row.get_by_role("link", name="1").click()
    expect(page.locator("#held")).to_contain_text("claude-code")
    page.goto(server)
    expect(page.locator("#arrives")).to_contain_text("1 refused")


def test_a_row_is_new_until_it_was_looked_at_for_each_person_alone(
    page: Page, other: Page, server: str, owner: User
) -> None:
    session = factories.session("s-1", title="Refunds are safe to retry")
    page.goto(f"{server}/sessions/")
    title = page.get_by_role("link", name="Refunds are safe to retry")
    expect(title).to_have_class("cut unseen")
    marked(owner, "s-1", session.last_us)
    # It stays bold while one is here, though the page is drawn again.
    factories.session("s-2", title="Another one")
    expect(page.get_by_role("link", name="Another one")).to_be_visible()
    expect(title).to_have_class("cut unseen")
    page.reload()
    expect(title).to_have_class("cut")
    other.goto(f"{server}/sessions/")
    expect(other.get_by_role("link", name="Refunds are safe to retry")).to_have_class("cut unseen")


def test_nothing_counts_as_seen_while_the_page_is_not_in_front(page: Page, server: str) -> None:
    factories.session("s-1", title="Refunds are safe to retry")
    page.add_init_script(f"window.away = true; {HIDDEN}")
    page.goto(f"{server}/sessions/")
    expect(page.get_by_role("link", name="Refunds are safe to retry")).to_be_visible()
    page.wait_for_timeout(3500)
    assert not SeenMark.objects.exists()


def test_the_line_of_the_timeline_is_where_each_person_stopped_reading(
    page: Page, other: Page, server: str, owner: User
) -> None:
    session = factories.session("s-1", title="Refunds")

    def says(text: str) -> int:
        made = write_message(
            session_id="s-1", agent_name="tester", role="response", content=text, actor=factories.SYSTEM
        )
        return clock.to_us(made.ts)

    first = says("The lock is missing.")
    page.goto(f"{server}/sessions/s-1/")
    expect(page.get_by_text("The lock is missing.")).to_be_visible()
    marked(owner, "s-1", first)
    page.goto(f"{server}/profile/")
    says("The lock is there now.")
    page.goto(f"{server}/sessions/s-1/")
    page.get_by_role("link", name="First unseen").click()
    line = page.locator("#seen")
    expect(line).to_be_in_viewport()
    expect(line.locator("xpath=following-sibling::li[1]")).to_contain_text("The lock is there now.")
    # What comes meanwhile moves nothing.
    says("And it is tested.")
    expect(page.get_by_text("And it is tested.")).to_be_visible()
    expect(line).to_have_count(1)
    expect(line.locator("xpath=following-sibling::li[1]")).to_contain_text("The lock is there now.")
    other.goto(f"{server}/sessions/s-1/")
    expect(other.get_by_text("And it is tested.")).to_be_visible()
    expect(other.locator("#seen")).to_have_count(0)
    seen_us = timeline_seen_us(owner, session)
    assert seen_us is not None
    assert seen_us >= first


def test_every_title_follows_how_many_wait_and_says_so_aloud_only_when_asked_and_hidden(
    page: Page, server: str, deliver: Callable[..., int]
) -> None:
    def asks(session: str) -> None:
        body = {"session_id": session, "hook_event_name": "PermissionRequest", "tool_name": "Bash"}
        assert deliver({**body, "tool_input": {"command": "make release"}}) == 204

    page.add_init_script(f"{NOTED} {HIDDEN}")
    page.goto(f"{server}/board/")
    expect(page).to_have_title("Board · contextdash")
    asks("s-1")
    expect(page).to_have_title("(1) Board · contextdash", timeout=NEWS_MS)
    assert page.evaluate("window.notes") == []

    page.get_by_title("Account, theme, time zone").click()
    button = page.get_by_role("button", name="Notify me when a session waits")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    asks("s-2")
    expect(page).to_have_title("(2) Board · contextdash", timeout=NEWS_MS)
    assert page.evaluate("window.notes") == [], "the page is in front"

    page.evaluate("window.away = true")
    asks("s-3")
    expect(page).to_have_title("(3) Board · contextdash", timeout=HIDDEN_MS)
    assert page.evaluate("window.notes") == ["3 sessions wait for you"]
    page.evaluate("window.away = false")
    deliver({"session_id": "s-1", "hook_event_name": "SessionEnd"})
    expect(page).to_have_title("(2) Board · contextdash", timeout=HIDDEN_MS)
