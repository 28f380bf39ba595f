"""What every write of the board begins with and leaves behind."""

from datetime import datetime

from django.db.models import F

from backlog_app.models import BacklogItem, BoardClock, StoryStep
from contextdash.errors import NotFound

CLOCK = 1


def take_turn() -> None:
    """Count the board up; on PostgreSQL also wait until no other write of the board is under way."""
    if not BoardClock.objects.filter(pk=CLOCK).update(version=F("version") + 1):
        BoardClock.objects.bulk_create([BoardClock(pk=CLOCK)], ignore_conflicts=True)
        BoardClock.objects.filter(pk=CLOCK).update(version=F("version") + 1)


def living(story_id: int) -> BacklogItem:
    """The story of that number.

    Raises:
        NotFound: there is none, or it was deleted.
    """
    found = BacklogItem.objects.filter(pk=story_id).first()
    if found is None:
        raise NotFound(f"There is no story {story_id}.")
    if found.deleted_at is not None:
        raise NotFound(f"Story {story_id} was deleted. It can be restored from its page.")
    return found


def note_step(story: BacklogItem, at: datetime) -> None:
    """Remember where the story stands from now on, for the charts."""
    StoryStep.objects.create(
        story=story,
        at=at,
        status=story.status,
        sprint_id=story.sprint_id,
        estimate=story.estimate,
        deleted=story.deleted_at is not None,
    )
