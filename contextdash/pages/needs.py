"""What needs a person now: each kind is one indexed query, counted for the frame and read for Today.

A kind's rule is written once here, so that the number in the navigation is the number of rows on the page.
"""

from datetime import timedelta

from django.db.models import Q, QuerySet

from backlog_app.models import BacklogItem, StoryStatus
from contextdash import clock
from reviews_app.models import Review
from reviews_app.models.review import Resolution
from sessions_app.models import AgentMessage, Decision, Session
from sessions_app.vocabulary import Activity, DecisionStatus, MessageRole, SessionStatus

STUCK_AFTER = timedelta(minutes=30)
"""A session at work that has said nothing for so long is stuck: its process has died, or its call hangs."""

FORGET_AFTER = timedelta(days=2)
"""Stuck and errored sessions older than this are history, not work."""

WORST_RANK = 2
"""Critical and High."""


def waiting(project: str | None) -> QuerySet[Session]:
    return _live(Activity.WAITING, project)


def working(project: str | None) -> QuerySet[Session]:
    """At work, stuck ones left out."""
    return _live(Activity.WORKING, project).filter(last_us__gte=_us_ago(STUCK_AFTER))


def stuck(project: str | None) -> QuerySet[Session]:
    return _live(Activity.WORKING, project).filter(
        last_us__lt=_us_ago(STUCK_AFTER), last_us__gte=_us_ago(FORGET_AFTER)
    )


def errored(project: str | None) -> QuerySet[Session]:
    rows = Session.objects.filter(deleted_at=None, archived_at=None, status=SessionStatus.ERRORED)
    return _of(rows.filter(last_us__gte=_us_ago(FORGET_AFTER)), project)


def handoffs(project: str | None) -> QuerySet[AgentMessage]:
    rows = AgentMessage.objects.filter(role=MessageRole.HANDOFF, acknowledged_at=None)
    rows = rows.filter(session__deleted_at=None)
    return rows.filter(session__project__slug=project) if project else rows


def findings(project: str | None) -> QuerySet[Review]:
    """Open ones, of whatever severity."""
    return _of(Review.objects.filter(resolution__in=[Resolution.OPEN, Resolution.REOPENED]), project)


def bad_findings(project: str | None) -> QuerySet[Review]:
    return findings(project).filter(severity_rank__lte=WORST_RANK)


def conflicts(project: str | None) -> QuerySet[Decision]:
    return _of(Decision.objects.filter(status=DecisionStatus.CONFLICT), project)


def blocked(project: str | None) -> QuerySet[BacklogItem]:
    return _of(BacklogItem.objects.filter(status=StoryStatus.BLOCKED), project)


def _live(activity: Activity, project: str | None) -> QuerySet[Session]:
    # The second condition is implied by the first; it is what lets the partial index of live sessions serve.
    rows = Session.objects.filter(~Q(activity=Activity.ENDED), deleted_at=None, activity=activity)
    return _of(rows, project)


def _of[Q_: QuerySet[Session] | QuerySet[Review] | QuerySet[Decision] | QuerySet[BacklogItem]](
    rows: Q_, project: str | None
) -> Q_:
    return rows.filter(project__slug=project) if project else rows  # type: ignore[return-value]


def _us_ago(span: timedelta) -> int:
    return clock.to_us(clock.now() - span)
