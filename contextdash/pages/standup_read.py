"""What a stand-up tells: of each agent and person, what is in hand, what holds it up, what came out."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.urls import reverse

from backlog_app.models import BacklogItem, StoryStatus, StoryStep
from backlog_app.queries.held import Held, held
from backlog_app.queries.readiness import STALE_AFTER
from backlog_app.queries.stories import begun
from contextdash import clock
from contextdash.cleaning import one_line
from contextdash.rendering.ansi import plain
from sessions_app.models import Mistake, Session
from sessions_app.queries.texts import with_starts
from sessions_app.vocabulary import Activity, SessionStatus

STORIES = 300
"""At most so many stories that are in hand, and so many that were done; the board has the rest."""
MISTAKES = 200
WAITING_SESSIONS = 50
LINE_CHARS = 160
REMEMBERED = 2048
NOW_WITHIN = timedelta(minutes=1)

_OF_STORY = ("assigned_agent", "labels", "session_id", "changed_at", "done_at")
"""What is told of a story, and what ``held`` looks at."""

IN_HAND = (StoryStatus.IN_PROGRESS, StoryStatus.REVIEW, StoryStatus.BLOCKED)
SECTIONS = {
    "blocked": "Blocked",
    "blocked_by_review": "Blocked by review",
    "waiting_on_decision": "Waiting on a decision",
    "stale": "Stale",
    "in_progress": "In progress",
    "done": "Done",
    "mistakes": "Mistakes",
}
"""In the order in which people want to hear them: first what somebody must act on."""


@dataclass(frozen=True, slots=True)
class Line:
    number: str
    """How people name it: S-12, M-7; empty for a session."""
    title: str
    url: str
    at: datetime
    note: str = ""


@dataclass(slots=True)
class Person:
    """An agent or a person; ``name`` is empty for work that nobody has."""

    name: str
    sections: dict[str, list[Line]] = field(default_factory=lambda: defaultdict(list))
    sessions: int = 0
    errored: int = 0

    @property
    def told(self) -> list[tuple[str, str, list[Line]]]:
        """(section, heading, lines) of those that hold anything."""
        return [(key, title, self.sections[key]) for key, title in SECTIONS.items() if self.sections.get(key)]

    @property
    def held_up(self) -> int:
        return sum(len(self.sections.get(key, ())) for key in list(SECTIONS)[:4])


@dataclass(frozen=True, slots=True)
class Standup:
    begin: datetime
    end: datetime
    people: Sequence[Person]
    """Who is held up comes first, then by name; work that nobody has comes last."""
    counts: dict[str, int]
    """Lines of each section."""
    is_now: bool
    """The range ends now. Of a past one nobody recorded what reviews and decisions held up."""
    cut: bool
    """There is more than a stand-up lists."""

    @property
    def telling(self) -> list[Person]:
        return [person for person in self.people if person.told]

    @property
    def quiet(self) -> list[Person]:
        """Who only ran sessions."""
        return [person for person in self.people if not person.told]


def standup(*, begin: datetime, end: datetime, project: str | None = None) -> Standup:
    """What happened from ``begin`` to ``end``, and where stories stood at ``end``."""
    people: dict[str, Person] = {}

    def who(name: str | None) -> Person:
        return people.setdefault(name or "", Person(name or ""))

    is_now = clock.now() - end < NOW_WITHIN
    in_hand = _in_hand(project, end, is_now)
    about = held(in_hand) if is_now else Held({}, {}, {})
    for story in in_hand:
        section, note = _section(story, about, end)
        who(story.assigned_agent).sections[section].append(_story(story, note))
    done = _done(project, begin, end)
    for story in done:
        who(story.assigned_agent).sections["done"].append(_story(story, at=story.done_at))
    mistakes = _mistakes(project, begin, end)
    for mistake in mistakes:
        who(mistake.agent_name).sections["mistakes"].append(_mistake(mistake))
    for name, total, errored in _sessions(project, begin, end):
        who(name).sessions += total
        who(name).errored += errored
    if is_now:
        for session in _waiting(project):
            who(_whose(session.agent_name, session.owner)).sections["blocked"].append(_session(session))
    return Standup(
        begin=begin,
        end=end,
        people=sorted(people.values(), key=lambda one: (not one.name, not one.held_up, one.name.casefold())),
        counts={key: sum(len(one.sections.get(key, ())) for one in people.values()) for key in SECTIONS},
        is_now=is_now,
        cut=len(in_hand) >= STORIES or len(done) >= STORIES or len(mistakes) >= MISTAKES,
    )


def _section(story: BacklogItem, about: Held, end: datetime) -> tuple[str, str]:
    """Where a story is told, once: what holds it up most comes first."""
    if story.then == StoryStatus.BLOCKED:  # type: ignore[attr-defined]  # annotated by _in_hand
        return "blocked", about.by_review.get(story.pk, "") or about.by_decision.get(story.pk, "")
    if story.pk in about.by_review:
        return "blocked_by_review", about.by_review[story.pk]
    if story.pk in about.by_decision:
        return "waiting_on_decision", about.by_decision[story.pk]
    if story.then == StoryStatus.REVIEW:  # type: ignore[attr-defined]
        return "in_progress", "in review"
    moved = about.moved_at.get(story.pk)
    if moved is not None and end - moved > STALE_AFTER:
        return "stale", f"nothing moved since {moved:%Y-%m-%d %H:%M} UTC"
    return "in_progress", ""


def _in_hand(project: str | None, end: datetime, is_now: bool) -> Sequence[BacklogItem]:
    """Stories in progress, in review or blocked at ``end``, by priority; ``then`` is their status then."""
    rows = BacklogItem.objects.filter(deleted_at=None)
    if is_now:
        rows = rows.filter(status__in=IN_HAND).annotate(then=F("status"))
    else:
        steps = StoryStep.objects.filter(story=OuterRef("pk"), at__lte=end).order_by("-at", "-id")
        rows = rows.filter(ts__lte=end).annotate(then=Subquery(steps.values("status")[:1]))
        rows = rows.filter(then__in=IN_HAND)
    return list(begun(_of(rows, project)).only(*_OF_STORY).order_by("priority", "pk")[:STORIES])


def _done(project: str | None, begin: datetime, end: datetime) -> Sequence[BacklogItem]:
    rows = BacklogItem.objects.filter(deleted_at=None, done_at__gte=begin, done_at__lte=end)
    return list(begun(_of(rows, project)).only(*_OF_STORY).order_by("-done_at", "-pk")[:STORIES])


def _mistakes(project: str | None, begin: datetime, end: datetime) -> Sequence[Mistake]:
    rows = Mistake.objects.filter(ts__gte=begin, ts__lte=end)
    rows = rows.filter(project__slug=project) if project else rows
    started = with_starts(rows, 600, "summary").only("agent_name", "lesson_file", "ts")
    return list(started.order_by("-ts", "-id")[:MISTAKES])


def _sessions(project: str | None, begin: datetime, end: datetime) -> Iterable[tuple[str, int, int]]:
    """(whose, sessions, errored) of those that were active in the range; subagents belong to theirs."""
    rows = Session.objects.filter(
        deleted_at=None, parent=None, last_us__gte=clock.to_us(begin), started_us__lte=clock.to_us(end)
    )
    rows = rows.filter(project__slug=project) if project else rows
    counted = (
        rows.order_by()
        .values_list("agent_name", "owner__username")
        .annotate(total=Count("key"), errored=Count("key", filter=Q(status=SessionStatus.ERRORED)))
    )
    return [(_whose(agent, owner), total, errored) for agent, owner, total, errored in counted]


def _waiting(project: str | None) -> Sequence[Session]:
    live = ~Q(activity=Activity.ENDED)  # said, so that the index of live sessions serves
    rows = Session.objects.filter(live, activity=Activity.WAITING, deleted_at=None, archived_at=None)
    rows = rows.filter(project__slug=project) if project else rows
    return list(
        rows.select_related("owner").defer("user_request", "extra").order_by("-last_us")[:WAITING_SESSIONS]
    )


def _whose(agent: str, owner: object) -> str:
    """The role that a session plays; a main session is its owner's."""
    return str(owner) if owner and agent in ("", "main") else agent


