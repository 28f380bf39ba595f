"""A session as the list shows it."""

from dataclasses import dataclass

from contextdash import clock
from contextdash.rendering import times
from contextdash.rendering.ansi import plain
from sessions_app.queries.sessions import SessionRow
from sessions_app.queries.states import state_of
from sessions_app.queries.usage import Spent, spent_by


@dataclass(frozen=True, slots=True)
class ListedSession:
    """Values only, so that two rows that show the same are equal. Times are HTML as of now."""

    key: int
    id: str
    state: str
    title: str
    note: str
    """What it waits for, where it waits."""
    doing: str
    """Its current call, where it is live."""
    agent_name: str
    client: str
    branch: str
    labels: tuple[str, ...]
    turns: int
    calls: int
    failed: int
    children: int
    cost: int | None
    """Micro-dollars, with its subagents."""
    unpriced: int
    tokens: int
    pinned: bool
    archived: bool
    deleted: bool
    """Its page is gone; where it is brought back is another."""
    unseen: bool
    """It has changed since the reader looked."""
    started: str
    lasted_us: int | None
    last: str
    last_us: int


def listed(
    session: SessionRow, now_us: int, *, unseen: bool, below: Spent, labels: tuple[str, ...] = ()
) -> ListedSession:
    """``below`` is what its subagents spent."""
    spent = spent_by(session) + below
    state = state_of(session, now_us)
    live = state in ("working", "waiting", "idle", "stale")
    waiting = state == "waiting" and bool(session.waiting_for)
    # What is written to a session after its end does not make it longer.
    end_us = session.last_us if session.ended_at is None else clock.to_us(session.ended_at)
    lasted = end_us - session.started_us
    return ListedSession(
        key=session.key,
        id=session.id,
        state=state,
        title=plain(session.title or session.request_head or session.id),
        note=plain(session.waiting_for) if waiting else "",
        doing=plain(session.current_call) if live and not waiting else "",
        agent_name=session.agent_name,
        client=plain(session.client),
        branch=plain(session.branch or ""),
        labels=labels,
        turns=session.turn_count,
        calls=session.call_count,
        failed=session.failed_count,
        children=session.child_count,
        cost=spent.cost_micro,
        unpriced=spent.unpriced,
        tokens=spent.input + spent.output,
        pinned=session.pinned,
        archived=session.archived_at is not None,
        deleted=session.deleted_at is not None,
        unseen=unseen,
        started=times.when(session.started_us),
        lasted_us=lasted if lasted >= 0 else None,
        last=times.since(session.last_us, ago=True) if live else times.when(session.last_us),
        last_us=session.last_us,
    )
