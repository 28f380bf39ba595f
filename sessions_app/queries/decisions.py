"""The decision log: by time, by topic, its chains and its contradictions."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import Q, QuerySet

from contextdash.clock import now, parse_window
from contextdash.errors import NotFound
from contextdash.paging import Page, page
from contextdash.prepared import Prepared, given_text, newest_id
from contextdash.queries.history import newest_change
from sessions_app.models import Decision
from sessions_app.queries.belonging import belongs
from sessions_app.queries.texts import with_starts
from sessions_app.vocabulary import DecisionStatus

TOPICS_OF = 2_000
"""Topics are counted over the newest decisions only, so that the page costs the same at any size."""
CHAIN_STEPS = 4
"""How many steps back a log entry follows what it superseded."""
CONFLICTS = 100
ENTRY_CHARS = 1_000
RELATED = 10


@dataclass(frozen=True, slots=True)
class Filters:
    session: str | None = None
    agent: str | None = None
    project: str | None = None
    topic: str | None = None
    status: Sequence[str] = ()
    text: str | None = None
    since: str | None = None
    """A window such as ``30d``."""

    def condition(self) -> Q:
        wanted = belongs(self.session, self.project)
        if self.agent:
            wanted &= Q(agent_name=self.agent)
        if self.topic:
            wanted &= Q(topic=self.topic)
        if self.status:
            wanted &= Q(status__in=list(self.status))
        if self.text:
            wanted &= (
                Q(topic__icontains=self.text)
                | Q(choice__icontains=self.text)
                | Q(rationale__icontains=self.text)
            )
        window = parse_window(self.since) if self.since else None
        if window is not None:
            wanted &= Q(ts__gte=now() - window)
        return wanted


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Decisions of one topic and project that contradict each other, newest first."""

    topic: str
    decisions: Sequence[Decision]

    @property
    def ids(self) -> str:
        """Their numbers as a form sends them."""
        return ",".join(str(decision.pk) for decision in self.decisions)


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    count: int
    conflict: bool


@dataclass(frozen=True, slots=True)
class Facets:
    topics: Sequence[Topic]
    """Most used first, those in conflict marked."""
    agents: Sequence[str]


def decision_log(filters: Filters, *, limit: int, cursor: str | None, chars: int) -> Page[Decision]:
    """Newest first; choice and rationale are read up to ``chars`` characters."""
    rows = Decision.objects.filter(filters.condition()).select_related("session", "project")
    return page(with_starts(rows, chars, "choice", "rationale"), limit=limit, cursor=cursor)


def decision_of(pk: int) -> Decision:
    """
    Raises:
        NotFound: there is none.
    """
    found = (
        Decision.objects.select_related("session", "project", "superseded_by").filter(pk=pk).first()
        if pk < 2**63
        else None
    )
    if found is None:
        raise NotFound(f"There is no decision D-{pk}.")
    return found


def chains(decisions: Iterable[Decision], steps: int = CHAIN_STEPS) -> dict[int, list[Decision]]:
    """For each decision, what it superseded, and what that had superseded, newest first."""
    wanted = [decision.pk for decision in decisions]
    earlier: dict[int, list[Decision]] = defaultdict(list)
    step = set(wanted)
    for _ in range(steps):
        rows = list(_superseded_by(step)) if step else []
        step = {row.pk for row in rows} - earlier.keys() - set(wanted)
        for row in rows:
            earlier[row.superseded_by_id or 0].append(row)
    return {pk: found for pk in wanted if (found := _followed(pk, earlier, steps))}


def contradictions(project: str | None) -> list[Contradiction]:
    """What a person must settle, by topic. A lone one is shown beside what else stands on its topic."""
    newest = with_starts(_in_conflict().select_related("project"), ENTRY_CHARS, "choice", "rationale")
    rows = [row for row in newest[:CONFLICTS] if project in (None, row.project.slug if row.project else "")]
    rows.sort(key=lambda row: (row.project_id or 0, row.topic))
    made = []
    for (_, topic), group in groupby(rows, key=lambda row: (row.project_id, row.topic)):
        decisions = list(group)
        if len(decisions) == 1:
            decisions += possible_conflicts(decisions[0])[:1]
        made.append(Contradiction(topic=topic, decisions=decisions))
    return made


def contradiction_count(project: str | None) -> int:
    """How many ``contradictions`` there are."""
    return len({(slug, topic) for slug, topic in _CONFLICTS.rows() if project in (None, slug or "")})


def possible_conflicts(decision: Decision) -> list[Decision]:
    """The other decisions that hold on its topic and project, newest first."""
    rows = Decision.objects.filter(
        topic=decision.topic,
        project=decision.project_id,
        status__in=[DecisionStatus.STANDS, DecisionStatus.CONFLICT],
    ).exclude(pk=decision.pk)
    return list(with_starts(rows, ENTRY_CHARS, "choice", "rationale").order_by("-ts", "-id")[:RELATED])


def facets(project: str | None) -> Facets:
    """What the newest TOPICS_OF decisions are about, and who made them."""
    rows = _FACETS.rows(bool(project), project=project)
    counted = Counter(topic for topic, _, _ in rows)
    in_conflict = {topic for topic, status, _ in rows if status == DecisionStatus.CONFLICT}
    agents = {agent for _, _, agent in rows}
    topics = [Topic(name, count, name in in_conflict) for name, count in counted.most_common()]
    return Facets(topics, sorted(agents))


def _facets(of_project: bool) -> QuerySet[Decision, Any]:
    rows = Decision.objects.filter(belongs(None, given_text("project") if of_project else None))
    return rows.order_by("-ts", "-id").values_list("topic", "status", "agent_name")[:TOPICS_OF]


_FACETS = Prepared(_facets)


def log_version() -> str:
    """Changes with every new decision and every change of one."""
    return f"{newest_id(Decision)}.{newest_change()}"


def _in_conflict() -> QuerySet[Decision]:
    """Newest first, of every project: few are in conflict, but a database that is asked for a project or for
    distinct topics as well may read all decisions."""
    return Decision.objects.filter(status=DecisionStatus.CONFLICT).order_by("-ts", "-id")


_CONFLICTS = Prepared(lambda: _in_conflict().values_list("project__slug", "topic")[:CONFLICTS])


def _superseded_by(pks: set[int]) -> QuerySet[Decision]:
    # That they have a successor is implied; said, it lets the index of those serve.
    rows = Decision.objects.filter(~Q(superseded_by=None), superseded_by__in=pks).order_by()
    return with_starts(rows, 200, "choice", "rationale")


def _followed(pk: int, earlier: Mapping[int, Sequence[Decision]], steps: int) -> list[Decision]:
    found: list[Decision] = []
    step = [pk]
    for _ in range(steps):
        rows = [row for later in step for row in earlier.get(later, ())]
        found += rows
        step = [row.pk for row in rows]
    return sorted(found, key=lambda row: (row.ts, row.pk), reverse=True)
