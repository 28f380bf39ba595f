"""A writer's post with an ``Idempotency-Key`` happens once, however often it is sent."""

from collections.abc import Callable

from django.db import IntegrityError, models

from contextdash import clock
from contextdash.errors import Conflict
from contextdash.models import Receipt
from contextdash.writer import write


def once[M: models.Model](*, digest: bytes, body_digest: bytes, model: type[M], create: Callable[[], M]) -> M:
    """What ``create`` makes, or what it made when this digest was first seen.

    Raises:
        Conflict: the key was used for another body, or what it made is gone.
    """
    return once_and_tell(digest=digest, body_digest=body_digest, model=model, create=create)[0]


def once_and_tell[M: models.Model](
    *, digest: bytes, body_digest: bytes, model: type[M], create: Callable[[], M]
) -> tuple[M, bool]:
    """As ``once``, and whether it happened just now."""
    try:
        return _once(digest=digest, body_digest=body_digest, model=model, create=create)
    except IntegrityError:
        # PostgreSQL: the same key was stored by another connection at this very moment; ours was undone.
        known = _known(digest, body_digest, model)
        if known is None:
            raise
        return known, False


@write
def _once[M: models.Model](
    *, digest: bytes, body_digest: bytes, model: type[M], create: Callable[[], M]
) -> tuple[M, bool]:
    known = _known(digest, body_digest, model)
    if known is not None:
        return known, False
    row = create()
    Receipt.objects.create(
        digest=digest,
        body_digest=body_digest,
        noun=model._meta.db_table,
        row_id=str(row.pk),
        at=clock.now(),
    )
    return row, True


def _known[M: models.Model](digest: bytes, body_digest: bytes, model: type[M]) -> M | None:
    receipt = Receipt.objects.filter(digest=digest).first()
    if receipt is None:
        return None
    if bytes(receipt.body_digest) != body_digest or receipt.noun != model._meta.db_table:
        raise Conflict("This Idempotency-Key was used for another body. Use a new key.")
    row = model._default_manager.filter(pk=receipt.row_id).first()
    if row is None:
        raise Conflict("What this Idempotency-Key made is gone. Use a new key to make it again.")
    return row
