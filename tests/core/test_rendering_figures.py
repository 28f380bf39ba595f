"""Numbers, lengths of time and moments as pages write them."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from contextdash import clock
from contextdash.rendering import numbers, times

NOW = datetime(2026, 11, 26, 13, 32, 8, tzinfo=UTC)
SECOND = 1_000_000


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (None, "—"),
        (-1, "—"),
        (0, "0ms"),
        (400, "<1ms"),
        (380_000, "380ms"),
        (999_600, "1.0s"),
        (1_200_000, "1.2s"),
        (59_960_000, "1m 00s"),
        (161 * SECOND, "2m 41s"),
        (3 * 3600 * SECOND + 120 * SECOND, "3h 02m"),
        (50 * 3600 * SECOND, "2d 02h"),
    ],
)
def test_lengths_of_time(us: int | None, text: str):
    assert numbers.duration(us) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, "—"), (0, "0"), (999, "999"), (1204, "1.2k"), (72_140, "72.1k"), (720_000, "720k")),
        *((999_999, "1M"), (1_840_000, "1.84M"), (14_600_000, "14.6M"), (2 * 10**9, "2B")),
        (10**16, "10000T"),
    ],
)
def test_compact_numbers_have_three_digits(value: int | None, text: str):
    assert numbers.compact(value) == text


def test_whole_numbers_have_commas():
    assert numbers.number(1204) == "1,204"
    assert numbers.number(None) == "—"
    assert numbers.number(0) == "0"


@pytest.mark.parametrize(
    ("value", "text"),
    [(412, "412 B"), (1229, "1.2 KB"), (16 * 1024**2, "16 MB"), (1000 * 1024, "1,000 KB"), (None, "—")],
)
def test_sizes(value: int | None, text: str):
    assert numbers.size(value) == text


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_stored_number_is_written(value: int):
    for write in (numbers.duration, numbers.compact, numbers.number, numbers.size, numbers.wait):
        assert write(value)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (NOW - timedelta(hours=1), "13:32"),
        (NOW - timedelta(days=1), "Wed 25 Nov"),
        (NOW - timedelta(days=43), "14 Oct"),
        (NOW - timedelta(days=400), "22 Oct 2025"),
        (NOW + timedelta(days=30), "26 Dec"),
    ],
)
def test_moments_are_as_short_as_they_can_be(moment: datetime, text: str):
    with time_machine.travel(NOW, tick=False), timezone.override("Europe/Berlin"):
        assert f">{text}</time>" in times.when(moment)
        assert f">{text}</time>" in times.when(clock.to_us(moment))


def test_the_whole_moment_is_in_the_title_and_utc_for_programs():
    with timezone.override("Europe/Berlin"):
        made = times.clock_time(datetime(2026, 11, 26, 13, 1, 31, tzinfo=UTC))
    assert made == (
        '<time datetime="2026-11-26T13:01:31Z" title="Thu 26 Nov 2026, 14:01:31 CET">14:01:31</time>'
    )


def test_a_day_is_the_readers_day():
    moment = datetime(2026, 11, 26, 4, 8, tzinfo=UTC)
    with time_machine.travel(NOW, tick=False):
        with timezone.override("America/Los_Angeles"):
            assert ">Wed 25 Nov</time>" in times.when(moment)
        with timezone.override("Asia/Tokyo"):
            assert ">13:08</time>" in times.when(moment)


def test_waits():
    with time_machine.travel(NOW, tick=False):
        for span, text in ((3, "3s"), (18 * 60, "18m"), (72 * 60, "1h 12m"), (2 * 86_400, "2d"), (-5, "0s")):
            assert f">{text}</time>" in times.since(NOW - timedelta(seconds=span))
        assert ">18m ago</time>" in times.since(NOW - timedelta(minutes=18), ago=True)


def test_a_missing_moment_is_a_dash():
    assert times.when(None) == times.clock_time(None) == times.since(None) == "—"


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_stored_moment_is_drawn(us: int):
    with timezone.override("Pacific/Kiritimati"):
        assert times.when(us).startswith("<time")
        assert times.since(us).startswith("<time")
