"""Moves on the board: a story to a place, and the next ready story to an agent."""

from django.db.models import F

from backlog_app import words
from backlog_app.models import BacklogItem, LinkKind, StoryStatus
from backlog_app.queries.readiness import ready_to_claim, why_nothing_is_ready
from backlog_app.services import places
from backlog_app.services.relations import join
from backlog_app.services.stories import apply
from backlog_app.services.turns import living, take_turn
from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Invalid, NotFound, Stale
from contextdash.fields import word
from contextdash.services.changing import record
from contextdash.writer import write
from sessions_app.services.sessions import named_session


@write
def move_story(
    *,
    story_id: int,
    actor: Actor,
    to_status: str | None = None,
    after_id: int | None = None,
    before_id: int | None = None,
    expected_version: int | None = None,
    reason: str = "",
) -> BacklogItem:
    """Put a story into a column, right after or right before another, else at that column's end.

    Without ``to_status`` it stays in its column. A move to where it stands already changes nothing.

    Raises:
        Stale: the story has changed since the caller read it, or the neighbour is not there any more.
        NotFound: the story was deleted.
        Invalid: no such column.
    """
    take_turn()
    row = living(story_id)
    if expected_version is not None and expected_version != row.version:
        raise Stale(
            f"Somebody changed story {row.pk} in the meantime: it is at version {row.version}, in "
            f"{_label(row.status)}, now. Look at it again and repeat the move."
        )
    status = row.status if to_status is None else words.status(to_status)
    if status != row.status and status not in words.COLUMNS:
        raise Invalid(f"The columns are {', '.join(words.COLUMNS)}.", field="status")
    if after_id is None and before_id is None:
        rank = row.rank if status == row.status else places.end_of(status, moving=row.pk)
    else:
        rank = places.beside(story=row, status=status, after_id=after_id, before_id=before_id)
    if status != row.status:
        return apply(row, {"status": status, "rank": rank}, actor=actor, reason=reason)
    return row if rank == row.rank else _reorder(row, rank, actor, reason)


@write
def claim_next(
    *,
    agent: str,
    actor: Actor,
    session_id: str | None = None,
    project: str | None = None,
    sprint_id: int | None = None,
    label: str | None = None,
) -> BacklogItem:
    """Give the agent the next ready story and put it in progress; two callers never get the same one.

    Ready is what stands in To do with criteria written, nothing it waits for, and nobody else's name on it.
    What is assigned to the agent comes first, then the higher priority, then the higher place.

    Raises:
        NotFound: nothing is ready; the text counts why (code ``nothing_ready``).
    """
    take_turn()
    name = word(agent, "agent")
    row = ready_to_claim(agent=name, project=project, sprint_id=sprint_id, label=label)
    if row is None:
        raise NotFound(
            why_nothing_is_ready(agent=name, project=project, sprint_id=sprint_id, label=label),
            code="nothing_ready",
        )
    if session_id is not None:
        session = named_session(session_id=session_id, actor=actor, agent_name=name)
        join(row, LinkKind.SESSION, session.id, actor=actor)
    return apply(
        row,
        {"status": StoryStatus.IN_PROGRESS, "assigned_agent": name},
        actor=actor,
        reason=f"claimed by {name}",
    )


def _reorder(row: BacklogItem, rank: str, actor: Actor, reason: str) -> BacklogItem:
    """Another place in the same column; the history tells it by the index that people see."""
    old = places.index_of(row)
    row.rank = rank
    new = places.index_of(row) - (1 if places.index_of(row) > old else 0)
    BacklogItem.objects.filter(pk=row.pk).update(rank=rank, version=F("version") + 1, changed_at=clock.now())
    row.version += 1
    if new != old:
        record(
            noun="sprint_backlog", row_id=row.pk, field="place", old=old, new=new, actor=actor, reason=reason
        )
    return row


def _label(status: str) -> str:
    return StoryStatus(status).label if status in words.COLUMNS else status
