"""Delete and undo, erase, and trying a text, in a real browser."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from contextdash.actor import SYSTEM
from sessions_app.models import Event, Session
from sessions_app.services.ending import delete_session
from sessions_app.services.purging import purge_session
from tests.sessions.deliveries import body, deliver, seen

STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def told(session_id: str = "s1", prompt: str = "Tidy the fixtures") -> Session:
    deliver(seen(body("UserPromptSubmit", session_id, prompt=prompt)))
    return Session.objects.get(id=session_id)


def test_a_session_is_deleted_and_brought_back_from_the_list_and_from_settings(
    page: Page, server: str
) -> None:
    told()
    for place in ("list", "settings"):
        page.goto(f"{server}/sessions/s1/")
        page.locator("#session-menu > summary").click()
        page.get_by_role("button", name="Delete…").click()
        page.locator("#delete-session").get_by_label("Reason").fill("Started in the wrong folder")
        page.get_by_role("button", name="Delete session").click()
        expect(page).to_have_url(f"{server}/sessions/?deleted=s1")
        if place == "list":
            page.get_by_role("button", name="Undo").click()
        else:
            page.goto(f"{server}/settings/kept/")
            expect(page.get_by_text("Started in the wrong folder")).to_be_visible()
            page.get_by_role("button", name="Bring back").click()
        expect(page.get_by_role("heading", name="Tidy the fixtures")).to_be_visible()
    assert Session.objects.get().deleted_at is None


def test_an_owner_erases_what_a_session_holds(page: Page, server: str) -> None:
    told()
    page.goto(f"{server}/sessions/s1/")
    page.locator("#session-menu > summary").click()
    page.get_by_role("button", name="Erase what it holds…").click()
    dialog = page.locator("#purge-session")
    expect(dialog).to_contain_text("It cannot be undone")
    dialog.get_by_label("Reason").fill("A customer asked for it")
    dialog.get_by_role("button", name="Erase for good").click()
    expect(page.get_by_text("Erased for good: 1 event.")).to_be_visible()
    assert not Event.objects.exists()
    page.goto(f"{server}/settings/kept/")
    expect(page.get_by_text("A customer asked for it")).to_be_visible()


def test_a_text_is_tried_by_keys_alone(page: Page, server: str) -> None:
    page.goto(f"{server}/settings/redaction/")
    page.get_by_label("Text", exact=True).fill("id AKIAIOSFODNN7EXAMPLE")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="As it would be stored")).to_have_text(
        "id [masked: aws-access-key]"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_settings_are_accessible_in_both_themes_and_on_a_phone(
    page: Page, server: str, scheme: str, width: int
) -> None:
    delete_session(session=told("gone", "An experiment"), actor=SYSTEM, reason="nobody needs it")
    purge_session(session=told("erased", "With an address"), actor=SYSTEM, reason="an address was in it")
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    for path in ("/settings/kept/", "/settings/redaction/"):
        page.goto(f"{server}{path}")
        found = Axe().run(page, options={"runOnly": STANDARDS})
        assert found.violations_count == 0, found.generate_report()
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
