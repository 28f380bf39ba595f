"""How fresh the page is and what the navigation counts."""

from dataclasses import dataclass

from django.db.models import Q, Sum

from contextdash import clock
from contextdash.pages import day
from contextdash.pages.needs import Needs
from reviews_app.queries.findings import State
from sessions_app.models import HookBucket, Session

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


def freshness(needs: Needs) -> Freshness:
    now_us = clock.now_us()
    newest = Session.objects.filter(deleted_at=None).order_by("-last_us", "-key")
    start_us = now_us - now_us % BUCKET_US
    today = HookBucket.objects.filter(start_us__gte=clock.to_us(day.start())).aggregate(
        arrived=Sum("accepted", filter=Q(start_us=start_us)), refused=Sum("refused")
    )
    return Freshness(
        drawn_us=now_us,
        last_us=newest.values_list("last_us", flat=True).first(),
        counts=Counts(
            needs=needs.count,
            waiting=needs.sessions["asked"],
            working=needs.sessions["working"],
            findings=needs.open_findings.by_state[State.OPEN],
        ),
        per_minute=round((today["arrived"] or 0) / max(1.0, (now_us - start_us) / 60_000_000)),
        refused=today["refused"] or 0,
    )
