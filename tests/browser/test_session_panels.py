"""A session's panels in a real browser: zoom of the waterfall, attempts switched, a file's diffs opened."""

import re

from playwright.sync_api import Page, expect

from sessions_app.models import Run
from tests.sessions import deliveries
from tests.teller import started

SECOND = 1_000_000


def shown(page: Page) -> tuple[int, int]:
    chart = page.locator("#waterfall")
    return int(chart.get_attribute("data-from") or 0), int(chart.get_attribute("data-to") or 0)


def test_a_waterfall_is_zoomed_by_drag_keys_buttons_and_address(page: Page, server: str) -> None:
    tell = started("one", 30)
    for _ in range(3):
        tell.prompt("Go")
        for _ in range(10):
            tell.call("Bash", {"command": "pytest"}, "ok", seconds=8)
        tell.answer("done")
    tell.end(status="closed", activity="ended")
    page.goto(f"{server}/sessions/one/waterfall/")
    start, end = shown(page)
    box = page.locator("tr.wf-lane svg").first.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.25, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=4)
    expect(page.locator(".wf-mark")).to_be_visible()
    page.mouse.move(box["x"] + box["width"] * 0.75, middle, steps=4)
    page.mouse.up()
    page.wait_for_url(re.compile(r"from=\d+&to=\d+"))
    expect(page.locator("#waterfall")).not_to_have_attribute("data-from", str(start))
    left, right = shown(page)
    half = (end - start) // 2
    assert abs((right - left) - half) < half // 10
    assert page.url.endswith(f"from={left}&to={right}")
    # Keys press the buttons; the address says what is shown, and Back goes back.
    page.keyboard.press("+")
    expect(page.locator("#waterfall")).not_to_have_attribute("data-from", str(left))
    closer = shown(page)
    assert closer[1] - closer[0] < right - left
    page.keyboard.press("ArrowRight")
    expect(page.locator("#waterfall")).not_to_have_attribute("data-from", str(closer[0]))
    page.reload()
    assert shown(page)[0] > closer[0]
    page.get_by_role("link", name="Whole session").click()
    expect(page.locator("#waterfall")).to_have_attribute("data-from", str(start))
    page.go_back()
    expect(page.locator("#waterfall")).not_to_have_attribute("data-from", str(start))
    page.get_by_role("link", name="Turn 2", exact=True).click()
    page.wait_for_url(re.compile(r"turn=2"))
    # A bar leads to its row in the timeline, and the row is open.
    page.locator("tr.wf-lane svg a[href*='#c-']").first.click()
    page.wait_for_url(re.compile(r"/sessions/one/\?at=\d+#c-\d+"))
    expect(page.locator("details[open] .call-part").first).to_be_visible()


def test_attempts_are_switched_in_place_and_a_call_opens(page: Page, server: str) -> None:
    tell = started("one", 30)
    tell.prompt("Try it")
    tell.call("Bash", {"command": "first try"}, "all is well")
    tell.answer("The first answer")
    assert tell.turn
    Run.objects.create(
        session=tell.session, turn=tell.turn, number=2, invocation_id="r2", status="completed",
        started_us=tell.at_us, ended_us=tell.at_us + SECOND, answer="The second answer",
    )  # fmt: skip
    tell.prompt("And then")
    tell.end()
    page.goto(f"{server}/sessions/one/transcript/")
    turn = page.locator("#t-1")
    expect(turn.get_by_text("2 / 2")).to_be_visible()
    expect(turn.get_by_text("The second answer")).to_be_visible()
    turn.get_by_role("link", name="The attempt before").click()
    expect(turn.get_by_text("1 / 2")).to_be_visible()
    expect(turn.get_by_text("The first answer")).to_be_visible()
    turn.get_by_text("first try").click()
    expect(turn.get_by_text("all is well")).to_be_visible()
    expect(page.locator("#prompts").get_by_text("And then")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("[data-row].here")).to_have_count(1)


def test_a_file_opens_its_diffs(page: Page, server: str) -> None:
    for number, (old, new) in enumerate((("one", "two"), ("two", "three"))):
        asked = {"file_path": "/src/moss/a.py", "old_string": old, "new_string": new}
        for event in ("PreToolUse", "PostToolUse"):
            body = deliveries.tool(event, f"t{number}", "Edit", tool_input=asked)
            deliveries.deliver(deliveries.seen(body))
    page.goto(f"{server}/sessions/s1/files/")
    page.locator(".file-row").click()
    expect(page.locator(".files tr.del td:last-child")).to_have_text(["one", "two"])
    expect(page.locator(".files tr.add td:last-child")).to_have_text(["two", "three"])


def test_a_link_to_a_folded_row_opens_the_fold(page: Page, server: str) -> None:
    tell = started("one", 30)
    tell.prompt("Look around")
    calls = [tell.call("Read", {"file_path": f"/file-{number}"}, "x") for number in range(6)]
    for _ in range(4):
        tell.call("Bash", {"command": "make"}, "ok")
    tell.answer("done")
    tell.end()
    page.goto(f"{server}/sessions/one/")
    expect(page.get_by_text("6 reads")).to_be_visible()
    expect(page.get_by_text("/file-3")).to_be_hidden()
    page.goto(f"{server}/sessions/one/?at={calls[3].started_us}#c-{calls[3].key}")
    expect(page.locator(f"#c-{calls[3].key} code")).to_be_visible()
    expect(page.locator("#overview svg rect").first).to_be_visible()
