"""Keyset pages: stable under new rows, and as fast on the thousandth page as on the first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q, QuerySet

from contextdash.clock import from_us, to_us
from contextdash.errors import Invalid


@dataclass(frozen=True, slots=True)
class Page[M]:
    items: Sequence[M]
    next: str | None
    """The cursor of the following page; None on the last."""


def page[M: models.Model](
    rows: QuerySet[M], *, limit: int, cursor: str | None, time_field: str = "ts", id_field: str = "id"
) -> Page[M]:
    """The newest ``limit`` rows before ``cursor``, by (time, id) descending.

    Raises:
        Invalid: the cursor is not one of ours.
    """
    if cursor:
        rows = rows.filter(before(cursor, rows.model, time_field, id_field))
    found = list(rows.order_by(f"-{time_field}", f"-{id_field}")[: limit + 1])
    return cut(found, limit, time_field, id_field)


def cut[M](found: Sequence[M], limit: int, time_field: str = "ts", id_field: str = "id") -> Page[M]:
    """The page of rows of which one more than ``limit`` was asked for."""
    more = len(found) > limit
    found = found[:limit]
    return Page(found, cursor_of(found[-1], time_field, id_field) if more else None)


def cursor_of(row: Any, time_field: str = "ts", id_field: str = "id") -> str:
    moment = getattr(row, time_field)
    us = to_us(moment) if isinstance(moment, datetime) else moment
    return f"{us}.{getattr(row, id_field)}"


def before(cursor: str, model: type[models.Model], time_field: str = "ts", id_field: str = "id") -> Q:
    """
    Raises:
        Invalid: the cursor is not one of ours.
    """
    us_text, _, id_text = cursor.partition(".")
    # Eighteen digits hold every time and id, and keep a hostile cursor out of integer overflow.
    if not (us_text.isascii() and us_text.isdigit() and id_text.isascii() and id_text.isdigit()):
        raise Invalid("This page's address is not valid. Start from the first page.", field="cursor")
    if len(us_text) > 18 or len(id_text) > 18:
        raise Invalid("This page's address is not valid. Start from the first page.", field="cursor")
    us, row_id = int(us_text), int(id_text)
    is_time = isinstance(model._meta.get_field(time_field), models.DateTimeField)
    moment = from_us(us) if is_time else us
    return Q(**{f"{time_field}__lt": moment}) | Q(**{time_field: moment, f"{id_field}__lt": row_id})
