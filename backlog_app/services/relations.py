"""Comments, links and dependencies of a story."""

from collections import deque

from backlog_app.models import BacklogItem, Dependency, LinkKind, StoryComment, StoryLink
from backlog_app.services.turns import living, take_turn
from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid, NotFound
from contextdash.fields import text, word
from contextdash.ids import diff_key, session_id
from contextdash.services.changing import record
from contextdash.writer import write

NOUN = "sprint_backlog"


@write
def comment_on(*, story_id: int, body: str, actor: Actor, agent: str | None = None) -> StoryComment:
    """Say something about a story, in the agent's name or the actor's own."""
    take_turn()
    story = living(story_id)
    made = StoryComment.objects.create(
        story=story,
        author=word(agent, "agent", required=False) or actor.name,
        body=text(body, "body"),
        ts=clock.now(),
    )
    _touched(story)
    return made


@write
def link_story(*, story_id: int, kind: str, ref: str, actor: Actor) -> StoryLink:
    """Tie a story to a session, decision, finding, plan or diff hash; twice is once.

    Raises:
        Invalid: no such kind, or the reference is not one of that kind.
    """
    take_turn()
    return join(living(story_id), kind, ref, actor=actor)


def join(story: BacklogItem, kind: str, ref: str, *, actor: Actor) -> StoryLink:
    """``link_story`` for who has the turn already."""
    if kind not in LinkKind.values:
        raise Invalid(f"kind is one of {', '.join(LinkKind.values)}.", field="kind")
    made, new = StoryLink.objects.get_or_create(
        story=story, kind=kind, ref=_reference(kind, ref), defaults={"created_at": clock.now()}
    )
    if new:
        _touched(story)
        record(noun=NOUN, row_id=story.pk, field=f"link {kind}", old=None, new=made.ref, actor=actor)
    return made


@write
def unlink_story(*, story_id: int, link_id: int, actor: Actor, reason: str = "") -> None:
    take_turn()
    story = living(story_id)
    link = StoryLink.objects.filter(pk=link_id, story=story).first()
    if link is None:
        raise NotFound(f"Story {story_id} has no link {link_id}.")
    link.delete()
    _touched(story)
    record(
        noun=NOUN,
        row_id=story.pk,
        field=f"link {link.kind}",
        old=link.ref,
        new=None,
        actor=actor,
        reason=reason,
    )


@write
def add_dependency(*, story_id: int, blocked_by_id: int, actor: Actor, reason: str = "") -> Dependency:
    """Say that a story waits for another; twice is once.

    Raises:
        Conflict: the other waits for this one already, directly or through others.
    """
    take_turn()
    story, other = living(story_id), living(blocked_by_id)
    if story.pk == other.pk:
        raise Conflict("A story cannot wait for itself.")
    path = _way(other.pk, story.pk)
    if path:
        chain = " → ".join(f"{number}" for number in path)
        raise Conflict(f"That would be a circle: story {chain} waits for story {story.pk} already.")
    made, new = Dependency.objects.get_or_create(story=story, blocked_by=other)
    if new:
        _touched(story)
        record(
            noun=NOUN,
            row_id=story.pk,
            field="blocked by",
            old=None,
            new=other.pk,
            actor=actor,
            reason=reason,
        )
    return made


@write
def remove_dependency(*, story_id: int, blocked_by_id: int, actor: Actor, reason: str = "") -> None:
    take_turn()
    story = living(story_id)
    gone, _ = Dependency.objects.filter(story=story, blocked_by_id=blocked_by_id).delete()
    if not gone:
        raise NotFound(f"Story {story_id} does not wait for story {blocked_by_id}.")
    _touched(story)
    record(
        noun=NOUN,
        row_id=story.pk,
        field="blocked by",
        old=blocked_by_id,
        new=None,
        actor=actor,
        reason=reason,
    )


def _way(start: int, goal: int) -> list[int]:
    """The shortest chain of "waits for" from one story to another, without the goal; empty if none."""
    came_from: dict[int, int | None] = {start: None}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for next_id in Dependency.objects.filter(story_id=here).values_list("blocked_by_id", flat=True):
            if next_id == goal:
                path: list[int] = []
                step: int | None = here
                while step is not None:
                    path.append(step)
                    step = came_from[step]
                return path[::-1]
            if next_id not in came_from:
                came_from[next_id] = here
                queue.append(next_id)
    return []


def _reference(kind: str, ref: str) -> str:
    """The reference in its one form.

    Raises:
        Invalid: it is no number, or no hash of 64 hex digits.
    """
    made = word(ref, "ref")
    if kind == LinkKind.SESSION:
        return session_id(made)[0]
    if kind == LinkKind.DIFF:
        key = diff_key(made)
        if not key:
            raise Invalid("A diff hash is 64 hex digits (SHA-256).", field="ref")
        return key
    number = made.upper().lstrip("DRPF").lstrip("-")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise Invalid(f"A {kind} is named by its number.", field="ref")
    return str(int(number))


def _touched(story: BacklogItem) -> None:
    BacklogItem.objects.filter(pk=story.pk).update(changed_at=clock.now())
