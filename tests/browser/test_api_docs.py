"""The API's own page works under our content security policy: ``page`` fails on any complaint of a script."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE_MS


def test_the_page_of_the_api_lists_and_tries_calls(page: Page, server: str) -> None:
    page.goto(f"{server}/api/v1/docs")
    call = page.locator(".opblock", has=page.get_by_text("/api/v1/projects", exact=True)).first
    call.locator(".opblock-summary").click()
    call.get_by_role("button", name="Try it out").click()
    call.get_by_role("button", name="Execute").click()
    expect(call.locator(".live-responses-table tbody .response-col_status")).to_contain_text(
        "200", timeout=PATIENCE_MS
    )
