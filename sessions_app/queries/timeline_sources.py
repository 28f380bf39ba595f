"""Where a timeline's own rows come from: turns, answers, tool calls, messages, what happened to sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Length, Substr

from contextdash.clock import from_us, to_us
from sessions_app.models import AgentMessage, Run, Session, SessionEvent, ToolCall, Turn
from sessions_app.queries.handoffs import answered_later
from sessions_app.queries.session import Family
from sessions_app.registry import Row, Window
from sessions_app.vocabulary import Activity, CallState, EventKind, MessageRole, RunStatus

YOU = "you"

TEXT_CHARS = 1200
"""How much of a prompt, an answer or a message stands in the timeline; the rest is a link away."""

NOTE_TITLES: dict[str, str] = {
    EventKind.SESSION_START: "Start",
    EventKind.SESSION_END: "End",
    EventKind.PERMISSION: "Permission",
    EventKind.NOTIFICATION: "Notice",
    EventKind.COMPACT_START: "Compacting",
    EventKind.COMPACT_END: "Compacted",
    EventKind.TURN_FAILED: "Turn failed",
    EventKind.TOOL_DENIED: "Denied",
    EventKind.TASK: "Task",
    EventKind.CONTEXT: "Context",
}
"""What kinds of session events are called; others as they were sent."""

TOLD_OTHERWISE = (
    EventKind.PROMPT,
    EventKind.TURN_END,
    EventKind.SUBAGENT_START,
    EventKind.SUBAGENT_END,
)
"""Kinds that turns, answers and spawning calls already show."""

ASKS = frozenset({EventKind.PERMISSION, EventKind.NOTIFICATION})


ANSWERED = Case(
    When(role=MessageRole.HANDOFF, acknowledged_at=None, then=answered_later()), default=Value(True)
)
"""False for a hand-off that still waits; asked of open hand-offs only, since it looks at later messages."""


@dataclass(frozen=True, slots=True)
class TurnItem:
    turn: Turn
    text: str
    cut: bool
    status: str
    error: str

    @property
    def lasted_us(self) -> int | None:
        return None if self.turn.ended_us is None else self.turn.ended_us - self.turn.started_us

    @property
    def running(self) -> bool:
        return self.turn.ended_us is None and self.status == RunStatus.RUNNING


@dataclass(frozen=True, slots=True)
class AnswerItem:
    text: str
    cut: bool
    session: Session
    turn_number: int
    is_child: bool


@dataclass(frozen=True, slots=True)
class CallItem:
    call: ToolCall
    agent: str
    child: Session | None
    is_child: bool
    open: bool
    """It still runs: its session has not ended."""

    @property
    def state(self) -> str:
        return self.call.state

    @property
    def clock_off(self) -> bool:
        return is_clock_off(self.call)


@dataclass(frozen=True, slots=True)
class NoteItem:
    event: SessionEvent

    @property
    def title(self) -> str:
        return NOTE_TITLES.get(self.event.type, self.event.type)


@dataclass(frozen=True, slots=True)
class MessageItem:
    message: AgentMessage
    text: str
    cut: bool
    waits: bool


def is_clock_off(call: ToolCall) -> bool:
    """Both its ends were told and make no length: the clocks that wrote them disagree."""
    both = call.call_event_id is not None and call.result_event_id is not None
    backwards = call.ended_us is not None and call.ended_us < call.started_us
    return call.duration_us is None and (
        backwards or (both and call.state in (CallState.DONE, CallState.FAILED))
    )


def turns(family: Family, window: Window) -> Sequence[Row]:
    """The session's own turns; what a subagent was asked stands in its spawning call."""
    found = _newest(
        Turn.objects.filter(session=family.root.key)
        .annotate(head=Substr("prompt", 1, TEXT_CHARS), chars=Length("prompt"))
        .defer("prompt"),
        "started_us",
        window,
    )
    runs = {
        turn_key: (status, error)
        for turn_key, status, error in Run.objects.filter(turn__in=[turn.key for turn in found])
        .order_by("number")
        .values_list("turn_id", "status", Substr("error", 1, TEXT_CHARS))
    }
    rows = []
    for turn in found:
        status, error = runs.get(turn.key, ("", ""))
        item = TurnItem(turn, *_head(turn), status, error)
        failed = status == RunStatus.FAILED
        rows.append(
            Row(
                turn.started_us,
                "turn",
                f"turn-{turn.number}",
                YOU,
                item,
                "sessions/rows/turn.html",
                failed=failed,
            )
        )
    return rows


