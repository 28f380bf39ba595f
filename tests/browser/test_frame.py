"""The frame in a real browser: news without a reload, keys, menus, toasts, and use by everyone."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from contextdash import clock
from contextdash.actor import SYSTEM
from contextdash.models import User
from reviews_app.services.reviews import log_review
from sessions_app.services.messages import write_message
from tests import factories
from tests.seed import seed_demo
from tests.teller import HOSTILE

STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
NEWS_MS = 10_000
"""The page asks every second; the rest is for a busy machine."""


def waiting(name: str, question: str = "May I?") -> None:
    factories.session(
        name, activity="waiting", waiting_for=question, activity_since_us=clock.now_us(), title=name
    )


def test_what_begins_to_wait_appears_and_is_counted_in_the_title(page: Page) -> None:
    expect(page.get_by_text("Nobody is waiting for you.")).to_be_visible()
    waiting("first", "May I drop the table?")
    expect(page.get_by_role("link", name="May I drop the table?")).to_be_visible(timeout=NEWS_MS)
    expect(page).to_have_title("(1) Today · contextdash")
    expect(page.locator('.nav > ul [data-count="today"] [data-number]')).to_have_text("1")


def test_hostile_news_stay_text(page: Page) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    waiting("hostile", HOSTILE)
    expect(page.get_by_role("link", name="<script>alert(1)</script>")).to_be_visible(timeout=NEWS_MS)
    assert dialogs == []


def test_news_wait_while_a_menu_or_a_field_is_in_use(page: Page, server: str, owner: User) -> None:
    token, _ = factories.token("write", owner)
    page.goto(f"{server}/connect/")
    page.get_by_role("button", name=f"Revoke {token.name}").click()
    page.get_by_label("Reason").fill("half a sen")
    factories.token("read", owner)
    page.wait_for_timeout(2500)
    expect(page.get_by_label("Reason")).to_have_value("half a sen")
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_title("token for read")).to_be_visible(timeout=NEWS_MS)


def test_a_reader_in_the_middle_of_a_list_is_not_disturbed(page: Page, server: str) -> None:
    for n in range(60):
        log_review(target=f"a.py:{n}", severity="High", finding=f"Finding {n}", actor=SYSTEM)
    page.goto(f"{server}/reviews/")
    row = page.locator("[data-row]").nth(30)
    row.scroll_into_view_if_needed()
    before = row.bounding_box()
    log_review(target="new.py:1", severity="Critical", finding="Brand new", actor=SYSTEM)
    pill = page.get_by_role("button", name="new row")
    expect(pill).to_be_visible(timeout=NEWS_MS)
    assert row.bounding_box() == before
    page.keyboard.press(".")
    expect(page.get_by_role("link", name="Brand new")).to_have_count(1)
    expect(pill).to_be_hidden()


def test_focus_and_opened_folds_outlive_news(page: Page) -> None:
    seed_demo()
    page.reload()
    page.get_by_text("Show as a table").click()
    link = page.get_by_role("link", name="Webhook signature is compared with ==")
    link.focus()
    waiting("later", "And now?")
    expect(page.get_by_role("link", name="And now?")).to_be_visible(timeout=NEWS_MS)
    expect(link).to_be_focused()
    expect(page.get_by_role("cell", name="512").or_(page.locator("#day-table[open]")).first).to_be_visible()


def test_keys_move_open_and_search(page: Page) -> None:
    waiting("one", "First?")
    waiting("two", "Second?")
    page.reload()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="First?")).to_be_focused()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Second?")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search sessions")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions/one/")


def test_single_keys_can_be_turned_off(page: Page) -> None:
    page.keyboard.press("?")
    page.get_by_label("Use single-key shortcuts").uncheck()
    page.get_by_role("button", name="Close").click()
    page.reload()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()


def test_one_menu_is_open_at_a_time_and_escape_closes_it(page: Page) -> None:
    page.locator(".account > summary").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.locator(".fresh > summary").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    page.locator(".account > summary").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()


def test_times_are_in_the_browsers_zone_from_the_first_page(page: Page) -> None:
    expect(page.get_by_text("Days and times in CET")).to_be_visible()


def test_a_refusal_of_htmx_becomes_a_toast(page: Page, errors: list[str]) -> None:
    page.evaluate("htmx.ajax('POST', '/connect/tokens/999/revoke/', {swap: 'none'})")
    expect(page.get_by_role("alert")).to_contain_text("There is no such token of yours")
    assert [error for error in errors if "404" in error]
    errors.clear()


def test_a_handoff_is_acknowledged_where_it_is_listed(page: Page) -> None:
    write_message(
        session_id="s", agent_name="tester", role="handoff", content="Yours.", target="devops", actor=SYSTEM
    )
    page.reload()
    page.get_by_role("button", name="Acknowledge").click()
    page.goto(page.url.split("/messages")[0])
    expect(page.get_by_text("Nobody is waiting for you.")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_everyone_can_use_the_pages(page: Page, server: str, theme: str, width: int) -> None:
    seed_demo()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    for path in ("/", "/connect/", "/profile/"):
        page.goto(server + path)
        found = Axe().run(page, options={"runOnly": {"type": "tag", "values": STANDARDS}})
        assert found.violations_count == 0, found.generate_report()
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wider) == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everyone_can_sign_in(stranger: Page, server: str, theme: str) -> None:
    stranger.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    stranger.goto(f"{server}/signin/")
    found = Axe().run(stranger, options={"runOnly": {"type": "tag", "values": STANDARDS}})
    assert found.violations_count == 0, found.generate_report()
