"""The stand-up in a real browser: copied from Today and its own page, live, by range."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from backlog_app.models import BacklogItem
from backlog_app.services.stories import add_story
from contextdash.actor import SYSTEM
from reviews_app.services.reviews import log_review
from sessions_app.services.decisions import log_decision

NEWS_MS = 3000
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def story(text: str = "Replay a day of webhooks", status: str = "in_progress") -> BacklogItem:
    return add_story(story=text, status=status, assigned_agent="tester", actor=SYSTEM)


def copied(page: Page) -> str:
    expect(page.get_by_text("Copied", exact=True).last).to_be_visible()
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def test_it_is_copied_from_today_and_from_its_page(page: Page, server: str) -> None:
    row = story()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(server)
    page.get_by_role("link", name="Copy stand-up").click()
    line = f"- [S-{row.pk}]({server}/board/stories/{row.pk}/) Replay a day of webhooks"
    assert line in copied(page)
    assert page.url == f"{server}/"
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Stand-up").click()
    page.evaluate("navigator.clipboard.writeText('')")
    page.get_by_role("button", name="Copy stand-up").click()
    assert line in copied(page)


def test_a_blocked_story_appears_while_looking_and_leads_to_its_cure(page: Page, server: str) -> None:
    page.goto(f"{server}/standup/")
    expect(page.get_by_role("heading", name="Nothing happened in this time")).to_be_visible()
    story("Sandbox keys expired", "blocked")
    link = page.get_by_role("link", name="Sandbox keys expired")
    expect(link).to_be_visible(timeout=NEWS_MS)
    link.click()
    expect(page.get_by_role("heading", name="Sandbox keys expired")).to_be_visible()


def test_a_range_is_chosen(page: Page, server: str) -> None:
    story()
    page.goto(f"{server}/standup/")
    page.locator("#standup-range > summary").click()
    page.get_by_label("From").fill("2026-01-01T09:00")
    page.get_by_label("To", exact=True).fill("2026-01-02T09:00")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="Nothing happened in this time")).to_be_visible()
    expect(page.locator(".lede")).to_contain_text("Thu 1 Jan 09:00 to Fri 2 Jan 09:00")


def test_a_finding_and_a_story_are_linked_to_a_decision_and_cut_off(page: Page, server: str) -> None:
    finding = log_review(target="a.py", severity="High", finding="Shared without a lock.", actor=SYSTEM)
    row = story()
    decision = log_decision(topic="retry", choice="one budget per request", actor=SYSTEM)
    page.goto(f"{server}/decisions/{decision.pk}/")
    page.get_by_label("Number of a finding").fill(f"R-{finding.pk}")
    page.get_by_label("Number of a finding").press("Enter")
    expect(page.get_by_role("link", name="Shared without a lock.")).to_be_visible()
    page.get_by_label("Number of a story").fill(f"S-{row.pk}")
    page.get_by_label("Number of a story").press("Enter")
    expect(page.get_by_role("link", name="Replay a day of webhooks")).to_be_visible()
    page.get_by_role("link", name="Shared without a lock.").click()
    expect(page.get_by_role("link", name="retry: one budget per request")).to_be_visible()
    page.get_by_role("button", name=f"Remove the link to D-{decision.pk}").click()
    expect(page.get_by_role("link", name="retry: one budget per request")).to_have_count(0)


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_used_by_everyone(page: Page, server: str, width: int, scheme: str) -> None:
    story('<img src="x" onerror="document.title=1"> \x1b[31mRED')
    story("Sandbox keys expired", "blocked")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(f"{server}/standup/")
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": STANDARDS}})
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title() == "Stand-up · contextdash"
