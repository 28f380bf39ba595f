import contextlib
import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextdash.decoding import decode_json, read_body
from contextdash.errors import Malformed, TooLarge, UnsupportedMedia
from contextdash.limits import BODY_BYTES, DECOMPRESSED_BYTES, JSON_DEPTH


def test_plain_json_is_decoded() -> None:
    assert decode_json(b'{"a": [1, -2.5, "\xc3\xa9", null, true]}') == {"a": [1, -2.5, "é", None, True]}


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert decode_json(rb'{"stdout": "cut \ud83d", "\udc00": 1}') == {"stdout": "cut \ufffd", "\ufffd": 1}


def test_a_surrogate_pair_is_one_character() -> None:
    assert decode_json(rb'["\ud83d\ude00", "\ud83d"]') == ["\U0001f600", "\ufffd"]


def test_a_nul_becomes_a_replacement_character() -> None:
    assert decode_json(rb'{"a\u0000": "a\u0000b"}') == {"a\ufffd": "a\ufffdb"}


def test_a_written_backslash_before_u0000_stays_text() -> None:
    assert decode_json(rb'["\\u0000"]') == ["\\u0000"]


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "-" + "9" * 30]
)
def test_a_number_that_nothing_holds_is_kept_as_text(number: str) -> None:
    assert decode_json(f'{{"n": {number}, "m": 1}}'.encode()) == {"n": number, "m": 1}


def test_64_bit_numbers_stay_numbers() -> None:
    assert decode_json(b"[9223372036854775807, -9223372036854775808]") == [2**63 - 1, -(2**63)]


def test_of_duplicate_keys_the_last_wins_in_both_decoders() -> None:
    assert decode_json(b'{"a": 1, "a": 2}') == {"a": 2}
    assert decode_json(b'{"a": 1, "a": NaN}') == {"a": "NaN"}


@pytest.mark.parametrize("depth", [JSON_DEPTH + 1, 10_000, 1_000_000])
@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}"), ("[[{}],", "]"), ('{"a":[', "]}")]
)
def test_deep_nesting_is_refused(depth: int, opening: str, closing: str) -> None:
    with pytest.raises(Malformed, match="JSON_DEPTH"):
        decode_json((opening * depth + "1" + closing * depth).encode())
    with pytest.raises(Malformed):
        decode_json((opening * depth).encode())


def test_the_deepest_allowed_nesting_is_decoded() -> None:
    assert decode_json(b"[" * JSON_DEPTH + b"]" * JSON_DEPTH)


def test_brackets_inside_strings_and_beside_each_other_do_not_count_as_depth() -> None:
    value = ["[" * 5000, '"{' * 5000, *([{"a": []}] * 5000)]
    assert decode_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("raw", "byte"), [(b'{"a": }', 6), (b"", 0), ('{"é": x}'.encode(), 7), (b"{} {}", 3)]
)
def test_broken_json_is_refused_with_the_byte_where_it_breaks(raw: bytes, byte: int) -> None:
    with pytest.raises(Malformed, match=rf"\(byte {byte}\)"):
        decode_json(raw)


@pytest.mark.parametrize("raw", [b'{"a": "\xff"}', b'"\xed\xa0\xbd"', b"\xff\xfe{\0}\0"])
def test_a_body_that_is_not_utf8_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed, match="not UTF-8"):
        decode_json(raw)


def test_a_byte_order_mark_is_no_harm() -> None:
    assert decode_json(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_whatever_python_can_write_comes_back_storable(value: object) -> None:
    decoded = decode_json(json.dumps(value).replace("Infinity", "1e999").encode("utf-8"))
    text = json.dumps(decoded, ensure_ascii=False)
    text.encode("utf-8")
    assert "\\u0000" not in text.replace("\\\\", "")


@given(st.binary())
def test_any_bytes_are_decoded_or_refused(raw: bytes) -> None:
    with contextlib.suppress(Malformed):
        decode_json(raw)


def test_a_body_is_read_to_its_length_and_no_further() -> None:
    stream = io.BytesIO(b"abcdef")
    assert read_body(stream, length=4) == b"abcd"
    assert stream.read() == b"ef"


def test_a_body_that_stops_half_way_is_refused() -> None:
    with pytest.raises(Malformed, match="3 of 10 bytes"):
        read_body(io.BytesIO(b"abc"), length=10)


def test_a_body_without_length_is_read_to_its_end() -> None:
    assert read_body(io.BytesIO(b"abc"), length=None) == b"abc"


def test_a_body_above_the_limit_is_refused_before_it_is_read() -> None:
    stream = io.BytesIO(b"abc")
    with pytest.raises(TooLarge, match="BODY_BYTES"):
        read_body(stream, length=BODY_BYTES + 1)
    assert stream.tell() == 0
    with pytest.raises(TooLarge, match="BODY_BYTES"):
        read_body(io.BytesIO(b" " * (BODY_BYTES + 1)), length=None)


def test_gzip_is_undone() -> None:
    packed = gzip.compress(b'{"a": 1}')
    assert read_body(io.BytesIO(packed), length=len(packed), encoding="gzip") == b'{"a": 1}'


def test_a_gzip_bomb_is_refused() -> None:
    packed = gzip.compress(b"\0" * (DECOMPRESSED_BYTES + 1))
    with pytest.raises(TooLarge, match="DECOMPRESSED_BYTES"):
        read_body(io.BytesIO(packed), length=len(packed), encoding="gzip")


@pytest.mark.parametrize("spoil", [lambda raw: raw[:-9], lambda raw: b"x" + raw, lambda raw: raw + b"more"])
def test_broken_gzip_is_refused(spoil: object) -> None:
    packed = spoil(gzip.compress(b'{"a": 1}' * 100))  # type: ignore[operator]
    with pytest.raises(Malformed, match="gzip"):
        read_body(io.BytesIO(packed), length=len(packed), encoding="gzip")


def test_another_content_encoding_is_refused() -> None:
    with pytest.raises(UnsupportedMedia, match="gzip"):
        read_body(io.BytesIO(b"x"), length=1, encoding="br")
