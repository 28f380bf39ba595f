"""The board in real browsers: two at once, by drag, by keys alone, and for those who cannot see it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from backlog_app.models import BacklogItem, Criterion, Sprint
from backlog_app.services import relations, sprints
from backlog_app.services.moving import move_story
from backlog_app.services.stories import change_story
from contextdash.actor import SYSTEM
from contextdash.models import User
from tests import factories
from tests.backlog.big import fill
from tests.backlog.factory import column, story

type Opener = Callable[..., Page]
A_AND_AA = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}


@pytest.fixture
def open_page(
    browser: Browser,
    server: str,
    sign_in: Callable[[Page, User], None],
    errors: list[str],
) -> Iterator[Opener]:
    """``open_page("/board/")``: a browser of its own, signed in as a new member."""
    contexts: list[BrowserContext] = []

    def opened(path: str, **options: Any) -> Page:
        options.setdefault("viewport", {"width": 1440, "height": 900})
        context = browser.new_context(base_url=server, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        sign_in(page, factories.user())
        page.goto(path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


def card(page: Page, pk: int) -> str:
    return f'.card[data-row="{pk}"]'


def shown(page: Page, status: str) -> list[int]:
    found = page.locator(f'[data-column="{status}"] > .card').evaluate_all(
        "all => all.map(one => one.dataset.row)"
    )
    return [int(one) for one in found]


def drag(page: Page, pk: int, onto: str) -> None:
    """By the pointer, in small steps as a hand does."""
    grip = page.locator(f"{card(page, pk)} .mono").first.bounding_box()
    target = page.locator(onto).bounding_box()
    assert grip is not None
    assert target is not None
    page.mouse.move(grip["x"] + 5, grip["y"] + 5)
    page.mouse.down()
    page.mouse.move(grip["x"] + 20, grip["y"] + 15, steps=4)
    page.mouse.move(target["x"] + target["width"] / 2, target["y"] + target["height"] / 2, steps=12)
    page.mouse.move(target["x"] + target["width"] / 2 + 2, target["y"] + target["height"] / 2 + 2, steps=3)
    page.mouse.up()


def test_a_drag_in_one_browser_appears_in_the_other(open_page: Opener) -> None:
    a, b, c = story("First"), story("Second"), story("Third")
    one, two = open_page("/board/"), open_page("/board/")
    drag(one, b.pk, '[data-column="review"]')
    expect(two.locator(f'[data-column="review"] {card(two, b.pk)}')).to_be_visible()
    drag(two, c.pk, card(two, a.pk))
    one.locator("h1").hover()
    expect(one.locator('[data-column="todo"] > .card').first).to_have_attribute("data-row", str(c.pk))
    assert column() == [c.pk, a.pk]
    assert shown(one, "review") == shown(two, "review") == [b.pk]


def test_conflicting_moves_settle_and_the_second_is_told(open_page: Opener) -> None:
    a = story("Contested")
    one, two = open_page("/board/"), open_page("/board/")
    # The second browser does not hear of the first one's move before it makes its own.
    two.route("**/board/?*v=*", lambda route: route.abort())
    move_story(story_id=a.pk, to_status="review", actor=SYSTEM)
    two.locator(card(two, a.pk)).locator("h3 a").focus()
    two.keyboard.press("5")
    expect(two.locator(".toast")).to_contain_text("in In review, now")
    two.unroute("**/board/?*v=*")
    for page in (one, two):
        expect(page.locator(f'[data-column="review"] {card(page, a.pk)}')).to_be_visible()
    assert column("done") == []


def test_a_card_stays_under_the_pointer_until_it_leaves(open_page: Opener) -> None:
    first, second = story("Moves away"), story("Is pointed at")
    page = open_page("/board/")
    page.locator(card(page, second.pk)).hover()
    move_story(story_id=first.pk, to_status="done", actor=SYSTEM)
    page.wait_for_timeout(2500)
    assert shown(page, "todo") == [first.pk, second.pk]
    page.locator("h1").hover()
    expect(page.locator('[data-column="todo"] > .card')).to_have_count(1)
    assert shown(page, "done") == [first.pk]


def test_the_keyboard_alone_moves_a_card_everywhere(open_page: Opener) -> None:
    a, b = story("Upper"), story("Lower")
    page = open_page("/board/")
    page.keyboard.press("j")
    expect(page.locator(f"{card(page, a.pk)} h3 a")).to_be_focused()
    page.keyboard.press("Shift+J")
    expect(page.locator('[data-column="todo"] > .card').first).to_have_attribute("data-row", str(b.pk))
    expect(page.locator(f"{card(page, a.pk)} h3 a")).to_be_focused()
    page.keyboard.press("2")
    expect(page.locator(f'[data-column="in_progress"] {card(page, a.pk)}')).to_be_visible()
    page.keyboard.press("m")
    expect(page.locator(".card .menu .pop")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(f'[data-column="review"] {card(page, a.pk)}')).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#drawer.open h2.title")).to_have_text("Upper")
    page.keyboard.press("Escape")
    expect(page.locator("#drawer.open")).to_have_count(0)
    expect(page.locator(f"{card(page, a.pk)} h3 a")).to_be_focused()
    page.keyboard.press("h")
    expect(page.locator(f"{card(page, b.pk)} h3 a")).to_be_focused()
    assert (column("review"), column()) == ([a.pk], [b.pk])


def test_the_move_menu_works_by_pointer_and_gives_focus_back(open_page: Opener) -> None:
    a = story("By menu")
    page = open_page("/board/")
    page.get_by_role("link", name=f"Move S-{a.pk}").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name=f"Move S-{a.pk}")).to_be_focused()
    page.get_by_role("link", name=f"Move S-{a.pk}").click()
    page.locator(".card .menu button", has_text="Blocked").click()
    expect(page.locator(f'[data-column="blocked"] {card(page, a.pk)}')).to_be_visible()


def test_a_checklist_is_ticked_in_the_drawer_and_the_card_follows(open_page: Opener) -> None:
    a = story("With a list", acceptance_criteria="- GIVEN a key\n- THEN one refund")
    one, two = open_page("/board/"), open_page(f"/board/#story-{a.pk}")
    one.locator(f"{card(one, a.pk)} h3 a").click()
    one.get_by_label("THEN one refund").check()
    expect(one.locator(card(one, a.pk))).to_contain_text("1 of 2")
    expect(two.get_by_label("THEN one refund")).to_be_checked()
    assert Criterion.objects.get(story=a, position=2).met_at is not None
    assert one.url.endswith(f"#story-{a.pk}")
    one.go_back()
    expect(one.locator("#drawer.open")).to_have_count(0)


def test_a_comment_that_is_being_written_survives_news(open_page: Opener) -> None:
    a = story("Talked about")
    page = open_page(f"/board/#story-{a.pk}")
    page.get_by_label("Say something").fill("half a thought")
    page.locator("#drawer h2.title").click()
    move_story(story_id=a.pk, to_status="review", actor=SYSTEM)
    expect(page.locator(f'[data-column="review"] {card(page, a.pk)}')).to_be_visible()
    expect(page.get_by_label("Say something")).to_have_value("half a thought")
    page.get_by_role("button", name="Comment").click()
    expect(page.locator("#story .comment")).to_contain_text("half a thought")
    expect(page.get_by_label("Say something")).to_have_value("")
    expect(page.locator("#story")).to_contain_text("In review, place 1")


def test_a_sprint_runs_from_plan_to_close_with_the_right_numbers(open_page: Opener) -> None:
    page = open_page("/board/sprints/")
    page.get_by_label("Name").fill("Sprint 1")
    page.get_by_label("Goal").fill("Refunds are safe")
    page.get_by_role("button", name="Plan it").click()
    sprint = Sprint.objects.get()
    done, open_ = story(sprint_id=sprint.pk, estimate=3), story(sprint_id=sprint.pk, estimate=5)
    page.get_by_role("button", name="Start sprint").click()
    late = story("Came later", sprint_id=sprint.pk, estimate=2)
    move_story(story_id=done.pk, to_status="done", actor=SYSTEM)
    page.goto("/board/")
    expect(page.locator("h1")).to_have_text("Refunds are safe")
    expect(page.locator(".facts")).to_contain_text("3 of 10 points")
    expect(page.locator("#burn svg")).to_have_attribute(
        "aria-label", "Burn-down: 8 points at the start, 7 left on day 1 of 14."
    )
    page.goto(f"/board/sprints/{sprint.pk}/")
    page.get_by_role("button", name="Close sprint").click()
    page.get_by_label("Reason").fill("time is up")
    page.locator("dialog[open]").get_by_role("button", name="Close sprint").click()
    expect(page.locator(".toast")).to_contain_text("Sprint 1 closed, 2 unfinished moved on")
    page.locator("#burn-numbers summary").click()
    cells = page.locator("#burn-table tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"
    )
    assert cells == [["8", "—", "8"], ["10", "3", "7"]]
    for row in (open_, late):
        row.refresh_from_db()
        assert row.sprint_id is None


def test_a_board_works_without_script(open_page: Opener) -> None:
    a = story("Plain", acceptance_criteria="- one")
    page = open_page("/board/", java_script_enabled=False)
    page.get_by_role("link", name=f"Move S-{a.pk}").click()
    page.get_by_role("button", name="In review").click()
    expect(page.locator("#story")).to_contain_text("In review")
    page.get_by_role("checkbox", name="one").check()
    page.get_by_role("button", name="Save").dispatch_event("click")
    assert BacklogItem.objects.get().status == "review"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_of_the_board_is_free_of_axe_violations(open_page: Opener, scheme: str) -> None:
    sprint = sprints.create_sprint(name="Sprint 1", goal="Safe refunds", actor=SYSTEM)
    sprints.start_sprint(sprint_id=sprint.pk, actor=SYSTEM)
    a, b = story(sprint_id=sprint.pk, assigned_agent="tester", labels=["api"]), story(sprint_id=sprint.pk)
    change_story(story_id=b.pk, values={"status": "blocked"}, actor=SYSTEM, reason="keys expired")
    story("Odd", status="someday", priority="urgent")
    story(status="done", sprint_id=sprint.pk, acceptance_criteria="- [x] all")
    relations.add_dependency(story_id=a.pk, blocked_by_id=b.pk, actor=SYSTEM)
    relations.comment_on(story_id=a.pk, body="see `x`", actor=SYSTEM)
    relations.link_story(story_id=a.pk, kind="diff", ref="a" * 64, actor=SYSTEM)
    sprints.set_limit(status="blocked", stories=1, actor=SYSTEM)
    page = open_page("/board/", color_scheme=scheme)
    for address in (
        "/board/",
        f"/board/#story-{a.pk}",
        "/board/?lane=agent",
        "/board/?text=nothing",
        f"/board/stories/{a.pk}/",
        f"/board/stories/{a.pk}/edit/",
        "/board/stories/new/",
        "/board/list/",
        "/board/sprints/",
        f"/board/sprints/{sprint.pk}/",
        "/board/flow/",
        "/board/moves/",
        "/board/limits/",
    ):
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_load_state("networkidle")
        for details in page.locator("main details:not(.chip)").all():
            details.evaluate("one => { one.open = true }")
        found = Axe().run(page, options=A_AND_AA)
        assert found.violations_count == 0, (scheme, address, found.generate_report())


def test_a_long_column_of_done_stories_shows_the_newest_and_says_how_many_more(open_page: Opener) -> None:
    fill(open_stories=120, done=30)
    page = open_page("/board/")
    expect(page.locator('[data-column="done"] > .card')).to_have_count(20)
    expect(page.locator('[data-column="done"] ~ .more')).to_contain_text("10 more")
