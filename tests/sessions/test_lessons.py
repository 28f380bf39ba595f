import pytest

from contextdash.actor import SYSTEM
from contextdash.models import Change
from sessions_app.models import Mistake
from sessions_app.queries.lessons import lesson
from sessions_app.queries.mistakes import overview
from sessions_app.services.mistakes import change_mistake, log_mistake
from tests import factories

pytestmark = pytest.mark.django_db


def mistake(summary="Nullable read in retry budget!", **values):
    return log_mistake(agent_name="tester", summary=summary, category="test", actor=SYSTEM, **values)


def test_a_lesson_that_is_written_gets_a_file_name_and_is_counted():
    made = mistake()
    assert overview(None).without_lesson == 1
    change_mistake(
        mistake=made, values={"lesson_md": "Guard **every** read."}, actor=SYSTEM, reason="Learned"
    )
    assert made.lesson_file == f".github/Lessons/{made.ts:%Y-%m-%d}-nullable-read-in-retry-budget.md"
    assert overview(None).without_lesson == 0
    assert set(Change.objects.values_list("field", flat=True)) == {"lesson_md", "lesson_file"}


def test_a_lesson_that_has_a_file_keeps_it():
    made = mistake(lesson_file="lessons/mine.md", lesson_md="Guard.")
    assert made.lesson_file == "lessons/mine.md"


@pytest.mark.parametrize("summary", ["../../etc/passwd", "修改", "a/b\\c\0", "x" * 500])
def test_a_file_name_is_never_a_path_out_of_its_folder(summary):
    name = mistake(summary, lesson_md="x").lesson_file.removeprefix(".github/Lessons/")
    assert "/" not in name
    assert ".." not in name
    assert len(name) < 60


def test_the_file_holds_what_agents_look_for():
    session = factories.session("s1")
    text = lesson(
        mistake(root_cause="No guard", fix="Guarded", lesson_md="Guard every read.", session=session)
    )
    for line in (
        "- Status: active",
        "- PatternVersion: 1",
        "- Session: s1",
        "No guard",
        "Guarded",
        "Guard every read.",
    ):
        assert line in text
    assert "Not written down yet." in lesson(mistake())


def test_a_lesson_is_written_in_the_page_and_downloaded(page):
    made = mistake()
    sent = {
        "summary": made.summary,
        "category": "test",
        "agent_name": "tester",
        "lesson_md": "# Guard\n\n**every** read",
    }
    page.post(f"/mistakes/{made.pk}/change/", sent | {"reason": "Learned", "version": "1"})
    body = page.get(f"/mistakes/{made.pk}/").content.decode()
    assert "<strong>every</strong>" in body
    answer = page.get(f"/mistakes/{made.pk}/lesson.md")
    assert "**every** read" in answer.content.decode()
    assert answer["Content-Disposition"].endswith('-nullable-read-in-retry-budget.md"')


def test_programs_write_and_read_lessons(api):
    made = api.post("mistakes", agent_name="tester", summary="One", lesson_md="Two").json()
    assert made["lesson_md"] == "Two"
    assert made["lesson_file"].endswith("-one.md")
    changed = api.patch(f"mistakes/{made['id']}", lesson_md="Three", reason="Better")
    assert changed.json()["lesson_file"] == made["lesson_file"]
    assert "Three" in api.get(f"mistakes/{made['id']}/lesson").content.decode()


def test_a_form_can_be_filled_from_a_failed_call(page):
    factories.session("s1")
    query = {"session": "s1", "agent_name": "tester", "summary": "Bash failed: exit 1 <script>"}
    body = page.get("/mistakes/new/", query).content.decode()
    assert "Bash failed: exit 1 &lt;script&gt;" in body
    assert 'value="s1"' in body
    assert not Mistake.objects.exists()
