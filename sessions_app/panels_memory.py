"""What a session page shows of messages, plans, decisions, mistakes and hook reports."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import models
from django.db.models import QuerySet

from contextdash.clock import from_us, to_us
from sessions_app.models import Decision, HookEvent, Mistake, Plan, Session
from sessions_app.queries.handoffs import thread
from sessions_app.queries.texts import with_starts
from sessions_app.registry import Panel, Row, Window, registry
from sessions_app.vocabulary import HookOutcome

PANEL_ROWS = 100
"""A panel shows the newest of a session; the list pages have them all."""
NOTE_CHARS = 600
"""How much of a text stands in the timeline."""


def register() -> None:
    registry.add_timeline("plan", _plan_rows)
    registry.add_timeline("decision", _decision_rows)
    registry.add_timeline("mistake", _mistake_rows)
    registry.add_timeline("hook", _hook_rows)
    for slug, title, count, context in (
        ("messages", "Messages", "message_count", _messages),
        ("plans", "Plans", "plan_count", _plans),
        ("decisions", "Decisions", "decision_count", _decisions),
        ("mistakes", "Mistakes", "mistake_count", _mistakes),
        ("hooks", "Hooks", "hook_count", _hooks),
    ):
        registry.add_panel(
            Panel(slug, title, f"{slug}/panel.html", context, _counter(count), "pages/memory.css")
        )


def _counter(name: str) -> Callable[[Session], int]:
    return lambda session: getattr(session, name)


def _messages(session: Session) -> dict[str, Any]:
    return {"thread": thread(session, limit=PANEL_ROWS)}


def _plans(session: Session) -> dict[str, Any]:
    rows = Plan.objects.filter(session=session).defer("body_md")
    return _newest(rows, "plans")


def _decisions(session: Session) -> dict[str, Any]:
    return _newest(
        with_starts(Decision.objects.filter(session=session), 1_000, "choice", "rationale"), "decisions"
    )


def _mistakes(session: Session) -> dict[str, Any]:
    rows = Mistake.objects.filter(session=session)
    return _newest(with_starts(rows, 1_000, "summary", "root_cause", "fix", "lesson_md"), "mistakes")


def _hooks(session: Session) -> dict[str, Any]:
    return _newest(with_starts(HookEvent.objects.filter(session=session), 2_000, "payload_json"), "reports")


def _newest[M: models.Model](rows: QuerySet[M], name: str) -> dict[str, Any]:
    found = list(rows.order_by("-ts", "-id")[: PANEL_ROWS + 1])
    return {name: found[:PANEL_ROWS], "more": len(found) > PANEL_ROWS, "panel_rows": PANEL_ROWS}


def _plan_rows(session: Session, window: Window) -> Sequence[Row]:
    if window.only_failed or not session.plan_count:
        return []
    rows = _inside(Plan.objects.filter(session=session).defer("body_md"), window)
    return [
        Row(to_us(plan.ts), "plan", f"p-{plan.pk}", plan.created_by, plan, "plans/_note.html")
        for plan in rows
    ]


def _decision_rows(session: Session, window: Window) -> Sequence[Row]:
    if window.only_failed or not session.decision_count:
        return []
    starts = with_starts(Decision.objects.filter(session=session), NOTE_CHARS, "choice", "rationale")
    return [
        Row(
            to_us(decision.ts),
            "decision",
            f"d-{decision.pk}",
            decision.agent_name,
            decision,
            "decisions/_note.html",
        )
        for decision in _inside(starts, window)
    ]


def _mistake_rows(session: Session, window: Window) -> Sequence[Row]:
    if not session.mistake_count:
        return []
    starts = with_starts(
        Mistake.objects.filter(session=session), NOTE_CHARS, "summary", "root_cause", "fix", "lesson_md"
    )
    return [
        Row(
            to_us(mistake.ts),
            "mistake",
            f"m-{mistake.pk}",
            mistake.agent_name,
            mistake,
            "mistakes/_note.html",
            failed=True,
        )
        for mistake in _inside(starts, window)
    ]


def _hook_rows(session: Session, window: Window) -> Sequence[Row]:
    if not session.hook_count:
        return []
    reports = HookEvent.objects.filter(session=session).defer("payload_json")
    if window.only_failed:
        reports = reports.filter(outcome=HookOutcome.FAIL)
    return [
        Row(
            to_us(report.ts),
            "hook",
            f"k-{report.pk}",
            session.agent_name,
            report,
            "hooks/_note.html",
            failed=report.outcome == HookOutcome.FAIL,
        )
        for report in _inside(reports, window)
    ]


def _inside[M: models.Model](rows: QuerySet[M], window: Window) -> list[M]:
    """The window's newest rows, newest last."""
    inside = rows.filter(ts__gte=from_us(window.start_us), ts__lt=from_us(window.end_us))
    return list(inside.order_by("-ts", "-id")[: window.limit])[::-1]
