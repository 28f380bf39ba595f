"""Identifiers and digests."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextdash import ids


@pytest.mark.parametrize("raw", ["a", "A-z_0.9:x@y", "f" * 128, "26b81461-c3ef-4d6e-ad48-f40ba4c5f49f"])
def test_an_id_that_can_be_kept_is_kept(raw):
    assert ids.session_id(raw) == (raw, "")


@pytest.mark.parametrize("raw", ["a b", "a/b", "f" * 129, "ü", "", "a\n", "\ud83d", "../..", "a\0"])
def test_another_id_is_its_digest_with_the_original_beside_it(raw):
    stored, external = ids.session_id(raw)
    assert stored == "x" + hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:31]
    assert external == raw


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_stored_for_any_id_is_an_id_that_can_be_kept(raw):
    stored, _ = ids.session_id(raw)
    assert ids.session_id(stored) == (stored, "")


def test_a_minted_id_is_32_hex_digits_and_another_each_time():
    first, second = ids.mint(), ids.mint()
    assert first != second
    assert len(first) == 32
    assert int(first, 16)


def test_a_childs_id_depends_on_both_and_on_where_one_ends():
    assert ids.child_session_id("p", "a") == hashlib.sha256(b"p\0a").hexdigest()[:32]
    assert ids.child_session_id("pa", "") != ids.child_session_id("p", "a")


def test_a_digest_of_parts_knows_where_they_end():
    assert ids.digest16(b"ab", b"c") != ids.digest16(b"a", b"bc")
    assert ids.digest16(b"a") != ids.digest16(b"a", b"")
    assert len(ids.digest16()) == 16


HASH = "27d3b008f0a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabb"


@pytest.mark.parametrize(
    "raw", [HASH, HASH.upper(), f"sha256-{HASH}", f"SHA256:{HASH.upper()}", f" {HASH}\n"]
)
def test_every_spelling_of_a_diff_hash_matches(raw):
    assert ids.diff_key(raw) == HASH


@pytest.mark.parametrize("raw", [None, "", "abc", HASH[:-1], HASH + "0", "g" * 64, "sha1-" + HASH])
def test_what_is_no_hash_matches_nothing(raw):
    assert ids.diff_key(raw) == ""
