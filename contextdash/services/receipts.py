"""A writer's post with an ``Idempotency-Key`` happens once, however often it is sent."""

from collections.abc import Callable

from django.db import models

from contextdash import clock
from contextdash.errors import Conflict
from contextdash.models import Receipt
from contextdash.writer import write


@write
def once[M: models.Model](*, digest: bytes, body_digest: bytes, model: type[M], create: Callable[[], M]) -> M:
    """What ``create`` makes, or what it made when this digest was first seen.

    Raises:
        Conflict: the key was used for another body.
    """
    known = Receipt.objects.filter(digest=digest).first()
    if known is not None:
        if bytes(known.body_digest) != body_digest:
            raise Conflict("This Idempotency-Key was used for another body. Use a new key.")
        return model._default_manager.get(pk=known.row_id)
    row = create()
    Receipt.objects.create(
        digest=digest,
        body_digest=body_digest,
        noun=model._meta.db_table,
        row_id=str(row.pk),
        at=clock.now(),
    )
    return row
