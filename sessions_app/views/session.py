"""One session: its head, its timeline, its tool calls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from contextdash import clock, live
from contextdash.rendering.ansi import plain
from contextdash.viewkit import Tab, person_of, wants_fragment, whole_number
from sessions_app.forms_sessions import read_timeline_filter
from sessions_app.models import Session
from sessions_app.queries import calls, timeline, timeline_sources
from sessions_app.queries.blocks import blocks_of
from sessions_app.queries.code import Code, code_of
from sessions_app.queries.seen import timeline_seen_us
from sessions_app.queries.session import (
    Family,
    family_of,
    find_session,
    session_version,
    speakers,
    tool_times,
)
from sessions_app.queries.states import state_of
from sessions_app.queries.subagents import agents_of, spent_with_subagents
from sessions_app.queries.timeline import KINDS, OFF_AT_FIRST, TimelineFilter
from sessions_app.queries.usage import Spent
from sessions_app.registry import Row, registry
from sessions_app.views.drawing import Drawn, Lanes
from sessions_app.views.folding import folded
from sessions_app.views.seen import first_unseen

OWN_TABS = (
    ("Timeline", "", "timeline"),
    ("Waterfall", "waterfall/", "waterfall"),
    ("Transcript", "transcript/", "transcript"),
    ("Files", "files/", "files"),
)
"""What every session has: title, rest of the address, name."""

TAB_ORDER = (
    *("messages", "plans", "decisions", "mistakes"),
    *("reviews", "backlog", "subagents", "hooks"),
)
"""Panels that are not named here follow, as they were registered; the ledger is last."""

COUNTED = {
    "turn": "turn_count",
    "call": "call_count",
    "message": "message_count",
    "decision": "decision_count",
    "plan": "plan_count",
    "mistake": "mistake_count",
    "finding": "review_count",
    "story": "story_count",
    "hook": "hook_count",
}
ALWAYS_OFFERED = {"turn", "call", "note"}


@dataclass(frozen=True, slots=True)
class Head:
    """What the top of every page of a session tells."""

    session: Session
    title: str
    state: str
    lasted_us: int | None
    over: bool
    spent: Spent
    """With its subagents."""
    code: Code
    """As its telemetry counted it."""


@dataclass(frozen=True, slots=True)
class Toggle:
    kind: str
    title: str
    on: bool
    count: int | None


@require_GET
def session(request: HttpRequest, ref: str) -> HttpResponse:
    """The timeline. ``before`` reads back from a cursor, ``at`` shows a moment and what came around it,
    ``after`` is what an open page asks for again.
    """
    version = session_version(ref)
    if version is None:
        return to_session(request, ref)
    if (same := live.unchanged(request, version)) is not None:
        return same
    found = find_session(ref)
    if wants_fragment(request) and request.GET.get("part") == "facts":
        return live.respond(
            request, "sessions/session.html", head_context(found), version=version, fragment="facts"
        )
    family = family_of(found)
    if wants_fragment(request) and request.GET.get("part") == "tools":
        return live.respond(
            request, "sessions/session.html", _tools(family), version=version, fragment="tools"
        )
    if wants_fragment(request) and request.GET.get("part") == "turn":
        # The head of a turn stands above the tail while its calls come in.
        number = whole_number(request.GET.get("number", "")) or 0
        context = {"item": timeline.turn_item(family, number), "home_url": _address(QueryDict(), found)}
        return live.respond(request, "sessions/rows/turn.html", context, version=version, fragment="told")
    lanes = Lanes(family, speakers(family))
    wanted = read_timeline_filter(request.GET)
    if wants_fragment(request) and "after" in request.GET:
        context = _tail(
            request.GET, family, wanted, lanes, from_us=whole_number(request.GET.get("after", "")) or 0
        )
        return live.respond(
            request, "sessions/session.html", {"session": found, **context}, version=version, fragment="tail"
        )
    # Fetched parts keep the mark of the page that they come to: its line stays while one reads on.
    given = whole_number(request.GET.get("seen", ""))
    seen_us = given if wants_fragment(request) else timeline_seen_us(person_of(request), found)
    context = _stretch(request.GET, family, wanted, lanes, seen_us=seen_us)
    if not wants_fragment(request):
        context |= head_context(found) | _around(request.GET, family, wanted, lanes)
    return live.respond(
        request, "sessions/session.html", {"session": found, **context}, version=version, fragment="rows"
    )


@require_GET
def call(request: HttpRequest, session_id: str, key: int) -> HttpResponse:
    """What went into a call and what came out, cut; a page of its own, or what an opened row fetches."""
    found = find_session(session_id)
    detail = calls.call_detail(family_of(found), key)
    context = {
        "session": found,
        "detail": detail,
        "call": detail.call,
        "clock_off": timeline_sources.is_clock_off(detail.call),
    }
    if wants_fragment(request):
        return render(request, "sessions/call.html#body", context)
    return render(request, "sessions/call.html", {**context, **head_context(found)})


@require_GET
def call_part(request: HttpRequest, session_id: str, key: int, slug: str) -> HttpResponse:
    """The whole of one part, as plain text."""
    part = calls.call_part(family_of(find_session(session_id)), key, slug)
    return as_text(part.text)


@require_GET
def turn(request: HttpRequest, session_id: str, number: int) -> HttpResponse:
    """A turn's prompt and answers, whole."""
    found = find_session(session_id)
    shown = timeline.turn_of(found, number)
    runs = [(run, blocks_of(detail.content) if detail else []) for run, detail in timeline.runs_of(shown)]
    return render(request, "sessions/turn.html", {"turn": shown, "runs": runs, **head_context(found)})


