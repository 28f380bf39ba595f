"""The order of a column: which key a story gets to stand where it was asked to stand. Call inside a write."""

from django.db.models import QuerySet

from backlog_app import ranks
from backlog_app.models import BacklogItem, StoryStatus
from contextdash.errors import Invalid, Stale


def end_of(status: str, *, moving: int | None = None) -> str:
    """The place of a story that arrives without saying where: the bottom, and the top of Done."""
    column = _others(status, moving)
    if status == StoryStatus.DONE:
        return _fitting("", column.order_by("rank").values_list("rank", flat=True).first(), status)
    last = column.order_by("-rank").values_list("rank", flat=True).first()
    return _fitting(last or "", None, status)


def beside(*, story: BacklogItem, status: str, after_id: int | None, before_id: int | None) -> str:
    """The key right after one story or right before another; the story's own when it stands there already.

    Raises:
        Stale: the neighbour is not in that column any more, or the two are not in that order.
        Invalid: the neighbour is the story itself.
    """
    if story.pk in (after_id, before_id):
        raise Invalid("A story cannot stand beside itself.", field="after")
    after = _neighbour(after_id, status)
    before = _neighbour(before_id, status)
    if after is not None and before is not None and after >= before:
        raise Stale("The two neighbours have changed places. Look at the board again and repeat the move.")
    column = _others(status, story.pk)
    if after is not None:
        low = after
        high = column.filter(rank__gt=after).order_by("rank").values_list("rank", flat=True).first()
    else:
        high = before
        low = (
            column.filter(rank__lt=before).order_by("-rank").values_list("rank", flat=True).first()
            if before is not None
            else None
        ) or ""
    if story.status == status and low < story.rank and (high is None or story.rank < high):
        return story.rank
    made = ranks.between(low, high)
    if len(made) <= ranks.LONGEST:
        return made
    spread_out(status)
    return beside(story=_again(story), status=status, after_id=after_id, before_id=before_id)


def spread_out(status: str) -> None:
    """Give a column short keys again, in the same order."""
    column = list(BacklogItem.objects.filter(status=status).order_by("rank", "id").only("pk", "rank"))
    # Twice, since no two stories of a column may have one key even for the length of a statement.
    for story in column:
        story.rank = f"x{story.pk}"
    BacklogItem.objects.bulk_update(column, ["rank"], batch_size=200)
    for story, key in zip(column, ranks.spread(len(column)), strict=True):
        story.rank = key
    BacklogItem.objects.bulk_update(column, ["rank"], batch_size=200)


def index_of(story: BacklogItem) -> int:
    """1 for the story at the top of its column, without gaps."""
    above = BacklogItem.objects.filter(status=story.status, rank__lt=story.rank, deleted_at=None)
    return above.count() + 1


def _others(status: str, moving: int | None) -> QuerySet[BacklogItem]:
    # Deleted stories keep their place, so they count as neighbours.
    column = BacklogItem.objects.filter(status=status)
    return column if moving is None else column.exclude(pk=moving)


def _neighbour(story_id: int | None, status: str) -> str | None:
    if story_id is None:
        return None
    found = (
        BacklogItem.objects.filter(pk=story_id, status=status, deleted_at=None)
        .values_list("rank", flat=True)
        .first()
    )
    if found is None:
        raise Stale(
            f"Story {story_id} is not in that column any more. Look at the board again and repeat the move."
        )
    return found


def _fitting(low: str, high: str | None, status: str) -> str:
    made = ranks.between(low, high)
    if len(made) <= ranks.LONGEST:
        return made
    spread_out(status)
    return end_of(status)


def _again(story: BacklogItem) -> BacklogItem:
    story.rank = BacklogItem.objects.values_list("rank", flat=True).get(pk=story.pk)
    return story
