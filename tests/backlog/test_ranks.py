from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from backlog_app import ranks


@given(st.lists(st.integers(min_value=0, max_value=10_000), min_size=1, max_size=120))
def test_there_is_always_room_between_any_two_neighbours(places: list[int]) -> None:
    column: list[str] = []
    for place in places:
        at = place % (len(column) + 1)
        low = column[at - 1] if at else ""
        high = column[at] if at < len(column) else None
        column.insert(at, ranks.between(low, high))
    assert column == sorted(set(column))
    assert not any(key.endswith("0") or not key.isdigit() for key in column)


def test_appending_does_not_make_keys_longer() -> None:
    key = ""
    for _ in range(5000):
        key = ranks.between(key, None)
    assert len(key) <= ranks.HEAD


def test_placing_on_top_does_not_make_keys_longer() -> None:
    key: str | None = None
    for _ in range(5000):
        key = ranks.between("", key)
    assert key is not None
    assert len(key) <= ranks.HEAD


def test_both_ends_of_the_scale_still_have_room() -> None:
    assert ranks.between("99999999", None) > "99999999"
    assert "" < ranks.between("", "00000001") < "00000001"


@given(st.integers(min_value=1, max_value=3000))
def test_spread_keys_are_in_order_short_and_apart(count: int) -> None:
    keys = ranks.spread(count)
    assert keys == sorted(set(keys))
    assert len(keys) == count
    assert all(ranks.between(low, high) for low, high in pairwise(keys))
    assert max(map(len, keys)) <= ranks.LONGEST / 2
