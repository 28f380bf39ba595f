"""Today's rows of what needs a person, each with the place where it is answered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from backlog_app.models import BacklogItem
from contextdash import clock
from contextdash.cleaning import one_line
from contextdash.pages import failing
from contextdash.pages.needs import Needs
from contextdash.rendering.ansi import plain
from reviews_app.models import Review
from sessions_app.models import AgentMessage, Session
from sessions_app.queries.decisions import contradictions
from sessions_app.queries.handoffs import open_handoffs
from sessions_app.queries.texts import with_starts
from sessions_app.vocabulary import Activity, SessionStatus

EACH_KIND = 20
"""At most so many rows of a kind; the list of that kind has the rest."""

TITLE_CHARS = 160
DETAIL_CHARS = 300


@dataclass(frozen=True, slots=True)
class Ask:
    key: str
    title: str
    url: str
    at: datetime
    note: str
    detail: str = ""
    code: str = ""
    """What the agent wants to run, or was running."""
    path: str = ""
    agent: str = ""
    severity: str = ""
    session: Session | None = None
    message_id: int | None = None
    """The hand-off that can be acknowledged here."""


def asks(needs: Needs, project: str | None) -> Sequence[Ask]:
    """First whom an agent stands still for, longest wait first; then findings, worst first; then the rest."""
    waiting = sorted(map(_session, needs.waiting.order_by("-last_us", "-key")[:EACH_KIND]), key=_at)
    worst = with_starts(needs.findings, 600, "finding").order_by("severity_rank", "-ts", "-id")
    return [
        *(ask for ask in waiting if ask.session),
        *sorted(map(_handoff, open_handoffs(project=project, limit=EACH_KIND)), key=_at),
        *map(_finding, worst[:EACH_KIND]),
        *(ask for ask in waiting if not ask.session),
        *map(_session, needs.errored.order_by("-last_us", "-key")[:EACH_KIND]),
        *map(_hook, needs.hooks.failing),
        *_conflicts(project),
        *map(_story, needs.stories.order_by("priority", "changed_at", "id")[:EACH_KIND]),
    ]


def _at(ask: Ask) -> datetime:
    return ask.at


def _session(session: Session) -> Ask:
    url = reverse("session", args=[session.id])
    title, call = _line(session.title or session.id[:8]), _line(session.current_call, DETAIL_CHARS)
    if session.activity == Activity.WAITING:
        return Ask(
            key=f"s-{session.key}",
            title=_line(session.waiting_for) or "Waits for an answer",
            url=url,
            at=clock.from_us(session.activity_since_us),
            note="permission or question",
            code=call,
            agent=session.agent_name,
            session=session,
        )
    died = session.status == SessionStatus.ERRORED and session.activity != Activity.WORKING
    return Ask(
        key=f"s-{session.key}",
        title=f"Ended in an error: {title}" if died else f"Fell silent at work: {title}",
        url=url,
        at=clock.from_us(session.last_us),
        note="errored" if died else "stale: its program may have died, or the call hangs",
        code=call,
        agent=session.agent_name,
    )


def _handoff(message: AgentMessage) -> Ask:
    text = plain(message.content_start).strip()  # type: ignore[attr-defined]  # annotated by open_handoffs
    first, _, rest = text.partition("\n")
    return Ask(
        key=f"m-{message.pk}",
        title=one_line(first, TITLE_CHARS) or "A hand-off without words",
        url=reverse("message", args=[message.pk]),
        at=message.ts,
        note=f"hand-off to {message.target}, not acknowledged",
        detail=one_line(rest, DETAIL_CHARS),
        agent=message.agent_name,
        session=message.session,
        message_id=message.pk,
    )


def _finding(review: Review) -> Ask:
    text = plain(review.finding_start).strip()  # type: ignore[attr-defined]  # annotated by with_starts
    return Ask(
        key=f"r-{review.pk}",
        title=_line(text.partition("\n")[0]),
        url=reverse("review", args=[review.pk]),
        at=review.ts,
        note="open, keeps the gate shut" if review.diff_key else "open",
        path=_line(review.target, DETAIL_CHARS),
        agent=review.reviewer_agent,
        severity=review.severity,
    )


def _hook(hook: failing.Hook) -> Ask:
    return Ask(
        key=f"h-{hook.name}",
        title=f"Hook {_line(hook.name)} failed {hook.failures} of the last {hook.runs} times",
        url=reverse("hooks"),
        at=hook.failed_first or clock.now(),
        note="last 24 hours",
    )


def _conflicts(project: str | None) -> Iterator[Ask]:
    for found in contradictions(project):
        newest = found.decisions[0]
        texts = (f"D-{row.pk} {plain(row.choice_start)}" for row in found.decisions)  # type: ignore[attr-defined]
        yield Ask(
            key=f"c-{newest.pk}",
            title=f"Decisions about {_line(found.topic)} contradict each other",
            url=reverse("decision", args=[newest.pk]),
            at=newest.ts,
            note="conflict",
            detail=one_line("; ".join(texts), DETAIL_CHARS),
            agent=newest.agent_name,
        )


def _story(story: BacklogItem) -> Ask:
    return Ask(
        key=f"b-{story.pk}",
        title=f"S-{story.pk} is blocked: {_line(story.story)}",
        url=reverse("story", args=[story.pk]),
        at=story.changed_at,
        note="blocked",
        agent=story.assigned_agent or "",
    )


def _line(text: str, chars: int = TITLE_CHARS) -> str:
    return one_line(plain(text[: chars * 10]), chars)
