"""When a story is ready, when it is done, and what holds it up: the team's rules, each with its name."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet

from backlog_app.models import BacklogItem, Dependency, LinkKind, StoryLink, StoryStatus
from contextdash import clock
from contextdash.models import User
from reviews_app.models import Review
from reviews_app.models.review import Severity
from sessions_app.models import AgentMessage, Decision, Session
from sessions_app.vocabulary import DecisionStatus

KNOWN_AGENTS = frozenset(
    [
        "orchestrator",
        "scrum-master",
        "backend-developer",
        "frontend-developer",
        "tester",
        "devops",
        "code-reviewer",
    ]
)
STALE_AFTER = timedelta(hours=24)
PUBLIC_API = "public-api"
BLOCKER = "blocker"
_MEDIUM_RANK = list(Severity).index(Severity.MEDIUM) + 1

# A path, an identifier in code marks, or a name in CamelCase, snake_case or with a call's brackets.
_SURFACE = re.compile(
    r"`[^`]+`|[\w.-]+/[\w./-]+|\b\w+\(\)|\b[a-z]+_\w+|\b[A-Z][a-z0-9]+[A-Z]\w*|\b\w+\.\w{1,5}\b"
)
_GREEN = re.compile(r"\b(?:green|pass(?:ed|es|ing)?|ok|succe(?:ss|ssful|eded))\b", re.IGNORECASE)
_RED = re.compile(r"\b(?:red|fail(?:s|ed|ing|ure|ures)?|broken|errors?)\b", re.IGNORECASE)
_NO_RED = re.compile(r"\b(?:0|no|zero|without)\s+(?:fail\w*|errors?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    met: bool
    why: str
    """What is missing; empty when the rule is met."""


def ready_rules(story: BacklogItem) -> list[Rule]:
    """The definition of ready, rule by rule."""
    waits = open_dependencies([story.pk]).get(story.pk, [])
    blockers = _decisions(story).filter(topic=BLOCKER, status=DecisionStatus.STANDS)
    held = [*(f"story {number}" for number in waits), *(f"decision D-{found.pk}" for found in blockers)]
    agent = story.assigned_agent
    return [
        _rule(
            "Names a concrete surface", _has_surface(story), "no file, name, label, link or project is named"
        ),
        _rule("Has criteria to test", story.criteria_total > 0, "no acceptance criteria are written"),
        _rule("Nothing blocks it", not held, f"waits for {', '.join(held)}"),
        _rule(
            "Has a known agent",
            agent is not None and is_known(agent),
            f"nobody is known as {agent}" if agent else "nobody is assigned",
        ),
    ]


def done_rules(story: BacklogItem) -> list[Rule]:
    """The definition of done, rule by rule; that of the public API only where the story touches it."""
    left = story.criteria_total - story.criteria_met
    rules = [
        _rule(
            "Every criterion is met",
            story.criteria_total > 0 and left == 0,
            f"{left} of {story.criteria_total} are open"
            if story.criteria_total
            else "no criteria are written",
        ),
        _reviewed(story),
        _tested(story),
    ]
    if PUBLIC_API in (label.casefold().replace(" ", "-") for label in story.labels):
        decided = _decisions(story).filter(topic=PUBLIC_API, status=DecisionStatus.STANDS).exists()
        rules.append(
            _rule("The public API is decided", decided, f"no standing decision on {PUBLIC_API} is linked")
        )
    return rules


def open_dependencies(story_ids: Iterable[int]) -> dict[int, list[int]]:
    """Of each story, the numbers of those it waits for that are neither done nor deleted."""
    found: dict[int, list[int]] = defaultdict(list)
    pairs = (
        Dependency.objects.filter(story_id__in=story_ids, blocked_by__deleted_at=None)
        .exclude(blocked_by__status=StoryStatus.DONE)
        .values_list("story_id", "blocked_by_id")
    )
    for story_id, blocker in pairs:
        found[story_id].append(blocker)
    return found


def review_blocks(story_ids: Iterable[int]) -> dict[int, Review]:
    """Of each story that review holds up, the finding that does: the newest word on a linked diff is an
    open Critical or High, and nothing passing came after it."""
    links = StoryLink.objects.filter(kind=LinkKind.DIFF, story_id__in=story_ids).values_list(
        "story_id", "ref"
    )
    stories_of: dict[str, list[int]] = defaultdict(list)
    for story_id, ref in links:
        stories_of[ref].append(story_id)
    if not stories_of:
        return {}
    blocks: dict[int, Review] = {}
    for key, review in newest_reviews(stories_of).items():
        if review.severity_rank < _MEDIUM_RANK and review.is_open:
            blocks |= dict.fromkeys(stories_of[key], review)
    return blocks


def newest_reviews(diff_keys: Iterable[str]) -> dict[str, Review]:
    """The newest review of each diff, by time, then number."""
    rows = Review.objects.filter(diff_key__in=list(diff_keys)).order_by("ts", "id")
    return {
        row.diff_key: row for row in rows.only("diff_key", "severity", "severity_rank", "resolution", "ts")
    }


def is_stale(story: BacklogItem) -> bool:
    """In progress, and neither the story nor a session that works on it moved for a day."""
    if story.status != StoryStatus.IN_PROGRESS:
        return False
    newest = Session.objects.filter(id__in=linked_session_ids(story)).aggregate(us=Max("last_us"))["us"]
    return stood_still(story.changed_at, newest or 0)


def stood_still(changed_at: datetime, last_us: int) -> bool:
    return clock.now() - max(changed_at, clock.from_us(last_us)) > STALE_AFTER


def ready_to_claim(
    *, agent: str, project: str | None, sprint_id: int | None, label: str | None
) -> BacklogItem | None:
    """What the agent should take next: its own first, then by priority, then by place."""
    rows = (
        _open_to(agent, project, sprint_id)
        .filter(~_waits(), criteria_total__gt=0)
        .order_by(F("assigned_agent").asc(nulls_last=True), "priority", "rank")
    )
    held = _held_by_decision(rows)
    for row in rows.iterator(chunk_size=100):
        if row.pk not in held and (label is None or label in row.labels):
            return row
    return None


def why_nothing_is_ready(*, agent: str, project: str | None, sprint_id: int | None, label: str | None) -> str:
    rows = [row for row in _open_to(agent, project, sprint_id) if label is None or label in row.labels]
    bare = sum(row.criteria_total == 0 for row in rows)
    waiting = len(rows) - bare
    if not rows:
        return "Nothing is ready: no story in To do is free for this agent."
    parts = [f"{bare} without acceptance criteria"] if bare else []
    parts += [f"{waiting} waiting for another story or a decision"] if waiting else []
    return f"Nothing is ready: of {len(rows)} in To do, {' and '.join(parts)}."


def is_known(agent: str) -> bool:
    return (
        agent in KNOWN_AGENTS
        or User.objects.filter(username=agent).exists()
        or Session.objects.filter(agent_name=agent).exists()
    )


def linked_session_ids(story: BacklogItem) -> list[str]:
    """The sessions that work on a story, and the one in which it was written down."""
    linked = list(story.links.filter(kind=LinkKind.SESSION).values_list("ref", flat=True))
    return linked + ([story.session_id] if story.session_id else [])


def _open_to(agent: str, project: str | None, sprint_id: int | None) -> QuerySet[BacklogItem]:
    rows = BacklogItem.objects.filter(
        Q(assigned_agent=None) | Q(assigned_agent=agent), status=StoryStatus.TODO, deleted_at=None
    )
    if project is not None:
        rows = rows.filter(project__slug=project)
    return rows if sprint_id is None else rows.filter(sprint_id=sprint_id)


def _waits() -> Exists:
    return Exists(
        Dependency.objects.filter(story=OuterRef("pk"), blocked_by__deleted_at=None).exclude(
            blocked_by__status=StoryStatus.DONE
        )
    )


def _held_by_decision(rows: QuerySet[BacklogItem]) -> set[int]:
    """Those with a linked decision on a blocker that still stands."""
    blockers = {
        str(pk)
        for pk in Decision.objects.filter(topic=BLOCKER, status=DecisionStatus.STANDS).values_list(
            "pk", flat=True
        )
    }
    if not blockers:
        return set()
    links = StoryLink.objects.filter(kind=LinkKind.DECISION, ref__in=blockers, story__in=rows.order_by())
    return set(links.values_list("story_id", flat=True))


def _decisions(story: BacklogItem) -> QuerySet[Decision]:
    numbers = [int(ref) for ref in story.links.filter(kind=LinkKind.DECISION).values_list("ref", flat=True)]
    return Decision.objects.filter(pk__in=numbers)


def _reviewed(story: BacklogItem) -> Rule:
    name = "Reviewed, nothing above Medium"
    keys: Sequence[str] = list(story.links.filter(kind=LinkKind.DIFF).values_list("ref", flat=True))
    if not keys:
        return Rule(name, False, "no diff is linked, so no review can be found")
    newest = newest_reviews(keys)
    for key in keys:
        review = newest.get(key)
        if review is None:
            return Rule(name, False, f"diff {key[:8]} has no review")
        if review.severity_rank < _MEDIUM_RANK and review.is_open:
            return Rule(name, False, f"R-{review.pk} on diff {key[:8]} is {review.severity}")
    return Rule(name, True, "")


def _tested(story: BacklogItem) -> Rule:
    name = "The tester's last word is green"
    newest = (
        AgentMessage.objects.filter(session_id__in=linked_session_ids(story), agent_name="tester")
        .order_by("-ts", "-id")
        .first()
    )
    if newest is None:
        return Rule(name, False, "no message of the tester in a linked session")
    said = _NO_RED.sub("", newest.content)
    green = bool(_GREEN.search(newest.content) or said != newest.content) and not _RED.search(said)
    return _rule(name, green, "it does not say that the tests pass")


def _has_surface(story: BacklogItem) -> bool:
    return bool(
        story.project_id
        or story.labels
        or _SURFACE.search(story.story)
        or _SURFACE.search(story.acceptance_criteria)
        or story.links.exists()
    )


def _rule(name: str, met: bool, why: str) -> Rule:
    return Rule(name, met, "" if met else why)
