"""A full board, stored in bulk: what the speed of the pages is measured on."""

from datetime import timedelta

from backlog_app import ranks
from backlog_app.models import BacklogItem, Criterion, LinkKind, StoryLink, StoryStep
from backlog_app.services import sprints
from contextdash import clock
from contextdash.actor import SYSTEM
from tests import factories

AGENTS = ["backend-developer", "tester", "frontend-developer", "devops", None]
COLUMNS = ["todo", "in_progress", "review", "blocked"]


def fill(open_stories: int = 500, done: int = 60) -> None:
    sprint = sprints.create_sprint(name="Sprint 14", goal="Refunds are safe to retry", actor=SYSTEM)
    sprints.start_sprint(sprint_id=sprint.pk, actor=SYSTEM)
    session = factories.session("working-session", title="Make refunds idempotent", activity="working")
    now = clock.now()
    statuses = [COLUMNS[n % 4] for n in range(open_stories)] + ["done"] * done
    keys = ranks.spread(len(statuses))
    rows = BacklogItem.objects.bulk_create(
        BacklogItem(
            story=f"As a merchant, I want refund {n} to be answered once, so that money moves once",
            acceptance_criteria="- one refund per key\n- same id in both answers\n- no new store",
            status=status,
            rank=keys[n],
            priority=n % 5 + 1,
            estimate=n % 8 or None,
            assigned_agent=AGENTS[n % 5],
            sprint=sprint if n % 2 else None,
            criteria_total=3,
            criteria_met=n % 4,
            ts=now - timedelta(hours=n),
            changed_at=now - timedelta(minutes=n),
        )
        for n, status in enumerate(statuses)
    )
    Criterion.objects.bulk_create(
        Criterion(story=row, position=position, text=text)
        for row in rows
        for position, text in enumerate(("one refund per key", "same id in both answers", "no new store"), 1)
    )
    StoryStep.objects.bulk_create(
        StoryStep(story=row, at=row.ts, status=row.status, sprint_id=row.sprint_id, estimate=row.estimate)
        for row in rows
    )
    StoryLink.objects.bulk_create(
        StoryLink(story=row, kind=LinkKind.SESSION, ref=session.id, created_at=now) for row in rows[::3]
    )
