"""What the page of a session shows of its stories: those written down in it and those it works on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from backlog_app.models import BacklogItem, LinkKind, StoryLink, StoryStatus
from backlog_app.queries.history import NOUN
from backlog_app.queries.stories import begun
from contextdash.clock import from_us, to_us
from contextdash.models import Change
from sessions_app.models import Session
from sessions_app.registry import Exported, Panel, Row, Window, registry

ROW_TEMPLATE = "board/_timeline_row.html"
PANEL_STORIES = 200


@dataclass(frozen=True, slots=True)
class Told:
    """A row of the timeline: a story, and what became of it."""

    story: BacklogItem
    status: str
    reason: str = ""


def register() -> None:
    registry.add_timeline("story", timeline_rows)
    registry.add_panel(
        Panel(
            slug="backlog",
            title="Stories",
            template="board/_panel.html",
            context=panel_context,
            count=lambda session: session.story_count,
            styles="pages/board.css",
        )
    )
    registry.add_export(
        Exported(
            noun="stories",
            title="Stories",
            rows=lambda session: BacklogItem.objects.filter(session=session, deleted_at=None),
            head="story",
            words=("status", "assigned_agent", "priority", "ts"),
            texts=("acceptance_criteria",),
        )
    )


def panel_context(session: Session) -> dict[str, Any]:
    rows = begun(_stories(session)).order_by("status", "rank")[:PANEL_STORIES]
    return {"stories": list(rows), "most": PANEL_STORIES}


def timeline_rows(session: Session, window: Window) -> Sequence[Row]:
    """Stories written down in the session, and the moves of stories that it works on, as they happened."""
    if window.only_failed:
        return []
    rows = [*_written(session, window), *_moved(session, window)]
    return sorted(rows, key=lambda row: (row.at_us, row.key))[-window.limit :]


def _written(session: Session, window: Window) -> list[Row]:
    stories = BacklogItem.objects.filter(
        session=session, deleted_at=None, ts__gte=from_us(window.start_us), ts__lt=from_us(window.end_us)
    )
    newest = begun(stories).order_by("-ts", "-id")[: window.limit]
    return [_row(story, story.ts, Told(story, "added"), f"s-{story.pk}") for story in newest]


def _moved(session: Session, window: Window) -> list[Row]:
    stories = {str(story.pk): story for story in begun(_stories(session))[:PANEL_STORIES]}
    changes = Change.objects.filter(
        noun=NOUN,
        row_id__in=stories,
        field="status",
        at__gte=from_us(window.start_us),
        at__lt=from_us(window.end_us),
    )
    return [
        _row(
            stories[change.row_id],
            change.at,
            Told(stories[change.row_id], change.new or "", change.reason),
            f"s-{change.row_id}-{change.pk}",
        )
        for change in changes.order_by("-id")[: window.limit]
    ]


def _stories(session: Session) -> QuerySet[BacklogItem]:
    linked = StoryLink.objects.filter(kind=LinkKind.SESSION, ref=session.id).values("story")
    return BacklogItem.objects.filter(Q(session=session) | Q(pk__in=linked), deleted_at=None)


def _row(story: BacklogItem, at: datetime, told: Told, key: str) -> Row:
    return Row(
        at_us=to_us(at),
        kind="story",
        key=key,
        agent=story.assigned_agent or "you",
        item=told,
        template=ROW_TEMPLATE,
        person=told.status == StoryStatus.BLOCKED and story.status == StoryStatus.BLOCKED,
    )
