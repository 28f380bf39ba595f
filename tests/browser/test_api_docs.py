"""The API's own page works under our content security policy: ``page`` fails on any complaint of a script."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE_MS


def test_the_page_of_the_api_lists_and_tries_calls(page: Page, server: str) -> None:
    # The address of one call, so that nothing has to be unfolded by a click that is a navigation.
    page.goto(f"{server}/api/v1/docs#/projects/sessions_app_api_places_projects")
    call = page.locator(".opblock.is-open")
    call.get_by_role("button", name="Try it out").click()
    call.get_by_role("button", name="Execute").click()
    status = call.locator(".live-responses-table tbody .response-col_status")
    expect(status).to_contain_text("200", timeout=PATIENCE_MS)
