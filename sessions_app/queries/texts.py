"""Long texts in lists: only their beginnings are read, since one may be 8 MiB."""

from django.db import models
from django.db.models import QuerySet
from django.db.models.functions import Left

from contextdash.cleaning import shorten


def with_starts[M: models.Model](rows: QuerySet[M], chars: int, *fields: str) -> QuerySet[M]:
    """The rows without these texts, but with ``<field>_start``: one character more than ``chars``."""
    starts = {f"{field}_start": Left(field, chars + 1) for field in fields}
    started: QuerySet[M] = rows.defer(*fields).annotate(**starts)
    return started


def text_or_start(row: models.Model, field: str, chars: int) -> str | None:
    """The whole text, or its shortened beginning where the row was read ``with_starts``."""
    deferred = field in row.get_deferred_fields()
    text: str | None = getattr(row, f"{field}_start" if deferred else field)
    return shorten(text, chars) if deferred and text is not None else text
