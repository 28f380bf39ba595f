"""Parts of lists that are drawn once: whatever they show, a change of it is seen."""

from dataclasses import dataclass

import pytest
import time_machine
from django.utils import timezone
from django.utils.safestring import SafeString

from contextdash import clock
from contextdash.rendering import remembered
from contextdash.rendering.remembered import drawn
from sessions_app.models import AgentMessage, Session
from tests import factories

pytestmark = pytest.mark.django_db

TEMPLATE = "messages/_handoff.html"


@pytest.fixture
def message():
    session = factories.session("s", title="Old title")
    return AgentMessage.objects.create(
        session=session, agent_name="a", target="b", role="handoff", content="Words", ts=clock.from_us(0)
    )


def read(**changed):
    rows = AgentMessage.objects.select_related("session", "session__project").defer("session__extra")
    (row,) = rows
    row.content_start = row.content
    return drawn(TEMPLATE, {"message": row, "waits": False, "age": "2m", **changed})


def test_the_same_values_are_drawn_once_and_without_a_query(message, django_assert_num_queries):
    first = read()
    with django_assert_num_queries(1):
        assert read() is first
    assert read(age="3m", waits=True) != first


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (AgentMessage, {"content": "Other words"}),
        (AgentMessage, {"acknowledged_at": clock.from_us(86_400_000_000)}),
        (Session, {"title": "New title"}),
        (Session, {"branch": "new-branch"}),
    ],
)
def test_a_change_of_what_is_shown_is_drawn(message, model, values):
    first = read()
    model.objects.update(**values)
    assert read() != first


def test_days_and_times_are_those_of_the_reader(message):
    AgentMessage.objects.update(acknowledged_at=clock.from_us(1_796_000_000_000_000))
    with time_machine.travel(clock.from_us(1_796_000_000_000_000 + 3_600_000_000), tick=False):
        first = read()
        with timezone.override("Asia/Tokyo"):
            assert read() != first
    with time_machine.travel(clock.from_us(1_796_000_000_000_000 + 3 * 86_400_000_000), tick=False):
        assert read() != first


def test_rows_inside_of_other_values_count_too(message):
    @dataclass(frozen=True)
    class Listed:
        message: AgentMessage

    def shown():
        row = AgentMessage.objects.get()
        return drawn("partials/_empty.html", {"title": "x", "row": Listed(row), "rows": [(row, 1)]})

    first = shown()
    assert shown() is first
    AgentMessage.objects.update(version=2)
    assert shown() is not first


def test_what_was_not_asked_for_longest_goes_first(monkeypatch):
    monkeypatch.setattr(remembered, "REMEMBERED_CHARS", 3000)
    parts = remembered._Parts()
    for name in ("a", "b", "c"):
        parts.keep(name, SafeString("x" * 1000))
    assert parts.find("a") is not None
    parts.keep("c", SafeString("y" * 1500))  # another thread drew it as well
    assert parts.find("b") is None
    parts.keep("d", SafeString("z" * 5000))
    assert [parts.find(name) is not None for name in "abcd"] == [False, False, False, True]
