"""The tree of a session's subagents: what each did, how it ended and what it cost, alone and with its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Max

from sessions_app.models import Run, Session, ToolCall
from sessions_app.queries.session import Family, family_of, is_within
from sessions_app.queries.states import state_of
from sessions_app.queries.usage import NOTHING, Spent, spent_below, spent_by


@dataclass(slots=True)
class Agent:
    session: Session
    depth: int
    """0 for the session itself."""
    state: str
    outcome: str
    """How its newest turn ended; empty where none is known."""
    spawn: ToolCall | None
    own: Spent
    whole: Spent
    """With its subagents, at any depth."""
    children: list["Agent"] = field(default_factory=list)

    @property
    def lasted_us(self) -> int:
        return max(0, self.session.last_us - self.session.started_us)

    @property
    def below(self) -> int:
        """How many agents it has, at any depth."""
        return sum(1 + child.below for child in self.children)


def agents_of(family: Family, now_us: int) -> Agent:
    """Three queries, whatever their number; children in order of their start."""
    outcomes = _outcomes(family.keys)
    spawns = _spawns([child.key for child in family.children])
    agents = {
        session.key: Agent(
            session,
            0,
            state_of(session, now_us),
            outcomes.get(session.key, ""),
            spawns.get(session.key),
            spent_by(session),
            spent_by(session),
        )
        for session in family.all
    }
    root = agents[family.root.key]
    above = _above(family, spawns)
    for child in family.children:
        agents.get(above[child.key] or 0, root).children.append(agents[child.key])
    _add_up(root, 0)
    return root


def spent_with_subagents(session: Session) -> Spent:
    """What a session and all below it cost; of a root with one query, of a session without subagents none."""
    own = spent_by(session)
    if not session.child_count:
        return own
    if session.parent_id is None:
        return own + spent_below([session]).get(session.key, NOTHING)
    # Only of roots the database knows who is below them.
    return sum((spent_by(child) for child in family_of(session).children), own)


def _add_up(agent: Agent, depth: int) -> None:
    agent.depth = depth
    for child in agent.children:
        _add_up(child, depth + 1)
        agent.whole += child.whole


def _above(family: Family, spawns: Mapping[int, ToolCall]) -> Mapping[int, int | None]:
    """Whose each agent is: whose call started it. Clients name the root even for agents of agents."""
    root = family.root.key
    above: dict[int, int | None] = {child.key: child.parent_id for child in family.children}
    above[root] = None
    for child in family.children:
        spawn = spawns.get(child.key)
        if spawn is None or child.parent_id != root or spawn.session_id not in above:
            continue
        if not is_within(spawn.session_id, child.key, above):
            above[child.key] = spawn.session_id
    return above


def _outcomes(keys: Sequence[int]) -> dict[int, str]:
    newest = Run.objects.filter(session__in=keys).order_by().values("session_id").annotate(newest=Max("key"))
    runs = Run.objects.filter(key__in=[row["newest"] for row in newest])
    return dict(runs.values_list("session_id", "status"))


def _spawns(keys: Sequence[int]) -> dict[int, ToolCall]:
    calls = ToolCall.objects.filter(child__in=keys).order_by("key")
    return {call.child_id: call for call in calls if call.child_id is not None}
