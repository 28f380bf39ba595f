"""What needs a person now: the rule of each kind, written once.

The navigation counts by these and Today lists by these, so the number beside "Today" is the number of things
on the page.
"""

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Count, Q, QuerySet

from backlog_app.models import BacklogItem, StoryStatus
from contextdash import clock
from contextdash.pages import failing
from reviews_app.models import BLOCKING_RANK, Review
from reviews_app.queries import tallies
from sessions_app.models import AgentMessage, Decision, Session
from sessions_app.queries.handoffs import open_handoffs
from sessions_app.queries.states import states_q
from sessions_app.vocabulary import Activity, DecisionStatus, SessionStatus

FORGET_AFTER = timedelta(days=2)
"""Stale and errored sessions older than this are history, not work."""

HANDOFFS = 100
"""More hand-offs than this are counted as so many."""


def sessions(project: str | None) -> QuerySet[Session]:
    """Those that wait for an answer, fell silent at work, or ended in an error."""
    now_us = clock.now_us()
    lately = Q(last_us__gte=clock.to_us(clock.now() - FORGET_AFTER))
    at_rest = ~Q(activity__in=[Activity.WORKING, Activity.WAITING])
    errored = at_rest & Q(status=SessionStatus.ERRORED) & lately
    rows = Session.objects.filter(deleted_at=None, archived_at=None)
    rows = rows.filter(Q(activity=Activity.WAITING) | states_q(("stale",), now_us) & lately | errored)
    return rows.filter(project__slug=project) if project else rows


def working(project: str | None) -> QuerySet[Session]:
    """At work and not silent, subagents included."""
    rows = Session.objects.filter(deleted_at=None, archived_at=None).filter(
        states_q(("working",), clock.now_us())
    )
    return rows.filter(project__slug=project) if project else rows


def handoffs(project: str | None) -> Sequence[AgentMessage]:
    return open_handoffs(project=project, limit=HANDOFFS)


def findings(project: str | None) -> QuerySet[Review]:
    """Open Critical and High findings."""
    rows = Review.objects.filter(open_rank__lte=BLOCKING_RANK)
    return rows.filter(project__slug=project) if project else rows


def conflicts(project: str | None) -> QuerySet[Decision]:
    rows = Decision.objects.filter(status=DecisionStatus.CONFLICT)
    return rows.filter(project__slug=project) if project else rows


def stories(project: str | None) -> QuerySet[BacklogItem]:
    rows = BacklogItem.objects.filter(status=StoryStatus.BLOCKED, deleted_at=None)
    return rows.filter(project__slug=project) if project else rows


def count(project: str | None) -> int:
    topics = conflicts(project).order_by().values("project", "topic").distinct()
    return (
        sessions(project).count()
        + len(handoffs(project))
        + tallies.blocking_count(project=project or "")
        + topics.count()
        + stories(project).count()
        + len(failing.reports().failing)
    )


def working_count(project: str | None) -> dict[str, int]:
    """``sessions`` and ``subagents`` at work."""
    rows = working(project)
    return rows.aggregate(
        sessions=Count("key", filter=Q(parent=None)), subagents=Count("key", filter=Q(parent__isnull=False))
    )
