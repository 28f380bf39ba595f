"""Terminal output on pages (bug cases: colour codes as noise; text that runs as script)."""

from html import unescape
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextdash.rendering.ansi import ansi, plain

TERMINAL_TEXT = st.text(alphabet=st.sampled_from("ab<>&\"'é‮ \t\r\n\b\x00\x07\x1b\x9b\x9d[]0138;;mKJ\\:/htps"))


def text_of(html: str) -> str:
    """What a reader sees: tags gone, entities read."""
    out, inside = [], False
    for char in html:
        if char == "<":
            inside = True
        elif char == ">":
            inside = False
        elif not inside:
            out.append(char)
    return unescape("".join(out))


def test_colours_become_classes():
    assert ansi("\x1b[31mFAIL\x1b[0m ok") == '<span class="t-f1">FAIL</span> ok'


def test_true_colour_becomes_the_nearest_of_sixteen():
    assert ansi("\x1b[38;2;1;2;3mx\x1b[0m") == '<span class="t-f0">x</span>'
    assert ansi("\x1b[38;5;196mx") == '<span class="t-f1">x</span>'


def test_flags_and_colours_add_up_and_are_taken_back():
    assert (
        ansi("\x1b[1;4;32mx\x1b[22my") == '<span class="t-b t-u t-f2">x</span><span class="t-u t-f2">y</span>'
    )


def test_a_progress_bar_is_reduced_to_its_last_state():
    bar = "".join(f"\rDownloading {n}%" for n in range(500))
    assert plain(bar) == "Downloading 499%"
    assert ansi(bar) == "Downloading 499%"


def test_a_shorter_rewrite_shows_what_a_terminal_would_show():
    assert plain("100%\rOK") == "OK0%"
    assert plain("100%\r\x1b[KOK") == "OK"
    assert plain("100%\x1b[2KOK") == "OK"


def test_windows_line_ends_lose_nothing():
    assert plain("one\r\ntwo\r\n") == "one\ntwo\n"


def test_backspaces_overwrite():
    assert plain("ab\b\bcd") == "cd"


def test_a_script_link_is_no_link():
    made = ansi("\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07")
    assert made == "click"


def test_a_web_link_is_a_marked_link():
    made = ansi("\x1b]8;;https://example.org/?a=1&b='\x1b\\docs\x1b]8;;\x1b\\ after")
    assert made == (
        '<a class="external" href="https://example.org/?a=1&amp;b=&#x27;" '
        'rel="nofollow noopener noreferrer">docs</a> after'
    )


@pytest.mark.parametrize(
    "noise",
    [
        "\x1b[2J",
        "\x1b[10;5H",
        "\x1b[?25l",
        "\x1b(B",
        "\x1b]0;title\x07",
        "\x1bPdcs\x1b\\",
        "\x1b[3",
        "\x1b",
        "\x9b31m",
    ],
)
def test_what_moves_the_cursor_or_names_the_window_is_dropped(noise: str):
    assert plain(f"a{noise}") == "a"


def test_html_is_escaped_inside_colours():
    made = ansi("\x1b[31m<img src=x onerror=alert(1)>\x1b[0m")
    assert made == '<span class="t-f1">&lt;img src=x onerror=alert(1)&gt;</span>'


def test_characters_that_reorder_text_are_written_out():
    assert plain("a\u202eb") == "a[U+202E]b"


@given(TERMINAL_TEXT)
def test_any_text_gives_safe_html_of_the_same_words(text: str):
    made = ansi(text)
    assert text_of(made) == plain(text)
    for tag in made.split("<")[1:]:
        assert tag.startswith(('span class="t-', "/span>", 'a class="external', "/a>"))
    assert not {"\x1b", "\x9b", "\x07", "\r", "\x00"} & set(made)


@given(st.text())
def test_any_text_at_all_is_drawn(text: str):
    ansi(text)
    plain(text)


@pytest.mark.parametrize(
    "piece",
    [
        "\x1b[",
        "\x1b[31m<",
        "\x1b]8;;http://x\x07y",
        "\rabc",
        "x\b",
        "\x1b]",
        "\x1b[38;2;",
        "0;",
        "\x1b[2Kx",
        "\x1b",
    ],
)
def test_hostile_megabytes_take_linear_time(piece: str):
    half = piece * (500_000 // len(piece))
    started = perf_counter()
    ansi(half)
    first = perf_counter() - started
    started = perf_counter()
    ansi(half + half)
    second = perf_counter() - started
    # Twice the text in about twice the time; a quadratic way would take four times as long, and minutes.
    assert second < 3.2 * first + 0.5
