"""People in real browsers: an owner invites, a viewer and a member come in, each may what the role says."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from contextdash.models import Change, User
from tests import factories

STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
PATHS = ("/", "/sessions/", "/board/", "/reviews/", "/decisions/")


@pytest.fixture
def guest(browser: Browser, browser_context_args: dict[str, Any]) -> Any:
    """Another person's browser."""
    context = browser.new_context(**browser_context_args)
    yield context.new_page()
    context.close()


def violations(page: Page) -> list[str]:
    found = Axe().run(page, options={"runOnly": STANDARDS}).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


def invite(page: Page, server: str, name: str, role: str) -> str:
    page.goto(f"{server}/people/")
    page.get_by_label("Name").fill(name)
    page.get_by_role("radio", name=role).check()
    page.get_by_role("button", name="Make a link").click()
    shown = page.get_by_role("status").filter(has_text=f"A link for {name}")
    expect(shown).to_be_visible()
    return shown.locator(".cmd code").inner_text()


def test_a_viewer_is_invited_and_looks_without_a_way_to_change_anything(
    page: Page, guest: Page, server: str
) -> None:
    link = invite(page, server, "noor", "viewer")
    guest.goto(link)
    expect(guest).to_have_url(f"{server}/")
    for path in PATHS:
        guest.goto(f"{server}{path}")
        expect(guest.locator("h1")).to_have_count(1)
        expect(guest.get_by_role("navigation", name="Main").get_by_role("link", name="People")).to_have_count(
            0
        )
    guest.goto(f"{server}/connect/")
    expect(guest.get_by_text("Viewers make no tokens.")).to_be_visible()
    expect(guest.get_by_role("button", name="Create token")).to_have_count(0)
    guest.goto(f"{server}/people/")
    expect(guest.get_by_text("Only an owner may see or do this.")).to_be_visible()
    # And the link is used up.
    guest.context.clear_cookies()
    guest.goto(link)
    expect(guest.get_by_role("alert")).to_contain_text("each works once")


def test_a_member_is_invited_acts_is_made_a_viewer_and_let_go(page: Page, guest: Page, server: str) -> None:
    guest.goto(invite(page, server, "mo", "member"))
    guest.goto(f"{server}/connect/")
    guest.get_by_label("Token name").fill("laptop")
    guest.get_by_role("button", name="Create token").click()
    expect(guest.get_by_text("laptop is made.")).to_be_visible()

    page.goto(f"{server}/people/")
    page.get_by_role("link", name="mo").click()
    expect(page.get_by_role("row").filter(has_text="laptop")).to_be_visible()
    page.get_by_role("radio", name="viewer").check()
    page.get_by_label("Reason").first.fill("only looks on")
    page.get_by_role("button", name="Change role").click()
    expect(page.get_by_text("only looks on")).to_be_visible()
    guest.goto(f"{server}/connect/")
    expect(guest.get_by_text("Viewers make no tokens.")).to_be_visible()

    page.get_by_role("button", name="Revoke laptop").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("no longer needed")
    dialog.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row").filter(has_text="laptop")).to_have_count(0)

    page.get_by_role("button", name="Deactivate…").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("left the team")
    page.get_by_role("dialog").get_by_role("button", name="Deactivate").click()
    expect(page.get_by_role("button", name="Reactivate…")).to_be_visible()
    guest.goto(f"{server}/sessions/")
    expect(guest).to_have_url(f"{server}/signin/?next=/sessions/")
    assert not User.objects.get(username="mo").is_active
    reasons = set(Change.objects.filter(user__username="olga").values_list("reason", flat=True))
    assert {"only looks on", "no longer needed", "left the team"} <= reasons


def test_the_people_pages_have_no_barriers_in_any_theme_or_width(page: Page, server: str) -> None:
    for n in range(3):
        factories.token("write", factories.user(username=f"person-with-quite-a-long-name-{n}"))
    someone = User.objects.get(username="person-with-quite-a-long-name-0")
    invite(page, server, "noor", "viewer")
    assert violations(page) == []
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for path in ("/people/", f"/people/{someone.pk}/", "/connect/", "/"):
                page.goto(f"{server}{path}")
                assert violations(page) == [], (path, width, scheme)
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
