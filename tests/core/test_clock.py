"""The one parser of times from outside."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextdash import clock

MOMENT = 1_783_699_488_905_079  # 2026-07-10T16:04:48.905079Z


@pytest.mark.parametrize(
    "text",
    [
        "2026-07-10T16:04:48.9050792Z",
        "2026-07-10T16:04:48.905079Z",
        "2026-07-10T16:04:48.905079123z",
        "2026-07-10 16:04:48.905079",
        "2026-07-10T16:04:48,905079",
        "2026-07-10T18:04:48.905079+02:00",
        "2026-07-10T18:04:48.905079+0200",
        "2026-07-10T18:04:48.905079 +02",
        "2026-07-10T08:34:48.905079-07:30",
        "  2026-07-10T16:04:48.905079Z ",
        MOMENT,
        str(MOMENT),
    ],
)
def test_every_way_to_write_a_moment_is_the_same_moment(text):
    assert clock.parse_us(text) == MOMENT


@pytest.mark.parametrize(
    ("value", "us"),
    [
        ("2026-07-10", 1_783_641_600_000_000),
        ("2026-07-10T16:04Z", 1_783_699_440_000_000),
        ("2026-07-10T16:04:60Z", 1_783_699_500_000_000),
        ("2026-07-10T16:04:48.9Z", 1_783_699_488_900_000),
        (1_783_699_488, 1_783_699_488_000_000),
        (1_783_699_488.5, 1_783_699_488_500_000),
        ("1783699488.5", 1_783_699_488_500_000),
        (1_783_699_488_905, 1_783_699_488_905_000),
        (1_783_699_488_905.5, 1_783_699_488_905_500),
        (0, 0),
    ],
)
def test_short_forms_seconds_and_milliseconds_are_known(value, us):
    assert clock.parse_us(value) == us


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "now",
        "10/07/2026",
        "2026-13-01",
        "2026-02-30",
        "2026-07-10T25:00:00Z",
        "2026-07-10T16:04:61Z",
        "2026-07-10T16:04:48+99:99",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "1969-12-31T23:59:59Z",
        -1,
        -1.5,
        10**30,
        float("nan"),
        float("inf"),
        1e300,
        "9" * 400,
        "٢٠٢٦-٠٧-١٠",
        "١٧٨٣٦٩٩٤٨٨",
        [],
        {},
        b"2026-07-10",
    ],
    ids=repr,
)
def test_what_is_no_time_is_none_and_never_an_error(value):
    assert clock.parse_us(value) is None
    assert clock.parse_time(value) is None


@given(st.text() | st.integers() | st.floats() | st.none() | st.booleans())
def test_any_value_has_a_moment_within_reach_or_none(value):
    us = clock.parse_us(value)
    assert us is None or 0 <= us <= clock.MAX_US


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001
def test_what_is_written_is_read_back(moment):
    assert clock.parse_time(clock.iso(moment)) == moment
    assert clock.from_us(clock.to_us(moment)) == moment


def test_times_are_written_with_six_digits_and_z():
    assert clock.iso(clock.from_us(MOMENT)) == "2026-07-10T16:04:48.905079Z"
    assert clock.iso(clock.from_us(0)) == "1970-01-01T00:00:00.000000Z"


def test_microseconds_out_of_reach_are_moved_to_its_border():
    assert clock.from_us(-5) == clock.EPOCH
    assert clock.from_us(2**63).year == 9999


@pytest.mark.parametrize(
    ("text", "length"),
    [("90s", 90), ("30m", 1800), ("2h", 7200), (" 7d ", 604_800), ("0s", 0)],
)
def test_a_window_is_a_number_and_a_unit(text, length):
    assert clock.parse_window(text) == timedelta(seconds=length)


@pytest.mark.parametrize("text", ["", "2", "h", "2 h", "-2h", "2.5h", "2w", "9999999s", "٢h", "2h2m"])
def test_another_window_is_none(text):
    assert clock.parse_window(text) is None
