"""One session: found by what people and agents call it, its family, its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from django.db.models import Count, Max, Min, Q, Sum

from contextdash import clock, ids
from contextdash.errors import NotFound
from sessions_app.models import AgentMessage, Session, ToolCall
from sessions_app.vocabulary import CallState

PREFIX_CHARS = 4
"""A shorter beginning of an id finds nothing: it would soon find another session than was meant."""

FAMILY_DEPTH = 5
FAMILY_ROWS = 200
"""How many subagents a page reads; the counter says how many there are."""

TOOL_ROWS = 12
"""How many tools "time by tool" tells apart."""


@dataclass(frozen=True, slots=True)
class Family:
    """A session and its subagents, oldest first."""

    root: Session
    children: Sequence[Session] = ()

    @property
    def all(self) -> list[Session]:
        return [self.root, *self.children]

    @property
    def keys(self) -> list[int]:
        return [session.key for session in self.all]

    def by_key(self) -> dict[int, Session]:
        return {session.key: session for session in self.all}


@dataclass(frozen=True, slots=True)
class ToolTime:
    name: str
    calls: int
    failed: int
    total_us: int
    side_by_side: bool
    """The sum is longer than the span: some calls ran at the same time, or their clocks disagree."""
    share: float
    """Of the longest, in percent."""


def find_session(ref: str) -> Session:
    """The session of an id, of the id that its client sent, of a unique beginning, or ``latest``.

    Raises:
        NotFound: none, more than one, or a deleted one.
    """
    known = Session.objects.filter(deleted_at=None).select_related("project", "parent", "owner")
    known = known.prefetch_related("labels")
    stored_id, external_id = ids.session_id(ref)
    exact = known.filter(id=stored_id).first()
    if exact is not None:
        return exact
    if Session.objects.filter(id=stored_id).exists():
        raise NotFound("This session was deleted. For a day it can be brought back under Kept and erased.")
    if ref == "latest":
        newest = known.filter(parent=None).order_by("-last_us", "-key").first()
        if newest is not None:
            return newest
    if external_id or len(ref) < PREFIX_CHARS:
        raise NotFound("There is no such session.")
    found = list(known.filter(id__startswith=ref).order_by("id")[:2])
    if len(found) > 1:
        raise NotFound("More than one session begins so. Give more of the id.")
    if not found:
        raise NotFound("There is no such session.")
    return found[0]


def session_version(session_id: str) -> str | None:
    """Changes with every write to a session or its subagents, and each minute (for "stale").

    None when no session has exactly this id.
    """
    stored_id, external_id = ids.session_id(session_id)
    if external_id:
        return None
    ordinals = Session.objects.filter(id=stored_id, deleted_at=None).values_list("ordinal", flat=True)
    ordinal = ordinals.first()
    return None if ordinal is None else f"{ordinal}.{clock.now_us() // 60_000_000}"


def speakers(family: Family) -> list[str]:
    """Who wrote messages into the session itself, in order of appearance: each has a lane."""
    if not family.root.message_count:
        return []
    spoke = AgentMessage.objects.filter(session__id=family.root.id).values("agent_name")
    return list(spoke.annotate(first=Min("ts")).order_by("first").values_list("agent_name", flat=True)[:8])


def family_of(session: Session) -> Family:
    """One query a generation; a session without subagents costs one."""
    children: list[Session] = []
    level = [session.key]
    for _ in range(FAMILY_DEPTH):
        below = list(
            Session.objects.filter(parent__in=level, deleted_at=None)
            .exclude(key=session.key)
            .defer("user_request", "extra")
            .order_by("started_us", "key")[: FAMILY_ROWS - len(children)]
        )
        children += below
        level = [child.key for child in below if child.child_count]
        if not level or len(children) >= FAMILY_ROWS:
            break
    return Family(session, sorted(children, key=lambda child: (child.started_us, child.key)))


def is_within(key: int, of: int, held: Mapping[int, int | None] = MappingProxyType({})) -> bool:
    """Whether a session is the session ``of`` or below it, at any depth. ``held``: parents not yet stored."""
    above: int | None = key
    passed: set[int] = set()
    while above is not None and above not in passed:
        if above == of:
            return True
        passed.add(above)
        if above in held:
            above = held[above]
        else:
            above = Session.objects.filter(key=above).values_list("parent_id", flat=True).first()
    return False


def tool_times(family: Family) -> list[ToolTime]:
    """Where the time of tools went, longest first; calls without a known duration count as none."""
    rows = (
        ToolCall.objects.filter(session__in=family.keys)
        .values("name")
        .annotate(
            calls=Count("key"),
            failed=Count("key", filter=Q(state=CallState.FAILED)),
            total_us=Sum("duration_us"),
            first_us=Min("started_us"),
            last_us=Max("ended_us"),
        )
        .order_by("-total_us", "name")
    )
    found = sorted(rows, key=lambda row: -(row["total_us"] or 0))[:TOOL_ROWS]
    longest = max((row["total_us"] or 0 for row in found), default=0)
    return [
        ToolTime(
            name=row["name"],
            calls=row["calls"],
            failed=row["failed"],
            total_us=row["total_us"] or 0,
            side_by_side=row["last_us"] is not None
            and (row["total_us"] or 0) > row["last_us"] - row["first_us"],
            share=round(100 * (row["total_us"] or 0) / longest, 1) if longest else 0.0,
        )
        for row in found
    ]
