"""Work streams: sessions of one place that follow each other closely are one piece of work.

Some clients make every turn a session of its own, so "later in the session" is often "in the next session".
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Max, Q

from contextdash.clock import from_us
from sessions_app.models import AgentMessage, Session

STREAM_GAP = timedelta(hours=8)
"""A longer pause between two sessions of the same workspace and branch begins another stream."""
STREAM_SESSIONS = 5_000
"""The most sessions that are looked at; older ones count as streams of their own."""


class Place(NamedTuple):
    """Where and when a session was, named as its columns are."""

    id: str
    host: str
    workspace: str
    branch: str | None
    started_us: int


class Waiting(NamedTuple):
    """A hand-off as ``answered_in_stream`` looks at it."""

    pk: int
    target: str | None
    ts: datetime
    session: Place


def stream_of(sessions: Iterable[Place]) -> dict[str, int]:
    """For the ids of these sessions, and of all that share a stream with them, the stream's number."""
    wanted = list(sessions)
    alone = {session.id: number for number, session in enumerate(wanted)}
    places = {
        (session.host, session.workspace, session.branch or "") for session in wanted if session.workspace
    }
    if not places:
        return alone
    here = Q()
    for host, workspace, branch in places:
        here |= Q(host=host, workspace=workspace) & (
            Q(branch=branch) if branch else Q(branch=None) | Q(branch="")
        )
    oldest = min(session.started_us for session in wanted)
    rows = Session.objects.filter(here, deleted_at=None, last_us__gte=oldest)
    columns = rows.values_list("id", "host", "workspace", "branch", "started_us", "last_us")
    found = list(columns.order_by("-last_us", "-key")[:STREAM_SESSIONS])
    found.sort(key=lambda row: (row[1], row[2], row[3] or "", row[4]))
    return alone | _numbered(found, first=len(wanted))


def answered_in_stream(handoffs: Sequence[Waiting]) -> set[int]:
    """The ids of those hand-offs whose target wrote later in the same work stream."""
    streams = stream_of({message.session.id: message.session for message in handoffs}.values())
    if not handoffs:
        return set()
    said = AgentMessage.objects.filter(
        session__in=list(streams),
        agent_name__in={message.target for message in handoffs},
        ts__gte=min(message.ts for message in handoffs),
    )
    newest: dict[tuple[int, str], tuple[object, int]] = {}
    for session_id, agent, ts, row_id in said.values_list("session_id", "agent_name").annotate(
        Max("ts"), Max("id")
    ):
        key = (streams[session_id], agent)
        newest[key] = max(newest.get(key, (from_us(0), 0)), (ts, row_id))
    return {
        message.pk
        for message in handoffs
        if newest.get((streams[message.session.id], message.target or ""), (from_us(0), 0))
        > (message.ts, message.pk)
    }


def _numbered(rows: Sequence[tuple[str, str, str, str | None, int, int]], first: int) -> dict[str, int]:
    """Rows in order of place and start."""
    gap_us = STREAM_GAP // timedelta(microseconds=1)
    streams: dict[str, int] = {}
    number, place, end_us = first, ("", "", ""), 0
    for row_id, host, workspace, branch, started_us, last_us in rows:
        here = (host, workspace, branch or "")
        if here != place or started_us - end_us > gap_us:
            number, place, end_us = number + 1, here, 0
        streams[row_id] = number
        end_us = max(end_us, last_us)
    return streams
