import pytest

from contextdash.models import Change
from sessions_app.models import Mistake, Session

pytestmark = pytest.mark.django_db

MISTAKE = {
    "agent_name": "backend-developer",
    "category": "build",
    "summary": "Nullable warning treated as an error",
    "root_cause": "A nullable field was read without a guard, line 84.",
    "session_id": "s1",
}


def test_a_mistake_is_recorded_and_answers_with_its_id(api):
    made = api.post("mistakes", MISTAKE).json()
    assert isinstance(made["id"], int)
    assert (made["fix"], made["lesson_file"]) == (None, None)
    assert Session.objects.get(id="s1").mistake_count == 1


def test_causes_that_differ_in_numbers_and_punctuation_are_one(api):
    one = api.post("mistakes", MISTAKE).json()
    other = api.post(
        "mistakes", MISTAKE | {"root_cause": "a NULLABLE field was read without a guard (line 0x1f)"}
    ).json()
    assert one["cause_key"] == other["cause_key"] != ""
    assert len(api.get("mistakes", cause=one["cause_key"]).json()["items"]) == 2


def test_a_mistake_without_a_cause_recurs_with_nothing(api):
    assert api.post("mistakes", MISTAKE | {"root_cause": None}).json()["cause_key"] == ""


@pytest.mark.parametrize("lesson", ["../../etc/passwd", "https://example.com/x", "C:\\lessons\\a.md"])
def test_a_lesson_path_is_text_whatever_it_says(api, lesson):
    assert api.post("mistakes", MISTAKE | {"lesson_file": lesson}).json()["lesson_file"] == lesson


def test_what_has_no_lesson_yet_can_be_asked_for(api):
    made = api.post("mistakes", MISTAKE).json()
    api.post("mistakes", MISTAKE | {"lesson_file": "lessons/a.md"})
    assert [row["id"] for row in api.get("mistakes", without_lesson="true").json()["items"]] == [made["id"]]


def test_a_corrected_cause_changes_what_it_recurs_with(api):
    made = api.post("mistakes", MISTAKE).json()
    changed = api.patch(f"mistakes/{made['id']}", root_cause="The guard was removed.", reason="Looked again")
    assert changed.json()["cause_key"] != made["cause_key"]
    assert list(Change.objects.filter(noun="mistakes").values_list("field", "reason")) == [
        ("root_cause", "Looked again")
    ]


@pytest.mark.parametrize("field", ["agent_name", "summary"])
def test_what_must_be_there_is_named(api, field):
    answer = api.post("mistakes", MISTAKE | {field: " "})
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert not Mistake.objects.exists()


def test_an_unknown_category_is_kept(api):
    api.post("mistakes", MISTAKE | {"category": "Cosmic Rays"})
    assert api.get("mistakes", category="Cosmic Rays").json()["items"][0]["category"] == "Cosmic Rays"


def test_of_two_changes_at_once_the_second_is_told(api):
    made = api.post("mistakes", MISTAKE).json()
    assert api.patch(f"mistakes/{made['id']}", {"If-Match": "1"}, fix="a").status_code == 200
    assert api.patch(f"mistakes/{made['id']}", {"If-Match": "1"}, fix="b").status_code == 412
    assert Mistake.objects.get().fix == "a"
