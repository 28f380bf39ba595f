"""Stories and sprints with sensible defaults; a test names only what it is about."""

from typing import Any

from backlog_app.models import BacklogItem
from backlog_app.services.stories import add_story
from contextdash.actor import SYSTEM


def story(text: str = "Round money in `settle()`", **values: Any) -> BacklogItem:
    values.setdefault("acceptance_criteria", "- it is rounded once")
    return add_story(story=text, **{"actor": SYSTEM, **values})


def column(status: str = "todo") -> list[int]:
    """The numbers of a column's stories, from the top."""
    rows = BacklogItem.objects.filter(status=status, deleted_at=None).order_by("rank")
    return list(rows.values_list("pk", flat=True))
