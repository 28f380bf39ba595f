"""What holds stories up, for many of them at once: a review, a decision, silence."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from backlog_app.models import BacklogItem, LinkKind, StoryLink
from backlog_app.queries.readiness import BLOCKER, PUBLIC_API, review_blocks
from contextdash import clock
from reviews_app.models import BLOCKING_RANK, Review
from sessions_app.models import Decision, Session
from sessions_app.vocabulary import DecisionStatus


@dataclass(frozen=True, slots=True)
class Held:
    """Of each story that is held up, why: ``R-204 is High and open``, ``D-12 is in conflict``."""

    by_review: Mapping[int, str]
    by_decision: Mapping[int, str]
    moved_at: Mapping[int, datetime]
    """When the story or a session that works on it last moved."""


def held(stories: Sequence[BacklogItem]) -> Held:
    """In six queries, however many stories."""
    refs: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    links = StoryLink.objects.filter(story__in=[story.pk for story in stories])
    for story_id, kind, ref in links.values_list("story_id", "kind", "ref"):
        refs[kind][story_id].append(ref)
    return Held(
        by_review=_by_review(stories, refs[LinkKind.FINDING]),
        by_decision=_by_decision(stories, refs[LinkKind.DECISION]),
        moved_at=_moved_at(stories, refs[LinkKind.SESSION]),
    )


def _by_review(stories: Sequence[BacklogItem], linked: Mapping[int, Sequence[str]]) -> dict[int, str]:
    """The newest word on a linked diff, or a linked finding, is an open Critical or High."""
    blocks = review_blocks([story.pk for story in stories])
    numbers = {int(ref) for refs in linked.values() for ref in refs}
    shut = Review.objects.filter(pk__in=numbers, open_rank__lte=BLOCKING_RANK).only("severity")
    open_now = {str(review.pk): review for review in shut} if numbers else {}
    for story_id, refs in linked.items():
        for ref in refs:
            if ref in open_now:
                blocks.setdefault(story_id, open_now[ref])
    return {story_id: f"R-{review.pk} is {review.severity} and open" for story_id, review in blocks.items()}


def _by_decision(stories: Sequence[BacklogItem], linked: Mapping[int, Sequence[str]]) -> dict[int, str]:
    """A linked decision is in conflict or names a blocker; or nothing stands on the public API yet."""
    numbers = {int(ref) for refs in linked.values() for ref in refs}
    rows = Decision.objects.filter(pk__in=numbers).only("topic", "status") if numbers else ()
    decisions = {str(row.pk): row for row in rows}
    found: dict[int, str] = {}
    for story in stories:
        own = [decisions[ref] for ref in linked.get(story.pk, ()) if ref in decisions]
        standing = {row.topic: row for row in own if row.status == DecisionStatus.STANDS}
        disputed = next((row for row in own if row.status == DecisionStatus.CONFLICT), None)
        if disputed is not None:
            found[story.pk] = f"D-{disputed.pk} is in conflict"
        elif BLOCKER in standing:
            found[story.pk] = f"D-{standing[BLOCKER].pk} blocks it"
        elif touches_public_api(story) and PUBLIC_API not in standing:
            found[story.pk] = f"nothing is decided on {PUBLIC_API}"
    return found


def touches_public_api(story: BacklogItem) -> bool:
    return PUBLIC_API in (label.casefold().replace(" ", "-") for label in story.labels)


def _moved_at(stories: Sequence[BacklogItem], linked: Mapping[int, Sequence[str]]) -> dict[int, datetime]:
    sessions_of = {
        story.pk: [*linked.get(story.pk, ()), *([story.session_id] if story.session_id else [])]
        for story in stories
    }
    ids = {ref for refs in sessions_of.values() for ref in refs}
    last = dict(Session.objects.filter(id__in=ids).values_list("id", "last_us")) if ids else {}
    return {
        story.pk: max(
            [story.changed_at, *(clock.from_us(last[ref]) for ref in sessions_of[story.pk] if ref in last)]
        )
        for story in stories
    }
