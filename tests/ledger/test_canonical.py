"""JSON as JavaScript prints it, and the hash of a call's arguments: the vectors, and what holds for all."""

import json
import random
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.ledger.canonical import args_hash, canonical, number

NUMBERS = (
    '{"10":1,"9":2,"b":1.0,"a":[1e21,0.1,-0.0,1e-7,123456789012345680000,5e-324,1.5e300,100.0,1e20,0.000001]}'
)

KEYS = st.one_of(
    st.text(max_size=4), st.integers(0, 99).map(str), st.sampled_from(["01", "4294967295", "🙂", "\uffff"])
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("tool", "args", "digest"),
    [
        ("Read", '{"path":"a"}', "ee67036137accd1ba94cb8c13d2c27f40ca89ded944e577ad209b1a128e27b68"),
        (
            "Bash",
            '{"command":"echo \\"hi\\"\\n","timeout_ms":120000}',
            "3fa0cdd755740aadd891d63467728d8ed168bb9c479c04edc63ec1187ae0fc31",
        ),
        ("E", "{}", "06e0f355797f857eb68473e906d1a0c55d9093a363b257372904518a4e93240c"),
        ("N", "null", "d98983606797379e72b90836d25c08e39dd30690cd41ebcf6cc592ec5cae0c89"),
        ("X", NUMBERS, "002b30773e2451f5c4253f7388856c8bb6d3d41bc16a099f9b42f15b5f82181c"),
    ],
)
def test_the_hash_of_arguments_is_the_clients(tool, args, digest):
    assert args_hash(tool, json.loads(args)) == f"sha256:{digest}"


def test_what_the_hash_leaves_out_and_sorts():
    def same(one: Any, other: Any) -> bool:
        return args_hash("T", one) == args_hash("T", other)

    assert same({"a": 1, "__proto__": {"b": 2}}, {"a": 1})
    assert same({"required": ["b", "A", "a", "B"]}, {"required": ["a", "A", "b", "B"]})
    assert same({"enum": [{"b": 1}, "x", 2]}, {"enum": [2, "x", {"b": 1}]})
    assert not same({"required": [["b", "a"]]}, {"required": [["a", "b"]]})
    assert not same({"other": ["b", "a"]}, {"other": ["a", "b"]})
    assert not same({"a": "\ud83d"}, {"a": "\ufffd"})
    assert args_hash("T", {}) != args_hash("U", {})


def test_keys_that_look_like_indexes_come_first_in_their_order():
    given_keys = {"b": 0, "10": 0, "9": 0, "01": 0, "4294967294": 0, "4294967295": 0, "\uffff": 0, "🙂": 0}
    assert re.findall(r'"([^"]*)":', canonical(given_keys)) == [
        *("9", "10", "4294967294", "01", "4294967295", "b", "🙂", "\uffff"),
    ]


@given(VALUES, st.randoms(use_true_random=False))
def test_one_value_has_one_text_and_the_text_is_the_value(value, rng):
    text = canonical(value)
    assert canonical(shuffled(value, rng)) == text
    assert canonical(json.loads(text)) == text
    assert same_value(json.loads(text), value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_printed_as_the_standard_says(value):
    assert number(value) == by_the_standard(value)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**400])
def test_what_no_double_holds_is_no_number(value):
    with pytest.raises(ValueError, match="number"):
        canonical([value])


def by_the_standard(value: float) -> str:
    """ECMAScript, Number::toString(x), step by step."""
    if value == 0:
        return "0"
    if value < 0:
        return "-" + by_the_standard(-value)
    _, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    s = "".join(map(str, digits))
    k, n = len(s), len(s) + int(exponent)
    if k <= n <= 21:
        return s + "0" * (n - k)
    if 0 < n <= 21:
        return s[:n] + "." + s[n:]
    if -6 < n <= 0:
        return "0." + "0" * -n + s
    e = ("+" if n - 1 > 0 else "-") + str(abs(n - 1))
    return f"{s}e{e}" if k == 1 else f"{s[0]}.{s[1:]}e{e}"


def shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(key, shuffled(item, rng)) for key, item in value.items()]
        rng.shuffle(items)
        return dict(items)
    return [shuffled(item, rng) for item in value] if isinstance(value, list) else value


def same_value(one: Any, other: Any) -> bool:
    """As JavaScript sees them: every number is a double."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    if isinstance(one, int | float) and not isinstance(one, bool):
        return not isinstance(other, bool) and float(one) == float(other)
    return type(one) is type(other) and one == other
