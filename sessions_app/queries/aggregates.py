"""Documents of extensions, listed and looked for by what their writers say of them."""

from collections.abc import Sequence

from django.db.models import QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from contextdash.errors import Invalid
from contextdash.limits import AGGREGATE_ROWS
from sessions_app.models import Aggregate, Session

FILTERS = 8
"""The most fields of ``index_data`` that one list is narrowed by."""


def aggregate_list(
    *,
    extension: str,
    kind: str = "",
    scope: str = "",
    session: Session | None = None,
    index: Sequence[str] = (),
) -> list[Aggregate]:
    """Newest update first, at most AGGREGATE_ROWS. ``index`` holds ``name=value``, compared as text.

    Raises:
        Invalid: a part of ``index`` is not of that form, or there are too many.
    """
    rows = Aggregate.objects.filter(extension=extension).select_related("session")
    if kind:
        rows = rows.filter(kind=kind.lstrip(":"))
    if scope:
        rows = rows.filter(scope=scope)
    if session is not None:
        rows = rows.filter(session=session)
    if len(index) > FILTERS:
        raise Invalid(f"Narrow it by at most {FILTERS} fields.", field="index")
    for number, pair in enumerate(index):
        rows = _narrowed(rows, number, pair)
    return list(rows.order_by("-updated_us", "-id")[:AGGREGATE_ROWS])


def _narrowed(rows: QuerySet[Aggregate], number: int, pair: str) -> QuerySet[Aggregate]:
    name, sign, value = pair.partition("=")
    if not (name and sign):
        raise Invalid("index must be name=value.", field="index")
    told = Cast(KeyTextTransform(name, "index_data"), TextField())
    return rows.alias(**{f"told_{number}": told}).filter(**{f"told_{number}": value})
