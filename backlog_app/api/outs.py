"""How the board's rows look in answers. Times are ISO 8601 with Z."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from backlog_app.models import BacklogItem, Criterion, Sprint, StoryComment, StoryLink
from backlog_app.queries.flow import Burndown
from backlog_app.queries.stories import Whole, indexes
from backlog_app.words import column
from contextdash import clock
from contextdash.paging import Page


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else clock.iso(moment)


def story_out(story: BacklogItem, index: int) -> dict[str, Any]:
    return {
        "id": story.pk,
        "session_id": story.session_id,
        "story": story.story,
        "acceptance_criteria": story.acceptance_criteria,
        "status": story.status,
        "column": column(story.status),
        "index": index,
        "assigned_agent": story.assigned_agent,
        "priority": story.priority,
        "priority_sent": story.priority_sent or None,
        "estimate": story.estimate,
        "labels": story.labels,
        "project": story.project.slug if story.project else None,
        "sprint_id": story.sprint_id,
        "epic_id": story.epic_id,
        "criteria_met": story.criteria_met,
        "criteria_total": story.criteria_total,
        "ts": clock.iso(story.ts),
        "changed_at": clock.iso(story.changed_at),
        "started_at": _time(story.started_at),
        "done_at": _time(story.done_at),
        "deleted_at": _time(story.deleted_at),
        "version": story.version,
    }


def placed(story: BacklogItem) -> dict[str, Any]:
    """A story with its place as it is now."""
    return story_out(story, indexes([story])[story.pk])


def listed_stories(page: Page[BacklogItem]) -> dict[str, Any]:
    places = indexes(page.items)
    return {"items": [story_out(row, places[row.pk]) for row in page.items], "next": page.next}


def criterion_out(item: Criterion) -> dict[str, Any]:
    return {
        "id": item.pk,
        "position": item.position,
        "text": item.text,
        "met": item.met_at is not None,
        "met_at": _time(item.met_at),
        "met_by": item.met_by or None,
    }


def comment_out(comment: StoryComment) -> dict[str, Any]:
    return {
        "id": comment.pk,
        "author": comment.author,
        "body": comment.body,
        "ts": clock.iso(comment.ts),
    }


def link_out(link: StoryLink) -> dict[str, Any]:
    return {"id": link.pk, "kind": link.kind, "ref": link.ref, "created_at": clock.iso(link.created_at)}


def whole_out(found: Whole) -> dict[str, Any]:
    return {
        **story_out(found.story, found.index),
        "criteria": [criterion_out(item) for item in found.criteria],
        "links": [link_out(thing.link) for thing in found.things],
        "comments": [comment_out(comment) for comment in found.comments],
        "blocked_by": [row.pk for row in found.blocked_by],
        "blocks": [row.pk for row in found.blocks],
        "blocked_by_review": found.held_by_review or None,
        "ready": [asdict(rule) for rule in found.ready],
        "done": [asdict(rule) for rule in found.done],
        "stale": found.stale,
        "history": [{**asdict(entry), "at": clock.iso(entry.at)} for entry in found.history],
    }


def sprint_out(sprint: Sprint) -> dict[str, Any]:
    return {
        "id": sprint.pk,
        "name": sprint.name,
        "goal": sprint.goal,
        "project": sprint.project.slug if sprint.project else None,
        "state": sprint.state,
        "starts_on": sprint.starts_on.isoformat() if sprint.starts_on else None,
        "ends_on": sprint.ends_on.isoformat() if sprint.ends_on else None,
        "started_at": _time(sprint.started_at),
        "closed_at": _time(sprint.closed_at),
        "created_at": clock.iso(sprint.created_at),
        "version": sprint.version,
    }


def burndown_out(burned: Burndown) -> Mapping[str, Any]:
    return {
        "unit": burned.unit,
        "start": burned.start,
        "unestimated": burned.unestimated,
        "days": [
            {"day": each.day.isoformat(), "scope": each.scope, "done": each.done, "left": each.left}
            for each in burned.days
        ],
    }