def to_session(request: HttpRequest, ref: str, below: str = "") -> HttpResponse:
    """A prefix, ``latest`` or a client's own id leads to the one address of its session.

    ``below`` is the rest of the path, such as ``ledger/``.

    Raises:
        NotFound: it names none.
    """
    query = request.META.get("QUERY_STRING", "")
    home = reverse("session", args=[find_session(ref).id])
    return redirect(f"{home}{below}{'?' if query else ''}{query}")


def as_text(text: str) -> HttpResponse:
    return HttpResponse(plain(text), content_type="text/plain; charset=utf-8")


def head_context(found: Session, current: str = "timeline") -> dict[str, Any]:
    now_us = clock.now_us()
    state = state_of(found, now_us)
    over = found.ended_at is not None
    lasted = (clock.to_us(found.ended_at) if found.ended_at else found.last_us) - found.started_us
    spent = spent_with_subagents(found)
    title = plain(found.title or (found.user_request or "")[:200]).strip() or found.id
    return {
        "nav": "sessions",
        "session": found,
        "head": Head(found, title, state, lasted if lasted >= 0 else None, over, spent, code_of(found)),
        "tabs": _tabs(found, current),
        "sheets": registry.styles,
        "raw_panels": [panel for panel in registry.panels.values() if panel.raw],
        "facts_url": f"{reverse('session', args=[found.id])}?part=facts",
    }


def _tabs(found: Session, current: str) -> list[Tab]:
    home = reverse("session", args=[found.id])
    tabs = [Tab(title, f"{home}{path}", current == slug) for title, path, slug in OWN_TABS]
    slugs = [slug for slug in registry.panels if slug not in TAB_ORDER]
    panels = [registry.panels[slug] for slug in (*TAB_ORDER, *slugs) if slug in registry.panels]
    tabs += [
        Tab(panel.title, f"{home}{panel.slug}/", current == panel.slug, panel.count(found))
        for panel in panels
        if not panel.raw or panel.slug == current
    ]
    tabs.append(Tab("Ledger", f"{home}ledger/", current == "ledger", found.event_count))
    return tabs


def _stretch(
    query: QueryDict, family: Family, wanted: TimelineFilter, lanes: Lanes, *, seen_us: int | None
) -> dict[str, Any]:
    cursor = query.get("before")
    if cursor is None and "at" in query:
        cursor = timeline.cursor_around(family, whole_number(query.get("at", "")) or 0)
    stretch = timeline.stretch_before(family, wanted, cursor=cursor)
    drawn = lanes.draw(stretch, clock.now_us())
    rows: dict[str, Any] = {"seen_key": _seen_key(stretch.rows, seen_us)}
    if cursor is not None:
        # The newest of these may be the last that was seen: then no row below has the line above it.
        below_us = whole_number(cursor.partition(".")[0]) or 0
        ends = seen_us is not None and below_us > seen_us >= (stretch.rows[-1].at_us if stretch.rows else 0)
        rows |= {"seen_ends": ends}
        return rows | _rows(query, family, drawn, stretch.earlier, seen_us, rows["seen_key"])
    from_us = timeline.tail_starts(stretch.rows)
    at_rest = [row for row in drawn if row.row.at_us < from_us]
    rows |= _rows(query, family, at_rest, stretch.earlier, seen_us, rows["seen_key"])
    # The line comes into the tail where all above it was seen.
    above = stretch.rows[max(0, len(at_rest) - 1)].at_us if stretch.rows else 0
    tail_seen_us = seen_us if seen_us is not None and above <= seen_us else None
    return rows | _tail_context(query, family, drawn[len(at_rest) :], from_us, tail_seen_us)


