"""Messages between agents through the API."""

import pytest

from contextdash import limits
from contextdash.models import Change
from sessions_app.models import AgentMessage, Session
from tests import factories

pytestmark = pytest.mark.django_db


def say(api, content: str = "hello", **fields):
    body = {"session_id": "S1", "agent_name": "tester", "role": "response", "content": content, **fields}
    return api.post("messages", body)


def contents(answer) -> list[str]:
    return [message["content"] for message in answer.json()["items"]]


def test_the_newest_messages_are_told_oldest_first(api):
    for number in range(5):
        say(api, str(number))
    first = api.get("messages", session="S1", limit=3)
    assert contents(first) == ["2", "3", "4"]
    older = api.get("messages", session="S1", limit=3, cursor=first.json()["next"])
    assert contents(older) == ["0", "1"]
    assert older.json()["next"] is None


def test_messages_of_the_same_moment_keep_the_order_in_which_they_were_written(api):
    for number in range(4):
        say(api, str(number), ts="2026-01-01T00:00:00Z")
    assert contents(api.get("messages", limit=2)) == ["2", "3"]


def test_messages_are_filtered_by_session_agent_and_project(api):
    project = factories.project("Ledgerline")
    factories.session("S2", project=project)
    say(api, "one")
    say(api, "two", session_id="S2", agent_name="devops")
    assert contents(api.get("messages", session="S1")) == ["one"]
    assert contents(api.get("messages", agent="devops")) == ["two"]
    assert contents(api.get("messages", project="ledgerline")) == ["two"]
    assert contents(api.get("messages", session="latest")) == ["two"]
    assert contents(api.get("messages", session="a-session-to-be")) == []


def test_a_list_cuts_long_messages_and_one_does_not(api):
    made = say(api, "x" * 20_000).json()
    assert len(made["content"]) == 20_000
    cut = contents(api.get("messages"))[0]
    assert (len(cut), cut[-1]) == (limits.READ_RECENT_CHARS, "…")
    assert len(api.get(f"messages/{made['id']}").json()["content"]) == 20_000


def test_a_message_exactly_as_long_as_the_cut_is_whole(api):
    say(api, "x" * limits.READ_RECENT_CHARS)
    assert contents(api.get("messages"))[0] == "x" * limits.READ_RECENT_CHARS


def test_an_empty_message_is_one(api):
    assert say(api, "").json()["content"] == ""
    assert say(api, None).json()["content"] == ""


def test_a_session_that_nobody_knows_is_made_as_that_id(api, member):
    say(api)
    session = Session.objects.get()
    assert (session.id, session.owner, session.message_count) == ("S1", member, 1)


def test_a_written_message_moves_its_session_up(api):
    factories.session("S1", at_us=1)
    say(api)
    assert Session.objects.get().last_us > 1
    assert Session.objects.get().ordinal == 1


def test_a_hand_off_is_acknowledged_with_a_reason_and_taken_back(api, member):
    made = say(api, role="handoff", target="devops").json()
    taken = api.patch(f"messages/{made['id']}", acknowledged=True, reason="I take it").json()
    assert taken["acknowledged_at"] is not None
    assert taken["version"] == 2
    assert AgentMessage.objects.get().acknowledged_by == member
    change = Change.objects.get(noun="agent_messages", field="acknowledged_at")
    assert (change.reason, change.user) == ("I take it", member)
    again = api.patch(f"messages/{made['id']}", acknowledged=True).json()
    assert again == taken
    back = api.patch(f"messages/{made['id']}", acknowledged=False).json()
    assert back["acknowledged_at"] is None


def test_what_was_said_cannot_be_changed(api):
    made = say(api).json()
    assert api.patch(f"messages/{made['id']}", content="other").status_code == 422
    assert api.patch(f"messages/{made['id']}", role="").status_code == 422


def test_messages_of_a_deleted_session_are_not_read(api):
    made = say(api).json()
    api.client.delete("/api/v1/sessions/S1?reason=x", headers=api.headers)
    assert contents(api.get("messages")) == []
    assert api.get(f"messages/{made['id']}").status_code == 404


def test_reading_recent_messages_costs_few_queries(api, django_assert_max_num_queries):
    for number in range(10):
        say(api, str(number))
    with django_assert_max_num_queries(4):
        api.get("messages", session="S1")


def test_writing_a_message_costs_few_queries(api, django_assert_max_num_queries):
    say(api)
    with django_assert_max_num_queries(10):
        say(api)


def test_reading_the_inbox_costs_few_queries_however_many_wait(api, django_assert_max_num_queries):
    for number in range(10):
        say(api, str(number), role="handoff", target="mia", session_id=f"S{number}")
    with django_assert_max_num_queries(4):
        answer = api.get("messages/inbox")
    assert len(answer.json()["items"]) == 10
    assert answer.json()["items"][0]["version"] == 1
