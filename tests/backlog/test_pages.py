import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from backlog_app.models import BacklogItem, Criterion
from backlog_app.queries import history
from backlog_app.queries.filters import Filters
from backlog_app.queries.stories import in_list
from backlog_app.services import sprints
from backlog_app.services.moving import move_story
from backlog_app.services.relations import link_story
from backlog_app.services.stories import change_story
from contextdash.actor import SYSTEM
from reviews_app.services.reviews import log_review, set_resolution
from tests.backlog.factory import column, story

pytestmark = pytest.mark.django_db
HOSTILE = (
    '<b>bold</b><img src="x" onerror="alert(\'testing\')"><script>alert(1)</script> '
    "\x1b[31mFAIL\x1b[0m [x](javascript:alert(1))"
)
PAGES = [
    "/board/",
    "/board/?lane=agent",
    "/board/?lane=priority&agent=-&priority=3&sprint=current&text=money&moved=today",
    "/board/?sprint=²&page=²&priority=x&project=nowhere&epic=x&label=x&status=odd&lane=x&undo=²",
    "/board/moves/?before=²",
    "/board/moves/",
    "/board/limits/",
    "/board/flow/",
    "/board/list/",
    "/board/sprints/",
    "/board/stories/new/",
]


@pytest.mark.parametrize("address", PAGES)
def test_every_page_says_something_when_there_is_nothing_yet(page: Client, address: str) -> None:
    assert page.get(address).status_code == 200


def test_hostile_text_is_shown_as_text_on_every_page(page: Client) -> None:
    card = story(
        HOSTILE, acceptance_criteria=HOSTILE, assigned_agent=HOSTILE, labels=["<script>"], status="todo"
    )
    story(HOSTILE, status=HOSTILE)
    story(HOSTILE, priority=HOSTILE)
    move_story(story_id=card.pk, to_status="blocked", reason=HOSTILE, actor=SYSTEM)
    sprint = sprints.create_sprint(name=HOSTILE, goal=HOSTILE, actor=SYSTEM)
    sprints.start_sprint(sprint_id=sprint.pk, actor=SYSTEM)
    for address in [
        *PAGES,
        f"/board/stories/{card.pk}/",
        f"/board/sprints/{sprint.pk}/",
    ]:
        body = page.get(address).content.decode()
        for poison in ("<script>alert", '<img src="x"', 'href="javascript:'):
            assert poison not in body, (address, poison)
        # A form alone keeps the escapes, since it gives back what it was given.
        assert "\x1b" not in body.split('<details class="bulk"')[0], address


def test_a_board_answers_204_until_something_changes(page: Client) -> None:
    card = story()
    first = page.get("/board/")
    version = first.headers["X-Version"]
    assert page.get("/board/", {"v": version}).status_code == 204
    move_story(story_id=card.pk, to_status="review", actor=SYSTEM)
    news = page.get("/board/", {"v": version}, headers={"HX-Request": "true"})
    assert news.status_code == 200
    assert b"<html" not in news.content
    assert b'data-column="review"' in news.content


def test_a_finding_that_holds_a_card_up_is_news_for_the_board(page: Client) -> None:
    card = story()
    digest = "a" * 64
    link_story(story_id=card.pk, kind="diff", ref=digest, actor=SYSTEM)
    version = page.get("/board/").headers["X-Version"]
    finding = log_review(target="src/a.py", severity="High", finding="Bad.", diff_hash=digest, actor=SYSTEM)
    news = page.get("/board/", {"v": version})
    assert f"R-{finding.pk} is High and open" in news.text
    set_resolution(review=finding, to="resolved", reason="Mended.", actor=SYSTEM)
    gone = page.get("/board/", {"v": news.headers["X-Version"]})
    assert "is High and open" not in gone.text


def test_a_column_over_its_limit_says_so_and_refuses_nothing(page: Client) -> None:
    page.post("/board/limits/", {"in_progress": "1"})
    for _ in range(2):
        story(status="in_progress")
    body = page.get("/board/").content.decode()
    assert "2 of 1" in body
    assert "over the limit" in body
    assert page.post("/board/limits/", {"in_progress": "0"}).status_code == 422


