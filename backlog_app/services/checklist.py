"""A story's acceptance criteria: kept in step with its text, ticked one by one."""

from datetime import datetime

from backlog_app import criteria
from backlog_app.models import BacklogItem, Criterion
from backlog_app.services.turns import living, take_turn
from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import NotFound
from contextdash.fields import word
from contextdash.services.changing import record
from contextdash.writer import write


@write
def tick_criterion(
    *,
    story_id: int,
    criterion_id: int,
    met: bool,
    actor: Actor,
    agent: str | None = None,
    reason: str = "",
) -> Criterion:
    """Say that a criterion is met, or is not. Saying it twice keeps who said it first.

    The story's version stays, so that ticking never gets in the way of who edits its text.
    """
    take_turn()
    story = living(story_id)
    item = Criterion.objects.filter(pk=criterion_id, story=story).first()
    if item is None:
        raise NotFound(f"Story {story_id} has no criterion {criterion_id}; its text may have changed.")
    if (item.met_at is not None) == met:
        return item
    now = clock.now()
    item.met_at = now if met else None
    item.met_by = (word(agent, "agent", required=False) or actor.name) if met else ""
    item.save(update_fields=["met_at", "met_by"])
    count(story, now)
    record(
        noun="sprint_backlog",
        row_id=story.pk,
        field=f"criterion {item.position}",
        old="open" if met else "met",
        new="met" if met else "open",
        actor=actor,
        reason=reason,
    )
    return item


def keep_in_step(story: BacklogItem, *, actor: Actor, at: datetime) -> None:
    """Make the items follow the text: an item whose words stay keeps its tick. Call inside a write."""
    old = list(Criterion.objects.filter(story=story))
    new: list[Criterion] = []
    kept: list[Criterion] = []
    for position, item in enumerate(criteria.parse(story.acceptance_criteria), start=1):
        same = next((known for known in old if known.text == item.text), None)
        if same is not None:
            old.remove(same)
            same.position = position
            kept.append(same)
        else:
            met = {"met_at": at, "met_by": actor.name} if item.ticked else {}
            new.append(Criterion(story=story, position=position, text=item.text, **met))
    Criterion.objects.filter(pk__in=[gone.pk for gone in old]).delete()
    Criterion.objects.bulk_update(kept, ["position"])
    Criterion.objects.bulk_create(new)
    met_now = [item for item in (*kept, *new) if item.met_at is not None]
    story.criteria_total, story.criteria_met = len(kept) + len(new), len(met_now)
    story.save(update_fields=["criteria_total", "criteria_met"])


def count(story: BacklogItem, at: datetime) -> None:
    items = Criterion.objects.filter(story=story)
    BacklogItem.objects.filter(pk=story.pk).update(
        criteria_total=items.count(),
        criteria_met=items.filter(met_at__isnull=False).count(),
        changed_at=at,
    )
