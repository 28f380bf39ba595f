"""Hooks: what clients delivered, what scripts reported, what could not be stored."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import BinaryField, Max, QuerySet, Sum
from django.db.models.functions import Substr

from contextdash.clock import now, now_us
from contextdash.errors import NotFound
from contextdash.paging import Page, page
from contextdash.prepared import Prepared, newest_id, totals
from sessions_app.models import HookBucket, HookEvent, Quarantined
from sessions_app.vocabulary import GATE_HOOKS, HookOutcome

RANGES = {
    "1h": timedelta(hours=1),
    "24h": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
REPORTS = 5_000
"""Rates and durations are those of the newest reports of the range, so that the page costs the same."""
LONGEST_MS = 24 * 3_600_000
"""A longer or negative duration comes from a wrong clock and is left out of the percentiles."""
FAILURES = 50
PREVIEW_BYTES = 400


@dataclass(frozen=True, slots=True)
class Delivery:
    """Deliveries of one client and event in the range."""

    client: str
    event: str
    accepted: int
    duplicate: int
    refused: int
    unknown: int
    last_us: int


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    events: Sequence[Delivery]
    last_us: int
    accepted: int
    duplicate: int
    refused: int
    unknown: int


@dataclass(slots=True)
class Script:
    """Reports of one hook and event."""

    hook: str
    event: str
    outcomes: dict[str, int] = field(default_factory=dict)
    durations: list[int] = field(default_factory=list)

    @property
    def is_gate(self) -> bool:
        """What it calls a failure is an answer: this diff is not to be committed."""
        return self.hook in GATE_HOOKS

    @property
    def count(self) -> int:
        return sum(self.outcomes.values())

    @property
    def p50_us(self) -> int | None:
        return self._percentile(50)

    @property
    def p95_us(self) -> int | None:
        return self._percentile(95)

    @property
    def shares(self) -> list[tuple[str, int, float]]:
        """(outcome, count, percent), known outcomes first and in their own order."""
        order = [*HookOutcome.values, *sorted(set(self.outcomes) - set(HookOutcome.values))]
        return [
            (name, self.outcomes[name], 100 * self.outcomes[name] / self.count)
            for name in order
            if name in self.outcomes
        ]

    def _percentile(self, percent: int) -> int | None:
        if not self.durations:
            return None
        ordered = sorted(self.durations)
        # Nearest rank: always a duration that was really seen.
        return ordered[max(0, -(-percent * len(ordered) // 100) - 1)] * 1000


@dataclass(frozen=True, slots=True)
class Reports:
    scripts: Sequence[Script]
    failures: Sequence[HookEvent]
    """The last failure of each hook and event, newest first."""
    counted: int
    capped: bool


def deliveries(window: timedelta) -> list[Client]:
    """Per client, the one that delivered last first, its events by number."""
    rows = (
        HookBucket.objects.filter(start_us__gte=now_us() - window // timedelta(microseconds=1))
        .order_by("client", "event")
        .values_list("client", "event")
        .annotate(Sum("accepted"), Sum("duplicate"), Sum("refused"), Sum("unknown"), Max("last_us"))
    )
    grouped: dict[str, list[Delivery]] = defaultdict(list)
    for row in rows:
        grouped[row[0]].append(Delivery(*row))
    clients = [
        Client(
            name=name,
            events=sorted(events, key=lambda event: -event.accepted),
            last_us=max(event.last_us for event in events),
            accepted=sum(event.accepted for event in events),
            duplicate=sum(event.duplicate for event in events),
            refused=sum(event.refused for event in events),
            unknown=sum(event.unknown for event in events),
        )
        for name, events in grouped.items()
    ]
    return sorted(clients, key=lambda client: -client.last_us)


def reports(window: timedelta, *, hook: str | None = None) -> Reports:
    """Outcome rates and durations of hook scripts and the gate, by hook and event."""
    rows = HookEvent.objects.filter(ts__gte=now() - window)
    if hook:
        rows = rows.filter(hook_name=hook)
    newest = rows.order_by("-ts", "-id").values_list(
        "id", "hook_name", "event_type", "outcome", "duration_ms"
    )
    scripts: dict[tuple[str, str], Script] = {}
    failed: dict[tuple[str, str], int] = {}
    counted = 0
    for row_id, name, event, outcome, duration_ms in newest[:REPORTS]:
        counted += 1
        key = (name, event)
        script = scripts.setdefault(key, Script(name, event))
        script.outcomes[outcome] = script.outcomes.get(outcome, 0) + 1
        # A skip did nothing, and its zero would say that the hook is fast.
        if 0 <= duration_ms <= LONGEST_MS and outcome != HookOutcome.SKIP:
            script.durations.append(duration_ms)
        if outcome == HookOutcome.FAIL and name not in GATE_HOOKS:
            failed.setdefault(key, row_id)
    last = list(failed.values())[:FAILURES]
    failures = HookEvent.objects.filter(id__in=last).select_related("session").order_by("-ts", "-id")
    return Reports(
        scripts=sorted(scripts.values(), key=lambda script: (script.hook, script.event)),
        failures=list(failures),
        counted=counted,
        capped=counted == REPORTS,
    )


def quarantined(*, limit: int, cursor: str | None, reason: str | None = None) -> Page[Quarantined]:
    """Newest first; bodies are read up to PREVIEW_BYTES as ``preview``."""
    rows = Quarantined.objects.defer("body").annotate(
        preview=Substr("body", 1, PREVIEW_BYTES, output_field=BinaryField())
    )
    if reason:
        rows = rows.filter(reason=reason)
    return page(rows, limit=limit, cursor=cursor, time_field="at")


def quarantined_of(pk: int) -> Quarantined:
    """
    Raises:
        NotFound: there is none.
    """
    found = Quarantined.objects.filter(pk=pk).first() if pk < 2**63 else None
    if found is None:
        raise NotFound(f"There is no quarantined body {pk}.")
    return found


def hooks_version() -> str:
    """Changes with every delivery, report and quarantined body."""
    parts = (*(_NEWEST_BUCKET.one() or ()), newest_id(HookEvent), newest_id(Quarantined))
    return ".".join(str(part or 0) for part in parts)


def _newest_bucket() -> QuerySet[HookBucket, Any]:
    newest = HookBucket.objects.order_by("-start_us").values("start_us")[:1]
    rows = HookBucket.objects.filter(start_us=newest)
    return totals(rows, at=Max("start_us"), a=Sum("accepted"), d=Sum("duplicate"), r=Sum("refused"))


_NEWEST_BUCKET = Prepared(_newest_bucket)