def test_a_move_by_form_goes_back_and_a_bare_one_names_the_version(page: Client) -> None:
    a, b = story(), story()
    assert page.post(f"/board/stories/{b.pk}/move/", {"to": "review", "version": 1}).status_code == 302
    bare = page.post(
        f"/board/stories/{a.pk}/move/",
        {"to": "review", "before": b.pk, "version": 1, "bare": 1},
        headers={"HX-Request": "true"},
    )
    assert (bare.status_code, bare.headers["X-Story-Version"]) == (204, "2")
    assert column("review") == [a.pk, b.pk]
    page.post(f"/board/stories/{a.pk}/move/", {"where": "down", "version": 2})
    assert column("review") == [b.pk, a.pk]
    page.post(f"/board/stories/{a.pk}/move/", {"where": "bottom", "version": 3})
    stale = page.post(
        f"/board/stories/{a.pk}/move/", {"to": "done", "version": 1}, headers={"HX-Request": "true"}
    )
    assert stale.status_code == 412
    assert b"at version 3, in In review" in stale.content


def test_ticks_of_a_page_that_is_old_untick_nothing(page: Client) -> None:
    card = story(acceptance_criteria="- one\n- two")
    one, two = Criterion.objects.filter(story=card)
    page.post(f"/board/stories/{card.pk}/criteria/", {"met": [one.pk]})
    page.post(f"/board/stories/{card.pk}/criteria/", {"met": [two.pk]})
    one.refresh_from_db()
    assert one.met_by == "mia"
    page.post(f"/board/stories/{card.pk}/criteria/", {"shown": [one.pk, two.pk], "met": [two.pk]})
    card.refresh_from_db()
    assert (card.criteria_met, card.criteria_total) == (1, 2)


def test_editing_criteria_keeps_the_ticks_of_lines_that_stay(page: Client) -> None:
    card = story(acceptance_criteria="- one\n- two\n- [x] three")
    two = Criterion.objects.get(story=card, text="two")
    page.post(f"/board/stories/{card.pk}/criteria/", {"shown": [], "met": [two.pk]})
    form = {"story": "s", "acceptance_criteria": "- two\n- three\n- four", "status": "todo", "priority": "3"}
    assert page.post(f"/board/stories/{card.pk}/edit/", {**form, "version": 1}).status_code == 302
    rows = Criterion.objects.filter(story=card).values_list("position", "text", "met_by")
    assert list(rows) == [(1, "two", "mia"), (2, "three", "contextdash"), (3, "four", "")]
    again = page.post(f"/board/stories/{card.pk}/edit/", {**form, "story": "late", "version": 1})
    assert again.status_code == 422
    assert b"Somebody changed this" in again.content
    assert b'name="version" value="1"' in again.content


def test_a_new_story_is_written_and_a_bad_one_keeps_what_was_typed(page: Client) -> None:
    bad = page.post("/board/stories/new/", {"story": "", "status": "todo", "priority": "2", "labels": "x"})
    assert bad.status_code == 422
    good = {
        "story": "A new one",
        "status": "todo",
        "priority": "2",
        "labels": "api, refunds",
        "estimate": "3",
    }
    assert page.post("/board/stories/new/", good).status_code == 302
    made = BacklogItem.objects.get()
    assert (made.labels, made.estimate, made.priority) == (["api", "refunds"], 3, 2)


def test_a_deleted_story_can_be_brought_back_from_where_one_lands(page: Client) -> None:
    card = story("Gone too early")
    answer = page.post(f"/board/stories/{card.pk}/delete/", {"reason": "oops", "version": 1}, follow=True)
    assert b"Gone too early" in answer.content
    assert b"Undo" in answer.content
    assert column() == []
    page.post(f"/board/stories/{card.pk}/restore/")
    assert column() == [card.pk]


