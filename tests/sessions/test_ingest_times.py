"""Clocks that are wrong: raw times are stored, and nothing that sorts or measures is poisoned."""

import pytest

from contextdash.clock import parse_us
from sessions_app.models import Event, Session, ToolCall
from tests.sessions.deliveries import SECOND, T0, body, deliver, seen, tool

pytestmark = pytest.mark.django_db

YEAR_2099 = parse_us("2099-01-01T00:00:00Z") or 0


def test_a_call_that_starts_after_it_ends_has_no_duration() -> None:
    deliver(
        seen(tool("PreToolUse", "c1"), T0 + 400 * SECOND, captured_us=T0 + 300 * SECOND),
        seen(tool("PostToolUse", "c1"), T0 + 401 * SECOND, captured_us=T0),
    )
    call = ToolCall.objects.get()
    assert (call.state, call.duration_us) == ("done", None)
    assert set(Event.objects.values_list("occurred_us", flat=True)) == {T0, T0 + 300 * SECOND}


def test_without_a_told_duration_it_is_result_minus_call_in_either_order() -> None:
    pre = seen(tool("PreToolUse", "c1"), T0 + 10 * SECOND, captured_us=T0)
    post = seen(tool("PostToolUse", "c1"), T0 + 10 * SECOND, captured_us=T0 + 2 * SECOND)
    deliver(post, pre)
    deliver(
        seen(tool("PreToolUse", "c2"), T0 + 10 * SECOND, captured_us=T0),
        seen(tool("PostToolUse", "c2"), T0 + 10 * SECOND, captured_us=T0 + 2 * SECOND),
    )
    for call in ToolCall.objects.all():
        assert (call.started_us, call.ended_us, call.duration_us) == (T0, T0 + 2 * SECOND, 2 * SECOND)


@pytest.mark.parametrize("told", [-5, 10**18, "soon", True, None])
def test_an_absurd_duration_is_no_duration(told: object) -> None:
    deliver(seen(tool("PostToolUse", "c1", duration_ms=told), T0))
    assert ToolCall.objects.get().duration_us is None


def test_a_future_event_does_not_pin_its_session_to_the_top() -> None:
    deliver(seen(body("UserPromptSubmit", prompt_id="t1", prompt="x"), T0, captured_us=YEAR_2099))
    session = Session.objects.get()
    assert (session.last_us, session.started_us) == (T0, T0)
    assert Event.objects.get().occurred_us == YEAR_2099
    deliver(seen(tool("PreToolUse", "c1", prompt_id="t1"), T0 + SECOND, captured_us=YEAR_2099))
    deliver(seen(tool("PostToolUse", "c1", prompt_id="t1"), T0 + 2 * SECOND))
    call = ToolCall.objects.get()
    assert (call.started_us, call.duration_us) == (T0 + SECOND, None)


def test_a_clock_of_1970_does_not_bury_its_session() -> None:
    deliver(seen(body("UserPromptSubmit", prompt_id="t1", prompt="x"), T0, captured_us=1))
    session = Session.objects.get()
    assert (session.last_us, session.started_us) == (T0, T0)


def test_a_spooled_delivery_counts_from_when_it_was_captured() -> None:
    deliver(seen(body("UserPromptSubmit", prompt_id="t1", prompt="x"), T0, captured_us=T0 - 3600 * SECOND))
    session = Session.objects.get()
    assert session.started_us == session.last_us == T0 - 3600 * SECOND
    assert session.started_at.timestamp() * SECOND == session.started_us


def test_an_older_event_moves_the_beginning_and_not_what_it_does_now() -> None:
    deliver(
        seen(body("UserPromptSubmit", prompt_id="t1", prompt="x", permission_mode="plan"), T0),
        seen(body("Stop", prompt_id="t1"), T0 + SECOND),
        seen(
            tool("PreToolUse", "c1", prompt_id="t1", permission_mode="auto"),
            T0 + 60 * SECOND,
            captured_us=T0 - SECOND,
        ),
    )
    session = Session.objects.get()
    assert (session.activity, session.permission_mode) == ("idle", "plan")
    assert session.started_us == T0 - SECOND
    assert session.turns.get().started_us == T0 - SECOND
