"""Claims of continuations, and what a run holds that one can be made against."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Q

from contextdash.decoding import decode_json
from contextdash.errors import Conflict, Invalid, NotFound
from contextdash.ids import digest16
from sessions_app.ledger.digests import Identity, prefix_digest
from sessions_app.ledger.envelope import Sent
from sessions_app.models import ContinuationClaim, Event, Run


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a run's events come to, from the first to the last."""

    digest: str
    last_event_id: str
    gapless: bool
    """From 1 on, without a hole."""
    whole: bool
    """Nothing was masked, so the digest is what the run's writer has, too."""


@dataclass(frozen=True, slots=True)
class ClaimPage:
    items: Sequence[ContinuationClaim]
    next: str | None


def prefix_of(run: Run, identity: Identity) -> Prefix:
    """Reads every event of the run, a hundred at a time."""
    read = _Reading()
    made = prefix_digest(identity, read.of(run))
    return Prefix(
        made, read.last_event_id, gapless=read.count == read.last_seq == run.last_seq, whole=read.whole
    )


class _Reading:
    """A run's events as digests take them; what was met on the way is known at the end."""

    def __init__(self) -> None:
        self.count = self.last_seq = 0
        self.last_event_id = ""
        self.whole = True

    def of(self, run: Run) -> Iterator[tuple[int, str]]:
        rows = Event.objects.filter(run=run).exclude(seq=None).order_by("seq")
        for seq, content, payload in rows.values_list("seq", "content", "payload").iterator(chunk_size=100):
            raw = zlib.decompress(bytes(payload))
            value = decode_json(raw)
            self.count += 1
            self.last_seq = seq or 0
            self.last_event_id = str(value.get("id", "")) if isinstance(value, dict) else ""
            self.whole = self.whole and bytes(content) == digest16(raw)
            yield self.last_seq, raw.decode()


def claim_page(*, pending: bool, session: str | None, limit: int, cursor: str | None) -> ClaimPage:
    """In the order of their claims, oldest first. ``pending``: only those without a start.

    Raises:
        Invalid: the cursor is not one of ours.
    """
    rows = ContinuationClaim.objects.order_by("claimed_us", "claim_id")
    if pending:
        rows = rows.filter(start_event_id=None)
    if session:
        rows = rows.filter(source_session_id=session)
    if cursor:
        rows = rows.filter(_after(cursor))
    found = list(rows[: limit + 1])
    more = len(found) > limit
    return ClaimPage(found[:limit], _cursor(found[limit - 1]) if more else None)


def claim(claim_id: str) -> ContinuationClaim:
    """Raises NotFound for one that is not there."""
    found = ContinuationClaim.objects.filter(claim_id=claim_id).first()
    if found is None:
        raise NotFound(f"There is no claim {claim_id[:200]}.")
    return found


def check_start(run: Run, first: Sent) -> None:
    """Whether this may be the first event of a run.

    Raises:
        Conflict: it is reserved for the start of a continuation (``start_reserved``).
    """
    claim = ContinuationClaim.objects.filter(
        target_invocation_id=run.invocation_id, start_event_id=None
    ).first()
    if claim is not None and _claim_named(first) != claim.claim_id:
        raise Conflict(
            "The first event of this run is reserved: send the start of its continuation to "
            f"continuations/{claim.claim_id}/start.",
            code="start_reserved",
        )


def _claim_named(sent: Sent) -> object:
    start = sent.value.get("actions", {}).get("continuationStart")
    return start.get("claimId") if isinstance(start, dict) else None


def _cursor(claim: ContinuationClaim) -> str:
    return f"{claim.claimed_us}.{claim.claim_id}"


def _after(cursor: str) -> Q:
    us, _, claim_id = cursor.partition(".")
    if not (us.isascii() and us.isdigit() and len(us) <= 18 and claim_id):
        raise Invalid("This page's address is not valid. Start from the first page.", field="cursor")
    return Q(claimed_us__gt=int(us)) | Q(claimed_us=int(us), claim_id__gt=claim_id)
