"""The template tags and filters of every page."""

import pytest
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from contextdash.rendering.states import STATES
from tests.teller import HOSTILE


def draw(source: str, **context: object) -> str:
    return Template(source).render(Context(context))


@pytest.mark.parametrize("value", sorted(STATES))
def test_every_state_has_a_shape_and_a_word(value: str):
    made = draw("{% badge value %}", value=value)
    assert "<use href=" in made
    assert STATES[value].word in made


def test_an_unknown_state_is_shown_as_sent_and_quiet():
    made = draw("{% badge value %}", value=HOSTILE)
    assert 'class="badge is-quiet"' in made
    assert "#s-idle" in made
    assert "&lt;b&gt;" in made


def test_only_what_waits_for_a_person_is_amber():
    amber = {value for value, state in STATES.items() if state.css == "is-person"}
    assert amber == {"waiting", "blocked", "conflict"}


def test_a_severity_has_its_step_and_another_is_shown_as_sent():
    assert draw("{% severity 'Critical' %}").startswith('<span class="sev sev--critical">')
    assert "Blocker!" in draw("{% severity 'Blocker!' %}")


@pytest.mark.parametrize("tag", ["severity", "badge"])
def test_a_word_of_somebody_elses_takes_no_more_than_a_lines_room(tag):
    drawn = draw("{% " + tag + " word %}", word="B" * 200)
    assert "BBB…" in drawn
    assert "B" * 40 not in drawn


@pytest.mark.parametrize(
    ("name", "slot", "letters"),
    [
        ("orchestrator", 1, "Or"),
        ("backend-developer", 2, "Be"),
        ("code-reviewer", 5, "Cr"),
        ("devops", 8, "Dv"),
        ("ui-painter", 6, "Up"),
        ("Zoë", 6, "Zo"),
        ("", 6, "No"),
        ("🤖", 6, "?"),
    ],
)
def test_an_agent_has_a_slot_and_two_letters(name: str, slot: int, letters: str):
    made = draw("{% agent name %}", name=name)
    assert f'class="agent a{slot}"' in made
    assert f">{letters}</span>" in made


def test_a_page_with_lanes_gives_slots_of_its_own():
    assert 'class="agent a3"' in draw("{% agent 'ui-painter' slot=3 %}")


def test_arrows_follow_the_direction_of_reading():
    assert "i--flow" in draw("{% icon 'next' %}")
    assert "i--flow" not in draw("{% icon 'search' %}")


@pytest.mark.parametrize("name", ["markdown", "ansi", "plain", "code", "unified_diff"])
def test_filters_take_nothing_for_nothing(name: str):
    assert "None" not in draw(f"{{{{ value|{name} }}}}", value=None)


@pytest.mark.parametrize("name", ["markdown", "ansi", "plain", "code:'html'", "unified_diff"])
@given(text=st.text(alphabet=st.characters()) | st.just(HOSTILE) | st.just("half \ud83d"))
def test_filters_never_let_a_tag_through(name: str, text: str):
    made = draw(f"{{{{ value|{name} }}}}", value=text + HOSTILE)
    assert "<script" not in made
    assert "<img" not in made
    made.encode()


@given(st.text(max_size=50))
def test_names_of_agents_are_text(name: str):
    made = draw("{% agent name %}", name=name + "<b>")
    assert "<b>" not in made
