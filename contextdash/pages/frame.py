"""How fresh the page is and what the navigation counts."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet, Sum

from contextdash import clock
from contextdash.pages import day
from contextdash.pages.needs import Needs
from contextdash.prepared import Prepared, given_number, totals
from reviews_app.queries.findings import State
from sessions_app.models import HookBucket
from sessions_app.queries.sessions import newest_us

LIVE_US = 2 * 60 * 1_000_000
"""Without an event for so long the page says "Quiet"."""

BUCKET_US = 15 * 60 * 1_000_000


@dataclass(frozen=True, slots=True)
class Counts:
    needs: int
    waiting: int
    """Sessions that wait for an answer: the number in the page's title."""
    working: int
    findings: int


@dataclass(frozen=True, slots=True)
class Freshness:
    drawn_us: int
    last_us: int | None
    counts: Counts
    per_minute: int
    refused: int

    @property
    def live(self) -> bool:
        return self.last_us is not None and self.drawn_us - self.last_us < LIVE_US

    @property
    def version(self) -> str:
        counts = self.counts
        told = (counts.needs, counts.waiting, counts.working, counts.findings)
        parts = (self.last_us or 0, self.live, *told, self.refused)
        return ".".join(str(int(part)) for part in parts)


def _delivered() -> QuerySet[HookBucket, Any]:
    return totals(
        HookBucket.objects.filter(start_us__gte=given_number("midnight_us")),
        arrived=Sum("accepted", filter=Q(start_us=given_number("start_us"))),
        refused=Sum("refused"),
    )


_DELIVERED = Prepared(_delivered)


def freshness(needs: Needs) -> Freshness:
    now_us = clock.now_us()
    start_us = now_us - now_us % BUCKET_US
    told = _DELIVERED.one(midnight_us=clock.to_us(day.start()), start_us=start_us)
    arrived, refused = told or (None, None)
    return Freshness(
        drawn_us=now_us,
        last_us=newest_us(),
        counts=Counts(
            needs=needs.count,
            waiting=needs.sessions["asked"],
            working=needs.sessions["working"],
            findings=needs.open_findings.by_state[State.OPEN],
        ),
        per_minute=round((arrived or 0) / max(1.0, (now_us - start_us) / 60_000_000)),
        refused=refused or 0,
    )