def _of(rows: QuerySet[BacklogItem], project: str | None) -> QuerySet[BacklogItem]:
    return rows.filter(project__slug=project) if project else rows


def _story(story: BacklogItem, note: str = "", at: datetime | None = None) -> Line:
    begin: str = story.begin  # type: ignore[attr-defined]  # annotated by begun
    return Line(f"S-{story.pk}", _line(begin), _url("story", story.pk), at or story.changed_at, note)


def _mistake(mistake: Mistake) -> Line:
    text: str = mistake.summary_start  # type: ignore[attr-defined]  # annotated by with_starts
    note = "" if mistake.lesson_file else "no lesson yet"
    return Line(f"M-{mistake.pk}", _line(text), _url("mistake", mistake.pk), mistake.ts, note)


def _session(session: Session) -> Line:
    title = _line(session.waiting_for) or "Waits for an answer"
    at = clock.from_us(session.activity_since_us)
    return Line("", title, reverse("session", args=[session.id]), at, "a session waits for a person")


def _line(text: str) -> str:
    return _shortened(text[: LINE_CHARS * 10])


# A stand-up has some hundred lines, and most of them were there the last time.


@lru_cache(REMEMBERED)
def _shortened(text: str) -> str:
    return one_line(plain(text), LINE_CHARS)


@lru_cache(REMEMBERED)
def _url(name: str, pk: int) -> str:
    return reverse(name, args=[pk])