def test_links_comments_and_dependencies_are_made_on_the_page(page: Client) -> None:
    card, other = story(), story("The other one")
    at = f"/board/stories/{card.pk}"
    page.post(f"{at}/links/", {"kind": "story", "ref": f"S-{other.pk}"})
    page.post(f"{at}/links/", {"kind": "diff", "ref": "b" * 64})
    page.post(f"{at}/comments/", {"body": "looks *good*"})
    body = page.get(f"{at}/").content.decode()
    assert "The other one" in body
    assert "<em>good</em>" in body
    assert "not here yet" in body
    page.post(f"{at}/links/remove/", {"blocked_by": other.pk})
    assert not card.dependencies.exists()
    assert page.post(f"{at}/links/", {"kind": "diff", "ref": "short"}).status_code == 422
    assert page.post(f"{at}/links/", {"kind": "story", "ref": "x"}).status_code == 422


def test_pasted_lines_become_stories_in_order(page: Client) -> None:
    page.post("/board/list/paste/", {"lines": "- first\n\n* second\nthird  \n"})
    assert [BacklogItem.objects.get(pk=pk).story for pk in column()] == ["first", "second", "third"]


def test_many_are_changed_at_once_and_a_stale_one_is_left_alone(page: Client) -> None:
    a, b, c = story(), story(), story()
    move_story(story_id=c.pk, before_id=a.pk, actor=SYSTEM)
    answer = page.post(
        "/board/list/change/",
        {"story": [f"{a.pk}:1", f"{b.pk}:1", f"{c.pk}:1"], "status": "review", "add_label": "api"},
        follow=True,
    )
    assert column("review") == [a.pk, b.pk]
    assert column() == [c.pk]
    assert b"2 changed" in answer.content
    assert f"Story {c.pk}: Somebody changed this".encode() in answer.content
    a.refresh_from_db()
    assert a.labels == ["api"]
    page.post("/board/list/change/", {"story": [f"{c.pk}:2"], "delete": 1})
    assert column() == []


def test_csv_goes_out_harmless_and_comes_back_as_it_was(page: Client) -> None:
    formula = '=HYPERLINK("http://evil.example","x")'
    card = story(formula, acceptance_criteria='- a, "quoted"\n- two', labels=["x", "y"], priority=9)
    text = page.get("/board/list/export.csv").content.decode()
    assert "\"'=HYPERLINK" in text
    assert "\"'- a" in text
    upload = SimpleUploadedFile("s.csv", text.encode(), content_type="text/csv")
    answer = page.post("/board/list/import/", {"file": upload}, follow=True)
    assert b"1 as before" in answer.content
    card.refresh_from_db()
    assert (card.story, card.version, card.priority_sent) == (formula, 1, "9")


def test_csv_adds_changes_and_tells_of_bad_lines(page: Client) -> None:
    card = story("Old words")
    text = (
        "id,story,status,estimate,sprint,unknown\r\n"
        f"{card.pk},New words,review,3,,\r\n"
        ",Another one,odd state,,,\r\n"
        ",,todo,,,x\r\n"
        ",Bad points,todo,many,,\r\n"
        ",Bad sprint,todo,,Nowhere,\r\n"
        "999,No such,todo,,,\r\n"
    )
    answer = page.post("/board/list/import/", {"file": io.BytesIO(text.encode())}, follow=True)
    body = answer.content.decode()
    assert "1 added, 1 changed" in body
    for line in ("Line 4", "Line 5", "Line 6", "Line 7"):
        assert line in body
    card.refresh_from_db()
    assert (card.story, card.status, card.estimate) == ("New words", "review", 3)
    assert page.post("/board/list/import/", {"file": io.BytesIO(b"a,b\r\n1,2")}).status_code == 422
    assert page.post("/board/list/import/", {"file": io.BytesIO(b'story\r\n"open')}).status_code == 422


