"""Own prices of models; what was counted by another price is priced anew after the commit."""

from collections.abc import Mapping
from decimal import Decimal

from django.db import transaction

from contextdash.actor import Actor
from contextdash.fields import word
from contextdash.limits import NAME_CHARS
from contextdash.services.changing import record
from contextdash.writer import write
from sessions_app.models import PriceOverride
from sessions_app.services.usage import reprice

FIELDS = (
    "input_price",
    "output_price",
    "cache_read_price",
    "cache_write_5m_price",
    "cache_write_1h_price",
)


@write
def set_price(
    *, model: str, prices: Mapping[str, Decimal], active: bool = True, actor: Actor, reason: str = ""
) -> PriceOverride:
    """Set the price of a model in US dollars for a million tokens; not ``active``: the library's holds.

    Raises:
        Invalid: the model's name is empty or too long.
    """
    name = word(model, "model", chars=NAME_CHARS)
    row = PriceOverride.objects.filter(model=name).first() or PriceOverride(model=name)
    values: dict[str, Decimal | bool] = {field: prices.get(field, Decimal(0)) for field in FIELDS}
    for field, new in {**values, "active": active}.items():
        old = getattr(row, field)
        if row.pk is None or old != new:
            _tell(name, field, old if row.pk else None, new, actor, reason)
        setattr(row, field, new)
    row.save()
    transaction.on_commit(lambda: _reprice(name))
    return row


def _reprice(model: str) -> None:
    reprice(model)


def _tell(model: str, field: str, old: object, new: object, actor: Actor, reason: str) -> None:
    record(noun="price", row_id=model, field=field, old=old, new=new, actor=actor, reason=reason)
