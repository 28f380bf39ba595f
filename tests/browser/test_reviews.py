"""Findings in a real browser: they arrive live, are closed together, and what is typed stays."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from contextdash.diffhash import diff_hash
from reviews_app.models import Review
from tests import factories
from tests.browser.conftest import PATIENCE_MS
from tests.reviews.kit import log
from tests.reviews.test_gate_command import Repository

DIFF = "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-a\n+b\n"
EVIL = "<img src=x onerror=alert(1)><script>alert(1)</script> \x1b[31mred"


def test_findings_are_closed_together_with_a_reason_and_it_is_undone(page: Page, server: str) -> None:
    rows = [log(finding=f"Number {n}", severity="Low") for n in range(4)]
    page.goto(f"{server}/reviews/")
    for row in rows[:3]:
        page.get_by_label(f"Choose R-{row.pk}").check()
    # News does not take away what was chosen and written.
    page.get_by_label("Reason for all chosen").fill("Generated code")
    page.locator("h1").click()
    log(finding="News", severity="Critical")
    page.wait_for_timeout(2000)
    expect(page.get_by_label(f"Choose R-{rows[0].pk}")).to_be_checked()
    page.locator("#bulk").get_by_role("button", name="Dismiss").click()
    expect(page.get_by_text("3 findings dismissed")).to_be_visible()
    assert Review.objects.filter(resolution="dismissed").count() == 3
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("3 findings reopened")).to_be_visible()
    assert Review.objects.filter(resolution="reopened").count() == 3


def test_a_finding_appears_is_opened_and_resolved_by_keys_alone(page: Page, server: str) -> None:
    page.goto(f"{server}/reviews/")
    expect(page.get_by_text("No finding yet")).to_be_visible()
    log(finding="First", severity="Low")
    second = log(finding="Second", severity="Critical")
    expect(page.get_by_role("link", name="First")).to_be_visible(timeout=PATIENCE_MS)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/reviews/?finding={second.pk}")
    page.keyboard.press("Tab")  # from the document into the page's first control
    page.get_by_label("Reason", exact=True).focus()
    page.keyboard.type("Fixed")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"R-{second.pk} resolved")).to_be_visible()
    assert Review.objects.get(pk=second.pk).resolution == "resolved"


def test_the_gate_answers_for_a_pasted_diff(page: Page, server: str) -> None:
    log(diff_hash=diff_hash(DIFF.encode()), severity="High")
    page.goto(f"{server}/reviews/")
    page.get_by_text("Paste a diff").click()
    page.get_by_label("The output of").fill(DIFF)
    page.get_by_role("button", name="Check this diff").click()
    expect(page.get_by_text("1 High open on")).to_be_visible()


def test_a_commit_is_held_back_until_its_findings_are_resolved_on_the_page(
    page: Page, server: str, tmp_path: Path
) -> None:
    repository = Repository(tmp_path, server, factories.token("write")[1])
    assert repository.gate("--install").code == 0
    key = repository.stage("app.py", b"print(1)\n")
    rows = [log(diff_hash=key, severity=severity, finding=severity) for severity in ("Critical", "High")]
    blocked = repository.git("commit", "-qm", "first")
    assert (blocked.code != 0, repository.commits) == (True, 0)
    # The line that git shows names the page with what holds the commit back.
    page.goto(re.findall(r"http://\S+", blocked.told)[0])
    for row in rows:
        page.get_by_label(f"Choose R-{row.pk}").check()
    page.get_by_label("Reason for all chosen").fill("It is meant to print")
    page.locator("#bulk").get_by_role("button", name="Resolve").click()
    expect(page.get_by_text("2 findings resolved")).to_be_visible()
    passed = repository.git("commit", "-qm", "first")
    assert (passed.code, repository.commits) == (0, 1), passed.told


def test_what_a_person_writes_arrives_where_agents_read(page: Page, server: str) -> None:
    factories.session("s-1", title="Refunds")
    page.goto(f"{server}/messages/new/?session=s-1")
    page.get_by_label("For whom").fill("tester")
    page.get_by_label("Message", exact=True).fill("Run the **suite**.")
    page.get_by_role("button", name="Send it").click()
    expect(page.locator("h1")).to_have_text("Hand-off to tester")
    page.goto(f"{server}/reviews/new/")
    page.get_by_label("Target").fill("app.py:3")
    page.get_by_label("Finding", exact=True).fill("No lock.")
    page.get_by_role("button", name="Log it").click()
    expect(page.locator("h1")).to_have_text("No lock.")
    page.goto(f"{server}/plans/new/?session=s-1")
    page.get_by_label("Path").fill("docs/a.plan.md")
    page.get_by_label("Plan", exact=True).fill("# Refunds\n- [ ] one")
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("link", name="New version").click()
    page.get_by_label("Plan", exact=True).fill("# Refunds\n- [x] one")
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_text("2 versions")).to_be_visible()


@pytest.mark.parametrize("width", [1440, 390])
def test_pages_are_accessible_and_agent_text_does_nothing(page: Page, server: str, width: int) -> None:
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    review = log(
        finding=EVIL * 3,
        target=EVIL,
        reviewer_agent=EVIL,
        suggested_fix=EVIL,
        code_context="@@ -1 +1 @@\n+" + EVIL,
        diff_hash=diff_hash(DIFF.encode()),
    )
    log(diff_hash=diff_hash(DIFF.encode()), suggested_fix="x = 1;\n" * 200)
    page.set_viewport_size({"width": width, "height": 900})
    for path in ("/reviews/", "/reviews/?order=diff", f"/reviews/{review.pk}/", "/reviews/trends/"):
        page.goto(server + path)
        found = Axe().run(page).response["violations"]
        assert [(path, one["id"], one["nodes"][0]["html"]) for one in found] == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    assert asked == []
