"""What needs a person now: the rule of each kind, written once.

The navigation counts by these and Today lists by these, so the number beside "Today" is the number of things
on the page.
"""

from datetime import timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count, Q, QuerySet

from backlog_app.models import BacklogItem, StoryStatus
from contextdash import clock
from contextdash.pages import failing
from contextdash.prepared import Given, Prepared, given_number, given_text, totals
from reviews_app.models import BLOCKING_RANK, Review
from reviews_app.queries import tallies
from sessions_app.models import Session
from sessions_app.queries.decisions import contradiction_count
from sessions_app.queries.handoffs import open_handoff_count
from sessions_app.queries.states import states_q
from sessions_app.vocabulary import Activity, SessionStatus

FORGET_AFTER_US = timedelta(days=2) // timedelta(microseconds=1)
"""Stale and errored sessions older than this are history, not work."""

_KEPT = {"deleted_at": None, "archived_at": None}


class Rules:
    """The rows of one project, or of all."""

    def __init__(self, project: str | Given | None, now_us: int | Given) -> None:
        self._project = project
        self._now_us = now_us

    @property
    def waiting(self) -> QuerySet[Session]:
        """Those that wait for an answer, and those that fell silent at work."""
        return self._at_work_or_waiting.filter(self._waits)

    @property
    def session_totals(self) -> QuerySet[Session, Any]:
        """How many are waiting and of these asked for an answer; how many sessions and subagents work."""
        works = states_q(("working",), self._now_us)
        return totals(
            self._at_work_or_waiting,
            waiting=Count("key", filter=self._waits),
            asked=Count("key", filter=Q(activity=Activity.WAITING)),
            working=Count("key", filter=works & Q(parent=None)),
            working_subagents=Count("key", filter=works & Q(parent__isnull=False)),
        )

    @property
    def errored(self) -> QuerySet[Session]:
        """Those that ended in an error."""
        at_rest = ~Q(activity__in=[Activity.WORKING, Activity.WAITING])
        return self._of(Session.objects.filter(self._lately, at_rest, status=SessionStatus.ERRORED, **_KEPT))

    @property
    def working(self) -> QuerySet[Session]:
        """At work and not silent, subagents included: no need, but what the others are told from."""
        return self._of(Session.objects.filter(states_q(("working",), self._now_us), **_KEPT))

    @property
    def findings(self) -> QuerySet[Review]:
        """Open Critical and High ones."""
        return self._of(Review.objects.filter(open_rank__isnull=False, severity_rank__lte=BLOCKING_RANK))

    @property
    def stories(self) -> QuerySet[BacklogItem]:
        return self._of(BacklogItem.objects.filter(status=StoryStatus.BLOCKED, deleted_at=None))

    @property
    def _at_work_or_waiting(self) -> QuerySet[Session]:
        # That none is ended is implied; it lets the index of live sessions serve.
        live = ~Q(activity=Activity.ENDED), Q(activity__in=[Activity.WORKING, Activity.WAITING])
        return self._of(Session.objects.filter(*live, **_KEPT))

    @property
    def _waits(self) -> Q:
        return Q(activity=Activity.WAITING) | (states_q(("stale",), self._now_us) & self._lately)

    @property
    def _lately(self) -> Q:
        return Q(last_us__gte=self._now_us - FORGET_AFTER_US)

    def _of[R: (QuerySet[Session], QuerySet[Review], QuerySet[BacklogItem])](self, rows: R) -> R:
        return rows.filter(project__slug=self._project) if self._project else rows


def _asked(of_project: bool) -> Rules:
    return Rules(given_text("project") if of_project else None, given_number("now_us"))


_SESSIONS = Prepared(lambda of_project: _asked(of_project).session_totals)
_ERRORED = Prepared(lambda of_project: totals(_asked(of_project).errored, n=Count("key")))
_STORIES = Prepared(lambda of_project: totals(_asked(of_project).stories, n=Count("id")))


class Needs(Rules):
    """As it is now; each thing is counted once."""

    def __init__(self, project: str | None) -> None:
        now_us = clock.now_us()
        super().__init__(project, now_us)
        self._slug = project or ""
        self._values = {"project": project, "now_us": now_us}

    @cached_property
    def sessions(self) -> dict[str, int]:
        """``waiting`` and of these ``asked``; ``working`` and ``working_subagents``."""
        names = ("waiting", "asked", "working", "working_subagents")
        return dict(zip(names, self._counts(_SESSIONS), strict=True))

    @cached_property
    def hooks(self) -> failing.Reports:
        """Of all projects: a hook script belongs to a machine."""
        return failing.reports()

    @cached_property
    def open_findings(self) -> tallies.Counts:
        return tallies.counts(project=self._slug)

    @cached_property
    def count(self) -> int:
        worst = sum(n for rank, n in self.open_findings.open_by_rank.items() if rank <= BLOCKING_RANK)
        sessions = self.sessions["waiting"] + sum(self._counts(_ERRORED))
        others = contradiction_count(self._slug or None) + sum(self._counts(_STORIES))
        return sessions + others + open_handoff_count(self._slug or None) + worst + len(self.hooks.failing)

    def _counts(self, query: Prepared) -> tuple[int, ...]:
        return query.one(bool(self._slug), **self._values) or ()
