"""Bodies that could not be stored, kept to look at."""

from contextdash import clock
from contextdash.cleaning import clean, one_line
from contextdash.limits import NAME_CHARS, QUARANTINE_BYTES, SESSION_ID_CHARS
from contextdash.redaction import mask
from contextdash.writer import write
from sessions_app.models import Quarantined
from sessions_app.services import hook_buckets
from sessions_app.vocabulary import Source


def refused_row(
    *,
    client: str,
    event: str,
    reason: str,
    detail: str,
    body: bytes,
    body_size: int | None = None,
    session_id: str = "",
    source: str = Source.HOOK,
) -> Quarantined:
    """The row, not stored yet: the first QUARANTINE_BYTES of the body, masked."""
    # Some more than is kept, so that a secret at the border is still seen whole.
    beginning = body[: 2 * QUARANTINE_BYTES].decode("utf-8", "replace")
    return Quarantined(
        source=source,
        client=one_line(clean(client), 40),
        event=one_line(clean(event), NAME_CHARS),
        session_id=session_id[:SESSION_ID_CHARS],
        reason=reason,
        detail=mask(clean(detail)),
        body=mask(beginning).encode()[:QUARANTINE_BYTES],
        body_size=len(body) if body_size is None else body_size,
        at=clock.now(),
    )


@write
def quarantine_delivery(
    *, client: str, event: str, reason: str, detail: str, body: bytes, body_size: int | None = None
) -> Quarantined:
    """Keep a delivery that was refused, and count it. ``body_size`` where not all of it was read."""
    row = refused_row(
        client=client, event=event, reason=reason, detail=detail, body=body, body_size=body_size
    )
    row.save()
    counts = hook_buckets.Counts()
    counts.add(clock.now_us(), row.client, row.event, "refused")
    hook_buckets.add_counts(counts)
    return row
