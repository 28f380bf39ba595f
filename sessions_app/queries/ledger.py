"""A session's raw ledger, newest entry first, narrowed by what its entries are."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from contextdash.cleaning import clean
from contextdash.errors import Invalid
from contextdash.limits import NAME_CHARS
from sessions_app.models import Event, Run, Session

LEDGER_ROWS = 100
LOOKED_AT = 20_000
"""How many ordinals one page of a narrowed ledger looks through; a rare kind takes several pages."""


@dataclass(frozen=True, slots=True)
class LedgerFilter:
    kind: str = ""
    source: str = ""
    name: str = ""
    """A part of the event's name, in either case."""
    turn: int | None = None
    run: int | None = None
    """Which attempt at the turn; all of them without it."""

    @property
    def narrows(self) -> bool:
        return bool(self.kind or self.source or self.name or self.turn is not None)


@dataclass(frozen=True, slots=True)
class LedgerPage:
    items: Sequence[Event]
    """Without their payloads."""
    next: str | None
    looked_to: int | None = None
    """The ordinal down to which was looked, where that was not the end."""


def ledger_page(
    session: Session,
    *,
    cursor: str | None,
    wanted: LedgerFilter = LedgerFilter(),
    after: int | None = None,
) -> LedgerPage:
    """LEDGER_ROWS entries before the ordinal that ``cursor`` names, or the first ones after ``after``.

    Raises:
        Invalid: the cursor is not one of ours.
    """
    rows = _narrowed(session, wanted).defer("payload", "identity", "content")
    if after is not None:
        found = list(rows.filter(ordinal__gt=after).order_by("ordinal")[:LEDGER_ROWS])[::-1]
        return LedgerPage(found, str(found[-1].ordinal) if found and after > 0 else None)
    end = _parsed(cursor) if cursor else session.ordinal + 1
    rows = rows.filter(ordinal__lt=end)
    # Of a turn an index knows the entries; else the ledger is walked back, a stretch at a time.
    start = max(0, end - LOOKED_AT) if wanted.narrows and wanted.turn is None else 0
    found = list(rows.filter(ordinal__gte=start).order_by("-ordinal")[: LEDGER_ROWS + 1])
    if len(found) > LEDGER_ROWS:
        found = found[:LEDGER_ROWS]
        return LedgerPage(found, str(found[-1].ordinal))
    return LedgerPage(found, str(start), start) if start else LedgerPage(found, None)


def _narrowed(session: Session, wanted: LedgerFilter) -> QuerySet[Event]:
    rows = Event.objects.filter(session=session)
    which = Q()
    if wanted.kind:
        which &= Q(kind=wanted.kind)
    if wanted.source:
        which &= Q(source=wanted.source)
    if wanted.name:
        which &= Q(name__icontains=clean(wanted.name)[:NAME_CHARS])
    if wanted.turn is not None:
        runs = Run.objects.filter(turn__session=session, turn__number=wanted.turn)
        runs = runs if wanted.run is None else runs.filter(number=wanted.run)
        which &= Q(run__in=list(runs.values_list("key", flat=True)))
    return rows.filter(which)


def _parsed(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 18):
        raise Invalid("This page's address is not valid. Start from the newest entry.", field="cursor")
    return int(cursor)
