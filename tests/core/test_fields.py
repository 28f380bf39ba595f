"""Single values that writers send."""

import pytest

from contextdash.errors import Invalid
from contextdash.fields import optional_text, optional_word, text, word
from contextdash.limits import NAME_CHARS, TEXT_BYTES


def test_a_text_is_cleaned_and_masked_and_keeps_its_white_space():
    assert text(" a\0b \n", "content") == " a\ufffdb \n"
    assert "hunter22" not in text("postgres://app:hunter22@db/app", "content")


@pytest.mark.parametrize("value", [None, "", "  \n"])
def test_an_empty_text_is_refused_where_one_is_required(value):
    with pytest.raises(Invalid, match="content must not be empty") as refused:
        text(value, "content")
    assert refused.value.field == "content"
    assert text(value, "content", required=False) == (value or "")


def test_a_text_may_be_as_long_as_its_limit_in_bytes_and_no_longer():
    assert len(text("é" * (TEXT_BYTES // 2), "content")) == TEXT_BYTES // 2
    with pytest.raises(Invalid, match="TEXT_BYTES"):
        text("é" * (TEXT_BYTES // 2 + 1), "content")


def test_a_word_is_trimmed():
    assert word("  tester \n", "agent_name") == "tester"


@pytest.mark.parametrize("value", [None, "", " \t"])
def test_an_empty_word_is_refused_where_one_is_required(value):
    with pytest.raises(Invalid, match="agent_name must not be empty"):
        word(value, "agent_name")
    assert word(value, "agent_name", required=False) == ""


def test_a_word_may_be_as_long_as_its_limit_and_no_longer():
    assert word("é" * NAME_CHARS, "topic")
    with pytest.raises(Invalid, match=f"{NAME_CHARS} characters"):
        word("é" * (NAME_CHARS + 1), "topic")
    assert word("abc", "topic", chars=3)
    with pytest.raises(Invalid):
        word("abcd", "topic", chars=3)


def test_what_may_be_missing_stays_missing():
    assert optional_text(None, "fix") is None
    assert optional_word(None, "target") is None
    assert optional_text("", "fix") == ""
    assert optional_word(" x ", "target") == "x"
