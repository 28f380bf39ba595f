"""Counts of findings, read from the tally, and the live version of the pages that show them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet, Sum

from contextdash import clock
from contextdash.prepared import Prepared, given_text, totals
from reviews_app.models import BLOCKING_RANK, OPEN_STATES, ReviewTally
from reviews_app.queries.findings import FILTER_NAMES, State, newest_gate_event_id
from sessions_app.vocabulary import GATE_HOOKS

REVIEWERS_OFFERED = 40
FRESHNESS_US = 300_000_000


@dataclass(frozen=True, slots=True)
class Counts:
    open_by_rank: dict[int, int] = field(default_factory=dict)
    closed_by_rank: dict[int, int] = field(default_factory=dict)
    by_state: dict[State, int] = field(default_factory=dict)

    @property
    def tiles(self) -> list[tuple[str, int, int]]:
        """(severity, open, closed), the worst first; "Other" only when there is one."""
        return [
            (name, self.open_by_rank.get(rank, 0), self.closed_by_rank.get(rank, 0))
            for rank, name in FILTER_NAMES.items()
            if name != "Other" or self.open_by_rank.get(rank) or self.closed_by_rank.get(rank)
        ]


def writes() -> int:
    """Grows with every finding that is written or changed."""
    told = _WRITES.one()
    return told[0] or 0 if told else 0


_WRITES = Prepared(lambda: totals(ReviewTally.objects.all(), writes=Sum("writes")))


def version() -> str:
    """Changes with every finding that is written, changed or asked about at the gate."""
    # A page also says what is fresh, which ends without any write.
    return f"{writes()}.{newest_gate_event_id(GATE_HOOKS[0])}.{clock.now_us() // FRESHNESS_US}"


def _counts(of_project: bool) -> QuerySet[ReviewTally, Any]:
    rows = ReviewTally.objects.order_by()
    if of_project:
        rows = rows.filter(project__slug=given_text("project"))
    return rows.values_list("severity_rank", "resolution").annotate(n=Sum("count"))


_COUNTS = Prepared(_counts)


def counts(*, project: str = "") -> Counts:
    made = Counts(by_state=dict.fromkeys(State, 0))
    for rank, resolution, n in _COUNTS.rows(bool(project), project=project):
        is_open = resolution in OPEN_STATES
        per_rank = made.open_by_rank if is_open else made.closed_by_rank
        per_rank[rank] = per_rank.get(rank, 0) + n
        made.by_state[State.ALL] += n
        if is_open:
            made.by_state[State.OPEN] += n
        elif resolution in State:
            made.by_state[State(resolution)] += n
    return made


def reviewers(*, project: str = "") -> Sequence[str]:
    """Who wrote findings, the busiest first, at most REVIEWERS_OFFERED."""
    rows = ReviewTally.objects.order_by()
    if project:
        rows = rows.filter(project__slug=project)
    grouped = rows.values("reviewer_agent").annotate(n=Sum("count")).order_by("-n", "reviewer_agent")
    return [row["reviewer_agent"] for row in grouped[:REVIEWERS_OFFERED]]


def open_count(*, project: str = "") -> int:
    """How many findings are open."""
    return counts(project=project).by_state[State.OPEN]


def blocking_count(*, project: str = "") -> int:
    """How many open findings are Critical or High."""
    made = counts(project=project)
    return sum(n for rank, n in made.open_by_rank.items() if rank <= BLOCKING_RANK)
