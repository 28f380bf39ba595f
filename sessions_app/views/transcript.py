"""A session's conversation: turns with thinking, text, tool calls and cost, retries and forks switchable."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.viewkit import wants_fragment, whole_number
from sessions_app.filed import file_answer
from sessions_app.models import Session
from sessions_app.queries import transcript as queries
from sessions_app.queries.attached import attachment_of
from sessions_app.queries.session import find_session, session_version
from sessions_app.queries.transcript import TranscriptPage, TurnShown, Versions
from sessions_app.views.session import head_context, to_session

TEMPLATE = "sessions/transcript.html"
ROUTING_ROWS = 50


@require_GET
def transcript(request: HttpRequest, session_id: str) -> HttpResponse:
    """The newest turns; ``turn`` begins at one, with ``run`` in one of its attempts; ``before`` and ``after``
    go on from a turn. ``part`` names a piece: turn, steps, prompts or tail.
    """
    version = session_version(session_id)
    if version is None:
        return to_session(request, session_id, "transcript/")
    if (same := live.unchanged(request, version)) is not None:
        return same
    found = find_session(session_id)
    query = request.GET
    versions = queries.versions_of(found, whole_number(query.get("version", "")))
    context: dict[str, Any] = {"session": found, "address": _home(found, query), "versions": versions}
    part = query.get("part", "") if wants_fragment(request) else ""
    turn = whole_number(query.get("turn", ""))
    if part == "prompts":
        shown = queries.prompts(found, versions, turn)
        return render(request, f"{TEMPLATE}#prompts", {**context, "prompts": shown, "current": turn})
    if part in ("turn", "steps"):
        one = _one(found, versions, query)
        return render(request, f"{TEMPLATE}#{part}", {**context, "one": one})
    page = _page(found, versions, query)
    context |= _parts(page, query)
    if part == "tail":
        return live.respond(request, TEMPLATE, context, version=version, fragment="tail")
    if wants_fragment(request):
        return render(request, f"{TEMPLATE}#turns", context)
    context |= head_context(found, "transcript") | {"current": turn}
    return live.respond(request, TEMPLATE, context, version=version, fragment="turns")


@require_GET
def model_call(request: HttpRequest, session_id: str, key: int) -> HttpResponse:
    """The whole of what a model thought and said in one call."""
    found = find_session(session_id)
    row = queries.iteration_of(found, key)
    routing = list(row.routing.order_by("position")[:ROUTING_ROWS])
    context = {"session": found, "row": row, "routing": routing, **head_context(found, "transcript")}
    return render(request, "sessions/model_call.html", context)


@require_GET
def attachment(request: HttpRequest, session_id: str, pk: int) -> HttpResponse:
    """Its bytes: of an image to be shown, of all else to be kept; in a page of its own it can do nothing."""
    return file_answer(attachment_of(find_session(session_id), pk))


def _one(found: Session, versions: Versions, query: QueryDict) -> TurnShown:
    return queries.one_turn(
        found,
        versions,
        whole_number(query.get("turn", "")) or 0,
        run=whole_number(query.get("run", "")),
        until=query.get("until"),
    )


def _page(found: Session, versions: Versions, query: QueryDict) -> TranscriptPage:
    turn, before, after = (whole_number(query.get(name, "")) for name in ("turn", "before", "after"))
    if before is not None:
        return queries.turns_before(found, versions, before)
    if after:
        return queries.turns_from(found, versions, after)
    if turn:
        return queries.turns_from(found, versions, turn, run=whole_number(query.get("run", "")), lead=True)
    return queries.newest_turns(found, versions)


def _parts(page: TranscriptPage, query: QueryDict) -> dict[str, Any]:
    """Turns at rest and, on the newest page, the last one apart: it is asked for again while it grows."""
    newest = page.later is None and "before" not in query and page.turns
    at_rest = page.turns[:-1] if newest and not query.get("part") else page.turns
    last = page.turns[-1] if newest else None
    return {
        "turns": at_rest if last else page.turns,
        "tail": [last] if last else [],
        # Before the first prompt there is no turn to go on from: all there is is asked for again.
        "tail_from": last.number if last else None,
        "tail_turns": page.turns,
        "earlier": page.earlier,
        "later": page.later,
    }


def _home(found: Session, query: QueryDict) -> str:
    """The transcript's address up to its parameters, with the version that is read."""
    pairs = {"version": query["version"]} if whole_number(query.get("version", "")) is not None else {}
    home = reverse("session_transcript", args=[found.id])
    return f"{home}?{urlencode(pairs)}{'&' if pairs else ''}"
