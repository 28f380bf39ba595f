"""The team's memory in a real browser: hand-offs, plan versions, decisions that step back, lessons."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from contextdash.actor import SYSTEM
from sessions_app.models import Decision, Plan
from sessions_app.services.decisions import log_decision, mark_conflict
from sessions_app.services.messages import write_message
from sessions_app.services.mistakes import log_mistake
from sessions_app.services.plans import snapshot_plan

NEWS_MS = 3000
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def hand_over(content: str = "Run the replay suite") -> None:
    write_message(
        session_id="s1",
        agent_name="orchestrator",
        role="handoff",
        target="tester",
        content=content,
        actor=SYSTEM,
    )


def plan(body: str) -> Plan:
    return snapshot_plan(session="s1", title=None, path="refunds.plan.md", body=body, actor=SYSTEM)


def decide(choice: str, topic: str = "retry-policy") -> Decision:
    return log_decision(topic=topic, choice=choice, actor=SYSTEM)


def test_a_hand_off_arrives_while_looking_and_is_acknowledged(page: Page, server: str) -> None:
    page.goto(f"{server}/handoffs/")
    expect(page.get_by_role("heading", name="No hand-off waits")).to_be_visible()
    hand_over()
    expect(page.get_by_role("link", name="Run the replay suite")).to_be_visible(timeout=NEWS_MS)
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_role("heading", name="No hand-off waits")).to_be_visible()
    page.get_by_role("link", name="Acknowledged").click()
    expect(page.get_by_text("Acknowledged by olga")).to_be_visible()


def test_two_versions_of_a_plan_are_compared_inline_and_side_by_side(page: Page, server: str) -> None:
    plan("# Refunds\n\nUse a lock in Redis.\n\n- [ ] test\n")
    made = plan("# Refunds\n\nUse a unique index.\n\n- [x] test\n")
    page.goto(f"{server}/plans/")
    page.get_by_role("link", name="Refunds").click()
    page.get_by_role("link", name="compare with version 1").click()
    changes = page.get_by_role("region", name="Changes")
    expect(changes.locator(".del")).to_have_count(2)
    expect(changes.locator(".add").first).to_contain_text("Use a unique index.")
    page.get_by_role("link", name="Side by side").click()
    expect(changes.locator("td.was").nth(1)).to_contain_text("Use a lock in Redis.")
    assert page.url == f"{server}/plans/{made.pk}/?against=1&side=1"


def test_a_plan_moves_with_a_reason_that_stands_in_its_history(page: Page, server: str) -> None:
    made = plan("# Refunds\n")
    page.goto(f"{server}/plans/{made.pk}/")
    page.get_by_role("button", name="Change the status").click()
    page.get_by_role("radio", name="Approved").check()
    page.get_by_label("Reason").fill("Read with the team")
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_text("Read with the team")).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("Approved")


def test_a_decision_is_superseded_by_another_from_its_page(page: Page, server: str) -> None:
    earlier, later = decide("Retry for 72 hours"), decide("Stop after 24 hours")
    page.goto(f"{server}/decisions/{later.pk}/")
    page.get_by_role("button", name="Superseded by this one").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("The queue starves")
    dialog.get_by_role("button", name="Supersede").click()
    expect(page).to_have_url(f"{server}/decisions/{earlier.pk}/")
    expect(page.locator(".facts")).to_contain_text(f"Superseded by D-{later.pk}")
    page.goto(f"{server}/decisions/")
    page.get_by_text("Supersedes 1 earlier decision").click()
    expect(page.get_by_role("listitem").get_by_role("link", name="Retry for 72 hours")).to_be_visible()


def test_a_conflict_is_settled_with_the_keyboard_alone(page: Page, server: str) -> None:
    one, two = decide("Retry for 72 hours"), decide("Stop after 24 hours")
    mark_conflict(decisions=[one, two], actor=SYSTEM, reason="Both are in force")
    page.goto(f"{server}/decisions/")
    page.get_by_role("button", name=f"Keep D-{one.pk}").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("Support calls cost more")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("contradict each other")).to_have_count(0)
    two.refresh_from_db()
    assert (two.status, two.superseded_by_id) == ("superseded", one.pk)


def test_a_decision_that_is_refused_keeps_what_was_typed(page: Page, server: str, errors: list[str]) -> None:
    page.goto(f"{server}/decisions/new/")
    page.get_by_label("Topic").fill("mode")
    page.get_by_label("Choice").fill("Work orchestrated")
    page.get_by_label("Supersedes").fill("999")
    with page.expect_response("**/decisions/record/"):
        page.get_by_role("button", name="Record it").click()
    expect(page.get_by_text("there is no decision 999")).to_be_visible()
    errors.clear()
    expect(page.get_by_label("Choice")).to_have_value("Work orchestrated")
    page.get_by_label("Supersedes").fill("")
    page.get_by_role("button", name="Record it").click()
    expect(page.get_by_role("heading", name="Work orchestrated")).to_be_visible()


def test_a_lesson_is_written_and_the_mistake_is_learned_from(page: Page, server: str) -> None:
    for _ in range(2):
        made = log_mistake(
            agent_name="tester", summary="Times compared", root_cause="Whole seconds", actor=SYSTEM
        )
    page.goto(f"{server}/mistakes/")
    expect(page.get_by_role("region", name="Recurring causes")).to_contain_text("None yet")
    page.goto(f"{server}/mistakes/{made.pk}/")
    page.get_by_role("link", name="Write it").click()
    page.get_by_label("Lesson", exact=True).fill("Compare **keys**.")
    page.get_by_label("Why it is changed").fill("Third time")
    page.get_by_role("button", name="Save the correction").click()
    expect(page.locator(".prose strong")).to_have_text("keys")
    with page.expect_download() as download:
        page.get_by_role("link", name="As a file").click()
    assert download.value.suggested_filename.endswith("-times-compared.md")


@pytest.mark.parametrize(
    "path",
    [
        *("decisions/", "plans/", "mistakes/", "hooks/", "handoffs/", "decisions/new/", "mistakes/new/"),
        *("messages/new/", "plans/new/", "reviews/new/"),
    ],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_can_be_used_by_everyone(page: Page, server: str, path: str, scheme: str) -> None:
    hand_over()
    plan("# Refunds\n\n- [ ] test\n")
    mark_conflict(decisions=[decide("One"), decide("Two")], actor=SYSTEM)
    log_mistake(agent_name="tester", summary="Times compared", actor=SYSTEM)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{server}/{path}")
    found = Axe().run(page, options={"runOnly": STANDARDS})
    assert found.violations_count == 0, found.generate_report()
