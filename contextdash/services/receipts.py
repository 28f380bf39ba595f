"""A writer's post with an ``Idempotency-Key`` happens once, however often it is sent."""

import json
from collections.abc import Callable
from typing import Any

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


def once_told(*, digest: bytes, body_digest: bytes, noun: str, act: Callable[[], Any]) -> Any:
    """What ``act`` tells, a short thing of JSON, or what it told when this digest was first seen.

    Raises:
        Conflict: the key was used for another body.
    """
    try:
        return _once_told(digest=digest, body_digest=body_digest, noun=noun, act=act)
    except IntegrityError:  # as above
        known = told_before(digest=digest, body_digest=body_digest)
        if known is None:
            raise
        return json.loads(known)


@write
def _once_told(*, digest: bytes, body_digest: bytes, noun: str, act: Callable[[], Any]) -> Any:
    known = told_before(digest=digest, body_digest=body_digest)
    if known is not None:
        return json.loads(known)
    told = act()
    # Not get_or_create: whoever comes second must be undone.
    Receipt.objects.create(
        digest=digest, body_digest=body_digest, noun=noun, told=json.dumps(told), at=clock.now()
    )
    return told


def told_before(*, digest: bytes, body_digest: bytes) -> str | None:
    """The JSON that was told when this digest was first seen.

    Raises:
        Conflict: the key was used for another body.
    """
    receipt = Receipt.objects.filter(digest=digest).first()
    if receipt is None:
        return None
    if bytes(receipt.body_digest) != body_digest:
        raise Conflict(_OTHER_BODY)
    return receipt.told


@write
def keep_told(*, digest: bytes, body_digest: bytes, noun: str, told: Any) -> None:
    """For an act of many writes, which cannot be kept together with its receipt."""
    Receipt.objects.get_or_create(
        digest=digest,
        defaults={"body_digest": body_digest, "noun": noun, "told": json.dumps(told), "at": clock.now()},
    )


_OTHER_BODY = "This Idempotency-Key was used for another body. Use a new key."


def _known[M: models.Model](digest: bytes, body_digest: bytes, model: type[M]) -> M | None:
    receipt = Receipt.objects.filter(digest=digest).first()
    if receipt is None:
        return None
    if bytes(receipt.body_digest) != body_digest or receipt.noun != model._meta.db_table:
        raise Conflict(_OTHER_BODY)
    row = model._default_manager.filter(pk=receipt.row_id).first()
    if row is None:
        raise Conflict("What this Idempotency-Key made is gone. Use a new key to make it again.")
    return row