def _seen_key(rows: Sequence[Row], seen_us: int | None) -> str | None:
    """The row under the line: the first unseen one, where the one above it was seen."""
    place = first_unseen(rows, seen_us)
    return rows[place].key if place else None


def _rows(
    query: QueryDict,
    family: Family,
    drawn: Sequence[Drawn],
    earlier: str | None,
    seen_us: int | None,
    seen_key: str | None,
) -> dict[str, Any]:
    seen = None if seen_us is None else str(seen_us)
    return {
        "home_url": _address(QueryDict(), family.root),
        "rows": folded(drawn, seen_key),
        "earlier_url": _address(query, family.root, before=earlier, seen=seen) if earlier else None,
    }


def _tail(
    query: QueryDict, family: Family, wanted: TimelineFilter, lanes: Lanes, *, from_us: int
) -> dict[str, Any]:
    stretch = timeline.stretch_after(family, wanted, from_us=from_us)
    drawn = lanes.draw(stretch, clock.now_us(), follows_us=from_us or None)
    seen_us = whole_number(query.get("seen", ""))
    place = first_unseen(stretch.rows, seen_us)
    context = _tail_context(query, family, drawn, from_us, seen_us)
    return context | {"seen_key": None if place is None else stretch.rows[place].key}


def _tail_context(
    query: QueryDict, family: Family, drawn: Sequence[Drawn], from_us: int, seen_us: int | None
) -> dict[str, Any]:
    seen = None if seen_us is None else str(seen_us)
    return {
        "home_url": _address(QueryDict(), family.root),
        "tail": drawn,
        "tail_url": _address(query, family.root, after=str(from_us), seen=seen),
    }


def _around(query: QueryDict, family: Family, wanted: TimelineFilter, lanes: Lanes) -> dict[str, Any]:
    # Adding up all calls of a long session takes longer than the rest of its page: fetched afterwards.
    tools = _tools(family) if query.get("part") == "tools" else {"tools": None}
    return {
        **tools,
        "lanes": lanes.all,
        "toggles": _toggles(family.root, wanted),
        "only_failed": wanted.only_failed,
        "failed_url": _address(query, family.root, failed=None if wanted.only_failed else "1"),
        "newest_url": _address(query, family.root) if "before" in query or "at" in query else None,
        "tree": agents_of(family, clock.now_us()) if family.children else None,
        "family": family,
    }


def _tools(family: Family) -> dict[str, Any]:
    tools = tool_times(family)
    return {
        "tools": tools,
        "side_by_side": any(tool.side_by_side for tool in tools),
        "with_subagents": bool(family.children),
    }


def _toggles(found: Session, wanted: TimelineFilter) -> list[Toggle]:
    counts = {kind: getattr(found, name) for kind, name in COUNTED.items()}
    offered = [kind for kind in KINDS if kind in ALWAYS_OFFERED or counts.get(kind) or _chosen(kind, wanted)]
    return [Toggle(kind, KINDS[kind], kind in wanted.kinds, counts.get(kind)) for kind in offered]


def _chosen(kind: str, wanted: TimelineFilter) -> bool:
    """Somebody asked for just this, so it is offered though there is none of it."""
    return wanted.kinds != frozenset(KINDS) - OFF_AT_FIRST and kind in wanted.kinds


def _address(query: QueryDict, found: Session, **changed: str | None) -> str:
    """The timeline's address with the filter of this one."""
    pairs = [("kind", kind) for kind in query.getlist("kind") if kind in KINDS]
    pairs += [("failed", "1")] if query.get("failed") and "failed" not in changed else []
    pairs += [(name, value) for name, value in changed.items() if value is not None]
    home = reverse("session", args=[found.id])
    return f"{home}?{urlencode(pairs)}" if pairs else home
