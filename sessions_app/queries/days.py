"""Days of the reader's zone as moments."""

from datetime import date, datetime, time

from django.utils import timezone

from contextdash.clock import to_us


def midnight_us(day: date) -> int:
    """When a day begins in the reader's zone, in µs."""
    return to_us(datetime.combine(day, time.min, tzinfo=timezone.get_current_timezone()))