def answers(family: Family, window: Window) -> Sequence[Row]:
    """What a turn ended with, of the session and of its subagents."""
    if window.only_failed:
        return []
    sessions = family.by_key()
    found = _newest(
        Run.objects.filter(_of(family), ended_us__isnull=False)
        .exclude(answer="")
        .annotate(head=Substr("answer", 1, TEXT_CHARS), chars=Length("answer"), turn_number=F("turn__number"))
        .defer("answer", "error"),
        "ended_us",
        window,
    )
    rows = []
    for run in found:
        session = sessions[run.session_id]
        child = session.key if session is not family.root else None
        item = AnswerItem(*_head(run), session, _turn_number(run), child is not None)
        rows.append(
            Row(
                run.ended_us or 0,
                "turn",
                f"answer-{run.key}",
                session.agent_name,
                item,
                "sessions/rows/answer.html",
                child,
            )
        )
    return rows


def calls(family: Family, window: Window) -> Sequence[Row]:
    sessions = family.by_key()
    calls = ToolCall.objects.filter(_of(family))
    if window.only_failed:
        calls = calls.filter(state=CallState.FAILED)
    rows = []
    for call in _newest(calls, "started_us", window):
        session = sessions[call.session_id]
        child = session.key if session is not family.root else None
        is_open = call.state == CallState.PREPARED and session.ended_at is None
        item = CallItem(
            call, session.agent_name, sessions.get(call.child_id or 0), child is not None, is_open
        )
        failed = call.state == CallState.FAILED
        rows.append(
            Row(
                call.started_us,
                "call",
                f"c-{call.key}",
                session.agent_name,
                item,
                "sessions/rows/call.html",
                child,
                failed,
            )
        )
    return rows


def messages(family: Family, window: Window) -> Sequence[Row]:
    if window.only_failed or not any(session.message_count for session in family.all):
        return []
    sessions = {session.id: session for session in family.all}
    found = (
        AgentMessage.objects.filter(
            session__in=list(sessions), ts__gte=from_us(window.start_us), ts__lt=from_us(window.end_us)
        )
        .annotate(head=Substr("content", 1, TEXT_CHARS), chars=Length("content"), answered=ANSWERED)
        .defer("content")
    )
    rows = []
    for message in reversed(found.order_by("-ts", "-id")[: window.limit]):
        session = sessions[message.session_id]
        child = session.key if session is not family.root else None
        waits = bool(message.target) and not message.answered
        item = MessageItem(message, *_head(message), waits)
        rows.append(
            Row(
                to_us(message.ts),
                "message",
                f"h-{message.pk}",
                message.agent_name,
                item,
                "sessions/rows/message.html",
                child,
                person=waits,
            )
        )
    return rows


def notes(family: Family, window: Window) -> Sequence[Row]:
    """Permission waits, compactions, notifications, errors, starts and ends."""
    sessions = family.by_key()
    events = SessionEvent.objects.filter(_of(family))
    if window.only_failed:
        events = events.filter(type=EventKind.TURN_FAILED)
    else:
        events = events.exclude(type__in=TOLD_OTHERWISE)
    rows = []
    for event in _newest(events, "occurred_us", window):
        session = sessions[event.session_id]
        rows.append(
            Row(
                event.occurred_us,
                "note",
                f"n-{event.key}",
                session.agent_name,
                NoteItem(event),
                "sessions/rows/note.html",
                session_key=session.key if session is not family.root else None,
                failed=event.type == EventKind.TURN_FAILED,
                person=_asks_now(event, session),
            )
        )
    return rows


def _asks_now(event: SessionEvent, session: Session) -> bool:
    waiting = session.activity == Activity.WAITING and event.type in ASKS
    return waiting and event.occurred_us >= session.activity_since_us


def _head(row: Any) -> tuple[str, bool]:
    """The beginning of the text of a row that carries ``head`` and ``chars``, and whether more follows."""
    return row.head, row.chars > TEXT_CHARS


def _turn_number(run: Any) -> int:
    """Annotated by ``answers``."""
    return int(run.turn_number)


def _of(family: Family) -> Q:
    # One session is read in the order of its index; only a family needs a sort.
    return Q(session=family.root.key) if not family.children else Q(session__in=family.keys)


def _newest[M: models.Model](rows: QuerySet[M], time_field: str, window: Window) -> list[M]:
    inside = rows.filter(**{f"{time_field}__gte": window.start_us, f"{time_field}__lt": window.end_us})
    found = list(inside.order_by(f"-{time_field}", "-key")[: window.limit])
    found.reverse()
    return found
