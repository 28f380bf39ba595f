"""A session's raw ledger, newest entry first."""

from collections.abc import Sequence
from dataclasses import dataclass

from contextdash.errors import Invalid
from sessions_app.models import Event, Session

LEDGER_ROWS = 100


@dataclass(frozen=True, slots=True)
class LedgerPage:
    items: Sequence[Event]
    """Without their payloads."""
    next: str | None


def ledger_page(session: Session, *, cursor: str | None) -> LedgerPage:
    """LEDGER_ROWS entries before the ordinal that ``cursor`` names.

    Raises:
        Invalid: the cursor is not one of ours.
    """
    rows = Event.objects.filter(session=session).defer("payload", "identity", "content")
    if cursor:
        if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 18):
            raise Invalid("This page's address is not valid. Start from the newest entry.", field="cursor")
        rows = rows.filter(ordinal__lt=int(cursor))
    found = list(rows.order_by("-ordinal")[: LEDGER_ROWS + 1])
    more = len(found) > LEDGER_ROWS
    found = found[:LEDGER_ROWS]
    return LedgerPage(found, str(found[-1].ordinal) if more else None)