def test_viewers_see_and_change_nothing(viewer: object) -> None:
    card = story()
    client = Client()
    client.force_login(viewer)  # type: ignore[arg-type]
    board = client.get("/board/")
    assert board.status_code == 200
    for offered in ('class="mv"', "move menu", "new story", "move to a column"):
        assert offered not in board.content.decode()
    assert client.post(f"/board/stories/{card.pk}/move/", {"to": "done"}).status_code == 403
    assert client.post("/board/stories/new/", {"story": "x"}).status_code == 403
    assert client.post("/board/limits/", {}).status_code == 403
    assert client.post("/board/sprints/", {"name": "x"}).status_code == 403


@pytest.fixture
def full_board() -> None:
    """500 open stories with criteria, agents, links and a sprint; 60 done."""
    from tests.backlog.big import fill

    fill()


def test_a_full_board_costs_few_queries_and_bytes(
    page: Client, full_board: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    page.get("/board/")
    with django_assert_max_num_queries(30):
        answer = page.get("/board/")
    assert answer.content.count(b'<li class="card"') >= 500
    assert len(answer.content) <= 300_000
    with django_assert_max_num_queries(4):
        assert page.get("/board/", {"v": answer.headers["X-Version"]}).status_code == 204
    with django_assert_max_num_queries(20):
        page.post(f"/board/stories/{column()[0]}/move/", {"to": "review", "version": 1, "bare": 1})


def test_a_story_of_megabytes_makes_no_page_heavy(page: Client) -> None:
    huge = "line of a very long story\n" * 200_000
    card = story(huge, acceptance_criteria=huge, session_id="s1")
    page.post(f"/board/stories/{card.pk}/comments/", {"body": huge})
    page.post(f"/board/stories/{card.pk}/edit/", {"story": "x" + huge, "status": "todo", "priority": "3"})
    for address in [
        "/board/",
        "/board/list/",
        "/board/moves/",
        f"/board/stories/{card.pk}/",
        "/sessions/s1/backlog/",
    ]:
        assert len(page.get(address).content) < 200_000, address


def test_the_list_and_a_story_cost_few_queries(
    page: Client, full_board: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    first = column()[0]
    for address, most in (("/board/list/", 24), (f"/board/stories/{first}/", 36), ("/board/moves/", 14)):
        with django_assert_max_num_queries(most):
            assert page.get(address).status_code == 200


def test_the_history_is_told_in_peoples_words(page: Client) -> None:
    sprint = sprints.create_sprint(name="Sprint 9", actor=SYSTEM)
    card = story()
    change_story(
        story_id=card.pk,
        values={"labels": ["api", "pay"], "priority": "9", "sprint_id": sprint.pk, "estimate": 3},
        actor=SYSTEM,
    )
    change_story(story_id=card.pk, values={"story": "Other words", "assigned_agent": "tester"}, actor=SYSTEM)
    change_story(story_id=card.pk, values={"sprint_id": None, "labels": []}, actor=SYSTEM)
    assert [entry.what for entry in history.of_story(card.pk)] == [
        "Labels api, pay removed",
        "Sprint Sprint 9 removed",
        "Agent set to tester",
        "Story edited",
        "Estimate set to 3",
        "Sprint set to Sprint 9",
        "Priority as sent set to 9",
        "Priority 3 to 5",
        "Labels set to api, pay",
        "Written down in To do",
    ]


def test_the_list_goes_on_from_page_to_page_across_columns() -> None:
    stories = [story(status=status) for status in ("done", "todo", "blocked", "odd", "todo", "done", "done")]
    whole, more = in_list(Filters(), limit=100, offset=0)
    assert len(whole) == len(stories)
    assert not more
    assert [row.status for row in whole] == ["todo", "todo", "blocked", "done", "done", "done", "odd"]
    for size in (1, 2, 3, 5):
        told: list[int] = []
        for offset in range(0, len(stories), size):
            rows, more = in_list(Filters(), limit=size, offset=offset)
            assert more == (offset + size < len(stories))
            told += [row.pk for row in rows]
        assert told == [row.pk for row in whole]
    assert in_list(Filters(), limit=5, offset=50) == ([], False)
