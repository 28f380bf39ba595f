"""Keyset pages."""

import pytest

from contextdash import clock
from contextdash.errors import Invalid
from contextdash.models import Change
from contextdash.paging import cursor_of, page
from sessions_app.models import Session
from tests import factories

pytestmark = pytest.mark.django_db


def sessions(limit: int, cursor: str | None = None):
    return page(Session.objects.all(), limit=limit, cursor=cursor, time_field="last_us", id_field="key")


def walk(limit: int) -> list[str]:
    seen, cursor = [], None
    while True:
        found = sessions(limit, cursor)
        seen += [row.id for row in found.items]
        if found.next is None:
            return seen
        cursor = found.next


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 100])
def test_pages_together_hold_every_row_once_newest_first(limit):
    # Three moments with two rows each: the id breaks the tie.
    for number in range(6):
        factories.session(f"S{number}", at_us=1000 + number // 2)
    assert walk(limit) == ["S5", "S4", "S3", "S2", "S1", "S0"]


def test_a_row_that_arrives_meanwhile_moves_nothing():
    for number in range(4):
        factories.session(f"S{number}", at_us=1000 + number)
    first = sessions(2)
    factories.session("new", at_us=5000)
    assert [row.id for row in sessions(2, first.next).items] == ["S1", "S0"]


def test_the_last_page_has_no_next_even_when_it_is_full():
    for number in range(4):
        factories.session(f"S{number}", at_us=1000 + number)
    assert sessions(4).next is None
    assert sessions(0 + 2, sessions(2).next).next is None


def test_no_rows_are_one_empty_page():
    assert sessions(5).items == []


def test_times_are_paged_to_the_microsecond():
    at = clock.from_us(1_783_699_488_905_079)
    for number in range(3):
        Change.objects.create(noun="n", row_id=number, field="f", at=at)
    rows = Change.objects.all()
    first = page(rows, limit=2, cursor=None, time_field="at")
    assert first.next == cursor_of(first.items[-1], "at")
    assert [row.row_id for row in page(rows, limit=2, cursor=first.next, time_field="at").items] == ["0"]


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "1",
        "1.",
        ".1",
        "1.2.3",
        "-1.1",
        "1.-1",
        "1e5.1",
        "٣.٣",
        "1" * 19 + ".1",
        "1." + "1" * 19,
        "1.1 ",
        "0x1.1",
    ],
)
def test_a_cursor_that_is_none_of_ours_is_refused(cursor):
    with pytest.raises(Invalid) as refused:
        sessions(5, cursor)
    assert refused.value.field == "cursor"


def test_the_largest_cursor_of_ours_is_fine():
    factories.session("S1")
    assert len(sessions(5, "9" * 18 + "." + "9" * 18).items) == 1
