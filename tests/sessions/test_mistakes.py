import pytest

from contextdash.actor import SYSTEM
from contextdash.models import Change
from sessions_app.models import Mistake, Session
from sessions_app.queries import mistakes as queries
from sessions_app.services.mistakes import cause_key, log_mistake
from tests import factories

FRAGMENT = {"HX-Request": "true"}

pytestmark = pytest.mark.django_db

HOSTILE = '<img src="x" onerror="alert(1)"><script>alert(1)</script> [x](javascript:alert(1)) \x1b[31mRED'


def mistake(summary="The fixture has whole seconds", **values):
    given = {
        "agent_name": "tester",
        "category": "test",
        "root_cause": "Times were compared.",
        "actor": SYSTEM,
    }
    return log_mistake(summary=summary, **(given | values))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Times were compared.", "times were compared", True),
        ("Timeout after 30 s", "Timeout after 45 s!", True),
        ("commit 3f9a2c1 broke it", "commit 77be01d broke it", True),
        ("Times were compared", "Keys were compared", False),
        ("修改了项目配置", "修改了项目", False),
    ],
)
def test_causes_are_the_same_when_only_numbers_case_and_punctuation_differ(one, other, same):
    assert (cause_key(one) == cause_key(other)) is same


@pytest.mark.parametrize("nothing", [None, "", "  ", "…!?"])
def test_no_cause_recurs_with_no_other(nothing):
    assert cause_key(nothing) == ""


def test_what_comes_back_most_without_a_lesson_is_first():
    for _ in range(3):
        mistake(lesson_file="lessons/a.md")
    for _ in range(2):
        mistake(root_cause="No guard")
    mistake(root_cause="Only once")
    found = queries.overview(None)
    assert [(cause.text, cause.count, cause.lesson) for cause in found.causes] == [
        ("No guard", 2, ""),
        ("Times were compared.", 3, "lessons/a.md"),
    ]
    assert (found.counted, found.without_lesson) == (6, 3)
    assert found.weeks[-1].count == 6
    assert len(found.weeks) == queries.WEEKS


def test_the_overview_is_of_the_project_that_is_asked_for():
    alpha = factories.project("Alpha")
    mistake(project=alpha)
    mistake()
    assert queries.overview("alpha").counted == 1


def test_an_empty_list_says_the_next_step(page):
    assert b"contextdash mistake" in page.get("/mistakes/").content


def test_the_list_costs_the_same_number_of_queries_for_one_and_for_a_page(
    page, django_assert_max_num_queries
):
    for number in range(40):
        mistake(f"mistake {number}", session=factories.session(f"s{number}"))
    page.get("/mistakes/")
    with django_assert_max_num_queries(8):
        assert page.get("/mistakes/", headers=FRAGMENT).status_code == 200


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"category": "build"}, ["b"]),
        ({"agent": "devops"}, ["b"]),
        ({"lesson": "none"}, ["a"]),
        ({"cause": cause_key("No guard")}, ["b"]),
        ({"q": "GUARD"}, ["b"]),
        ({"session": "s1"}, ["a"]),
        ({"cause": "nonsense"}, []),
    ],
)
def test_filters_are_in_the_address(page, query, found):
    mistake("a", session="s1")
    mistake("b", category="build", agent_name="devops", root_cause="No guard", lesson_file="x.md")
    rows = [row for day in page.get("/mistakes/", query).context["days"] for row in day.rows]
    assert [row.summary_start for row in rows] == found


def test_hostile_text_and_paths_are_text_on_every_page(page):
    made = mistake(
        HOSTILE,
        category=HOSTILE[:190],
        agent_name=HOSTILE[:190],
        root_cause=HOSTILE,
        fix=HOSTILE,
        lesson_file="../../etc/passwd " + HOSTILE,
        session="s1",
    )
    mistake(HOSTILE, root_cause=HOSTILE)
    for path in (
        "/mistakes/",
        f"/mistakes/{made.pk}/",
        f"/mistakes/{made.pk}/edit/",
        "/sessions/s1/",
        "/sessions/s1/mistakes/",
    ):
        body = page.get(path).content.decode()
        assert "<script>alert" not in body, path
        assert "<img src" not in body, path
        assert 'href="javascript' not in body, path
        assert 'href="../' not in body, path


def test_a_person_records_a_mistake_by_form(page):
    factories.session("s1")
    page.post(
        "/mistakes/record/",
        {"summary": "Pushed to main", "category": "publish", "agent_name": "mia", "session": "s1"},
    )
    made = Mistake.objects.get()
    assert (made.summary, made.root_cause, made.session_id) == ("Pushed to main", None, "s1")
    assert Session.objects.get().mistake_count == 1


def test_a_refused_form_keeps_its_values(page):
    answer = page.post(
        "/mistakes/record/", {"summary": "", "agent_name": "mia", "category": "x", "fix": "keep me"}
    )
    assert answer.status_code == 422
    assert b"keep me" in answer.content


def test_a_correction_has_its_reason_and_two_at_once_are_told(page):
    made = mistake()
    sent = {
        "summary": "Better words",
        "category": "test",
        "agent_name": "tester",
        "root_cause": "Times were compared.",
    }
    sent |= {"reason": "It was unclear", "version": "1"}
    assert page.post(f"/mistakes/{made.pk}/change/", sent).status_code == 302
    assert list(Change.objects.values_list("field", "reason")) == [("summary", "It was unclear")]
    again = page.post(f"/mistakes/{made.pk}/change/", sent | {"summary": "Worse words"})
    assert again.status_code == 422
    assert b"Somebody changed this" in again.content
    assert Mistake.objects.get().summary == "Better words"


def test_a_correction_without_a_reason_is_refused(page):
    made = mistake()
    sent = {"summary": "a", "category": "test", "agent_name": "t", "reason": "", "version": "1"}
    assert page.post(f"/mistakes/{made.pk}/change/", sent).status_code == 422


def test_a_mistake_shows_others_of_the_same_cause(page):
    made, other = mistake("one"), mistake("two", root_cause="TIMES were compared!")
    body = page.get(f"/mistakes/{made.pk}/").content.decode()
    assert f"/mistakes/{other.pk}/" in body
    assert "2 times" in body


def test_a_session_shows_its_mistakes_among_failures(page):
    made = mistake(session="s1")
    assert f"/mistakes/{made.pk}/" in page.get("/sessions/s1/mistakes/").content.decode()
    assert f"/mistakes/{made.pk}/" in page.get("/sessions/s1/").content.decode()
