"""Text from outside made storable and short."""

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from contextdash.cleaning import clean, cut_and_tell, cut_bytes, one_line, shorten

any_text = st.text(st.characters(exclude_categories=()))
"""With NUL and lone surrogates in it."""


def test_nul_and_lone_surrogates_become_a_visible_mark():
    assert clean("a\0b") == "a\ufffdb"
    assert clean("cut \ud83d") == "cut \ufffd"
    assert clean("\udc00\ud83d") == "\ufffd\ufffd"


def test_two_halves_that_belong_together_become_one_character():
    assert clean("\ud83d\ude00") == "😀"


def test_everything_else_stays():
    text = "ä 😀 \u202e bidi \x1b[31m \r\n\t \ufeff"
    assert clean(text) == text


@given(any_text)
def test_clean_text_can_be_stored_and_sent(text):
    cleaned = clean(text)
    assert "\0" not in cleaned
    assert json.loads(json.dumps(cleaned).encode()) == cleaned
    cleaned.encode("utf-8")
    assert clean(cleaned) == cleaned


@given(st.text(), st.integers(0, 50))
def test_a_cut_ends_at_a_character_border_and_within_the_limit(text, limit):
    cut = cut_bytes(text, limit)
    assert text.startswith(cut)
    assert len(cut.encode()) <= limit
    assert cut == text or len((cut + text[len(cut)]).encode()) > limit


def test_a_cut_text_says_what_was_cut():
    text = "é" * 100
    told = cut_and_tell(text, 51)
    assert told.startswith("é" * 25 + "\n")
    assert "200 bytes" in told
    assert hashlib.sha256(text.encode()).hexdigest() in told
    assert cut_and_tell(text, 200) == text


@given(st.text(), st.integers(1, 50))
def test_a_shortened_text_is_never_longer_than_asked(text, chars):
    short = shorten(text, chars)
    assert len(short) <= chars
    assert short == text or short.endswith("…")


def test_one_line_folds_white_space_and_reads_no_more_than_it_needs():
    assert one_line("  a\n\tb  c ", 10) == "a b c"
    assert one_line("word " * 1_000_000, 20) == "word word word word…"
