import pytest

from contextdash import clock
from contextdash.actor import SYSTEM
from sessions_app.models import Plan
from sessions_app.services.plans import snapshot_plan
from tests import factories

FRAGMENT = {"HX-Request": "true"}

pytestmark = pytest.mark.django_db

HOSTILE = '<img src="x" onerror="alert(1)"><script>alert(1)</script> [x](javascript:alert(1)) \x1b[31mRED'


def plan(body="# Refunds\n\n- [x] one\n- [ ] two\n", **values):
    given = {"session": "s1", "title": None, "path": "docs/refunds.plan.md", "body": body, "actor": SYSTEM}
    return snapshot_plan(**(given | values))


def test_the_list_has_one_entry_a_path_with_its_newest_version(page):
    plan()
    newest = plan("# Refunds, better")
    other = plan(path="docs/other.plan.md")
    rows = [row for day in page.get("/plans/").context["days"] for row in day.rows]
    assert [row.pk for row in rows] == [other.pk, newest.pk]


def test_the_list_never_reads_a_body(page, django_assert_max_num_queries):
    for number in range(60):
        plan(path=f"docs/{number}.plan.md", session=f"s{number % 9}")
    page.get("/plans/")
    with django_assert_max_num_queries(7) as seen:
        answer = page.get("/plans/", headers=FRAGMENT)
    assert answer.context["next_url"]
    assert not any("body_md" in query["sql"] for query in seen.captured_queries)


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ({"state": "done"}, ["Other"]),
        ({"agent": "tester"}, ["Other"]),
        ({"q": "REFUNDS"}, ["Refunds"]),
        ({"session": "s2"}, ["Other"]),
        ({"project": "nowhere"}, []),
    ],
)
def test_filters_are_in_the_address(page, query, titles):
    plan()
    plan("# Other", path="other.md", status="done", created_by="tester", session="s2")
    rows = [row for day in page.get("/plans/", query).context["days"] for row in day.rows]
    assert [row.title for row in rows] == titles


def test_plans_of_a_deleted_session_are_not_shown(page):
    made = plan()
    made.session.deleted_at = clock.now()
    made.session.save()
    assert b"No plan yet" in page.get("/plans/").content
    assert page.get(f"/plans/{made.pk}/").status_code == 404


def test_a_plan_is_rendered_with_its_progress_and_versions(page, django_assert_max_num_queries):
    plan("# Old")
    made = plan()
    with django_assert_max_num_queries(8):
        body = page.get(f"/plans/{made.pk}/", headers=FRAGMENT).content.decode()
    assert "1 of 2" in body
    assert "Version 1" in body
    assert f"/plans/{made.pk}/?against=1" in body


@pytest.mark.parametrize("query", [{}, {"side": "1"}])
def test_two_versions_are_compared(page, query):
    old = plan("# Refunds\n\nsame\nUse a lock.\n")
    new = plan("# Refunds\n\nsame\nUse an index.\n")
    for shown, against in ((new, 1), (old, 2)):
        body = page.get(f"/plans/{shown.pk}/", {"against": against, **query}).content.decode()
        assert "Use a lock." in body
        assert "Use an index." in body
        assert "1 line added, 1 removed" in body


@pytest.mark.parametrize("against", ["9", "0", "99999999999", "x", "-1"])
def test_a_version_that_is_not_there_is_no_server_error(page, against):
    made = plan()
    assert page.get(f"/plans/{made.pk}/", {"against": against}).status_code in (200, 404)


def test_a_plan_of_five_megabytes_shows_its_first_part_and_all_of_it_on_request(page):
    made = plan("# Big\n\n" + "- [ ] a step of the plan\n" * 210_000 + "THE VERY END")
    first = page.get(f"/plans/{made.pk}/")
    assert len(first.content) < 1_000_000
    assert b"Show all of it" in first.content
    assert b"THE VERY END" not in first.content
    assert b"THE VERY END" in page.get(f"/plans/{made.pk}/", {"all": "1"}).content
    assert b"0 of 210,000" in first.content


def test_comparing_big_texts_is_quick_and_cut(page):
    plan("# Big\n" + "".join(f"old {number}\n" for number in range(60_000)))
    made = plan("# Big\n" + "".join(f"new {number}\n" for number in range(60_000)))
    answer = page.get(f"/plans/{made.pk}/", {"against": "1"})
    assert b"There are more changes" in answer.content
    assert len(answer.content) < 1_500_000


def test_a_status_is_changed_with_a_reason(page):
    made = plan()
    page.post(f"/plans/{made.pk}/status/", {"status": "approved", "reason": "Read on Monday"})
    assert Plan.objects.get().status == "approved"
    assert "Read on Monday" in page.get(f"/plans/{made.pk}/").content.decode()


@pytest.mark.parametrize("sent", [{"status": "done"}, {"reason": "x"}, {"status": "y" * 300, "reason": "x"}])
def test_a_status_without_reason_or_word_is_refused(page, sent):
    made = plan()
    assert page.post(f"/plans/{made.pk}/status/", sent).status_code == 422
    assert Plan.objects.get().version == 1


def test_hostile_text_is_text_on_every_page(page):
    made = plan(f"# {HOSTILE}\n\n{HOSTILE}", path=HOSTILE, created_by=HOSTILE[:150])
    new = plan(f"# {HOSTILE}\n\n{HOSTILE} more", path=HOSTILE)
    paths = (
        "/plans/",
        f"/plans/{made.pk}/",
        f"/plans/{new.pk}/?against=1",
        f"/plans/{new.pk}/?against=1&side=1",
    )
    for path in (*paths, "/sessions/s1/", "/sessions/s1/plans/"):
        body = page.get(path).content.decode()
        assert "<script>alert" not in body, path
        assert "<img src" not in body, path
        assert 'href="javascript' not in body, path
        assert "\x1b" not in body, path


def test_a_session_shows_its_plans_in_the_panel_and_the_timeline(page):
    made = plan()
    for path in ("/sessions/s1/plans/", "/sessions/s1/"):
        assert f"/plans/{made.pk}/" in page.get(path).content.decode(), path


def test_an_empty_panel_says_what_would_be_here(page):
    factories.session("s1")
    assert b"No plan in this session" in page.get("/sessions/s1/plans/").content


def test_a_person_writes_a_plan_and_a_new_version_of_it(page):
    factories.session("s1")
    told = {
        "path": "docs/a.md",
        "body_md": "# Refunds\r\n- [ ] one\r\n",
        "session": "s1",
        "status": "proposed",
    }
    assert page.post("/plans/write/", told).status_code == 302
    first = Plan.objects.get()
    assert (first.title, first.body_md, first.created_by) == ("Refunds", "# Refunds\n- [ ] one\n", "mia")
    form = page.get(f"/plans/new/?of={first.pk}").text
    assert "Write version 2" in form
    more = told | {"body_md": "# Refunds\r\n- [x] one\r\n", "seen": "1"}
    answer = page.post("/plans/write/", more)
    second = Plan.objects.get(newest=True)
    assert (answer["Location"], second.number, second.task_done) == (f"/plans/{second.pk}/", 2, 1)
    # Who began with a version that is not the newest any more is told so, and keeps what they typed.
    late = page.post("/plans/write/", told | {"body_md": "# Mine", "seen": "1"})
    assert late.status_code == 422
    assert "Version 2 was written in the meantime" in late.text
    assert "# Mine" in late.text
    assert Plan.objects.count() == 2
