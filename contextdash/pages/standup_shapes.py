"""The older system's two stand-ups, for whoever works with its instructions: workflow and digest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Max, Q, QuerySet

from backlog_app import words
from backlog_app.models import BacklogItem, LinkKind, StoryLink, StoryStatus
from backlog_app.queries.held import held
from backlog_app.queries.readiness import PUBLIC_API, STALE_AFTER
from backlog_app.queries.stories import begun
from contextdash import clock
from contextdash.cleaning import one_line, shorten
from contextdash.pages.standup_text import escaped
from contextdash.rendering.ansi import plain
from sessions_app.models import AgentMessage, Decision, Session
from sessions_app.queries.texts import text_or_start, with_starts
from sessions_app.vocabulary import DecisionStatus

WORKFLOW_STORIES = 15
DIGEST_STORIES = 300
SESSIONS = 100
STORY_CHARS = 400
ORCHESTRATOR = "orchestrator"
SECTIONS = {
    "in_progress": "In progress",
    "blocked_by_review": "Blocked by review",
    "ready": "Ready (todo)",
    "done_today": "Done today",
    "stale": "Stale",
}


@dataclass(frozen=True, slots=True)
class Workflow:
    """What is left to do, the most urgent first, and the newest sessions."""

    stories: Sequence[BacklogItem]
    sessions: Sequence[Session]


@dataclass(frozen=True, slots=True)
class Item:
    story: BacklogItem
    last_activity: datetime | None
    """When its agent last wrote in the session."""
    flags: Sequence[str] = ()
    """STALE, BLOCKED-BY-REVIEW, WAITING-ON-DECISION."""


@dataclass(frozen=True, slots=True)
class Digest:
    session: Session
    at: datetime
    items: Sequence[Item]
    """By column as on the board, priority, time."""
    undecided: Sequence[int]
    """Decisions on the public API that no orchestrator has settled."""

    def section(self, name: str) -> list[Item]:
        return [item for item in self.items if _belongs(item, name, self.at)]


def workflow(project: str | None) -> Workflow:
    rows = BacklogItem.objects.filter(deleted_at=None).exclude(status=StoryStatus.DONE)
    sessions = with_starts(Session.objects.filter(deleted_at=None), STORY_CHARS, "user_request")
    if project:
        rows, sessions = rows.filter(project__slug=project), sessions.filter(project__slug=project)
    return Workflow(
        stories=list(begun(rows).order_by("priority", "pk")[:WORKFLOW_STORIES]),
        sessions=list(sessions.order_by("-last_us", "-key")[:SESSIONS]),
    )


def digest(session: Session) -> Digest:
    """Of the stories that were written down in a session or are linked to it."""
    linked = StoryLink.objects.filter(kind=LinkKind.SESSION, ref=session.id).values_list(
        "story_id", flat=True
    )
    rows = BacklogItem.objects.filter(Q(session=session) | Q(pk__in=list(linked)), deleted_at=None)
    stories = sorted(begun(rows).order_by("-pk")[:DIGEST_STORIES], key=_place)
    now, undecided = clock.now(), _undecided(session)
    about = held(stories)
    spoke = dict(
        AgentMessage.objects.filter(session=session).order_by().values_list("agent_name").annotate(Max("ts"))
    )
    items = []
    for story in stories:
        item = Item(story, spoke.get(story.assigned_agent or ""))
        flags = []
        # Of who never wrote, the story itself tells how long it has stood.
        if (
            story.status == StoryStatus.IN_PROGRESS
            and now - (item.last_activity or story.changed_at) > STALE_AFTER
        ):
            flags.append("STALE")
        if story.status != StoryStatus.DONE and story.pk in about.by_review:
            flags.append("BLOCKED-BY-REVIEW")
        if story.status != StoryStatus.DONE and story.pk in about.by_decision:
            flags.append("WAITING-ON-DECISION")
        items.append(replace(item, flags=flags))
    return Digest(session=session, at=now, items=items, undecided=undecided)


def workflow_markdown(told: Workflow) -> str:
    lines = ["| id | status | agent | priority | story |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.pk} | {escaped(row.status)} | {escaped(row.assigned_agent or '')} | {row.priority} "
        f"| {escaped(story_line(row))} |"
        for row in told.stories
    ]
    return "\n".join([*lines, ""])


def digest_markdown(told: Digest) -> str:
    lines = [f"# Stand-up {told.session.id[:8]}, {told.at:%Y-%m-%d %H:%M} UTC", ""]
    for name, title in SECTIONS.items():
        lines += [f"## {title}", ""]
        lines += [_digest_line(item) for item in told.section(name)] or ["- none"]
        lines.append("")
    if told.undecided:
        numbers = ", ".join(f"D-{pk}" for pk in told.undecided)
        lines += [f"Waiting on the orchestrator's choice ({PUBLIC_API}): {numbers}", ""]
    return "\n".join(lines)


def story_line(story: BacklogItem) -> str:
    begin: str = story.begin  # type: ignore[attr-defined]  # annotated by begun
    return one_line(plain(begin), STORY_CHARS)


def request_line(session: Session) -> str | None:
    text = text_or_start(session, "user_request", STORY_CHARS)
    return None if text is None else shorten(plain(text), STORY_CHARS)


def _digest_line(item: Item) -> str:
    story = item.story
    flags = "".join(f" **{flag}**" for flag in item.flags)
    agent = escaped(story.assigned_agent or "nobody")
    return f"- S-{story.pk} ({agent}, P{story.priority}) {escaped(story_line(story))}{flags}"


def _belongs(item: Item, section: str, now: datetime) -> bool:
    status, flags = item.story.status, item.flags
    match section:
        case "in_progress":
            return status in (StoryStatus.IN_PROGRESS, StoryStatus.REVIEW) and not flags
        case "blocked_by_review":
            return "BLOCKED-BY-REVIEW" in flags
        case "ready":
            return status == StoryStatus.TODO and not flags
        case "done_today":
            done = item.story.done_at
            return done is not None and status == StoryStatus.DONE and now - done <= STALE_AFTER
        case _:
            return "STALE" in flags and "BLOCKED-BY-REVIEW" not in flags


def _undecided(session: Session) -> list[int]:
    rows: QuerySet[Decision] = Decision.objects.filter(session=session, topic=PUBLIC_API)
    told = list(rows.order_by("ts", "id").values_list("pk", "agent_name", "status"))
    waiting: list[int] = []
    for pk, agent, status in told:
        if agent == ORCHESTRATOR and status == DecisionStatus.STANDS:
            waiting.clear()
        elif status != DecisionStatus.SUPERSEDED:
            waiting.append(pk)
    return waiting


def _place(story: BacklogItem) -> tuple[int, int, datetime, int]:
    columns = list(words.COLUMNS)
    column = columns.index(story.status) if story.status in columns else len(columns)
    return column, story.priority, story.ts, story.pk
