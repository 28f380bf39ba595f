"""The raw ledger of a session: what clients said, entry by entry, narrowed and whole."""

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.clock import from_us
from contextdash.viewkit import wants_fragment, whole_number
from sessions_app.models import Session
from sessions_app.queries import calls, ledger
from sessions_app.queries.kept import erased_words, newest_erasure
from sessions_app.queries.ledger import LedgerFilter
from sessions_app.queries.session import Family, family_of, find_session, session_version
from sessions_app.views.listing import address, by_day, paging
from sessions_app.views.session import as_text, head_context, to_session
from sessions_app.vocabulary import EventKind, Source

VALUE_CHARS = 200


@require_GET
def ledger_page(request: HttpRequest, session_id: str) -> HttpResponse:
    """Newest first. ``kind``, ``source``, ``name``, ``turn``, ``run`` (an attempt at it) and ``agent`` (a
    subagent's id) narrow it; the ordinals ``after`` and ``cursor`` say where it begins.
    """
    version = session_version(session_id)
    if version is None:
        return to_session(request, session_id, "ledger/")
    if (same := live.unchanged(request, version)) is not None:
        return same
    found = find_session(session_id)
    query = request.GET
    family = family_of(found)
    whose = _whose(family, query.get("agent", ""))
    wanted = _filter(query)
    after = whole_number(query.get("after", ""))
    page = ledger.ledger_page(whose, cursor=query.get("cursor"), wanted=wanted, after=after)
    erasure = newest_erasure(whose)
    live_query = query.copy()
    live_query.pop("v", None)
    context = {
        **head_context(found, "ledger"),
        **paging(query, page.next),
        "live_url": f"?{live_query.urlencode()}",
        "next_url": address(query, cursor=page.next, after=None) if page.next else None,
        "first_url": address(query, cursor=None, after=None) if {"cursor", "after"} & set(query) else None,
        "looked_to": page.looked_to,
        "whose": whose,
        "family": family.all if family.children else [],
        "wanted": wanted,
        "kinds": EventKind.values,
        "sources": Source.values,
        "narrows": wanted.narrows,
        "erased": erased_words(erasure) if erasure else "",
        "erased_before": from_us(erasure.received_before_us)
        if erasure and erasure.received_before_us
        else None,
        "days": by_day(page.items, lambda entry: from_us(entry.occurred_us)),
    }
    return live.respond(request, "sessions/ledger.html", context, version=version, fragment="live")


@require_GET
def event(request: HttpRequest, session_id: str, ordinal: int) -> HttpResponse:
    """One entry's payload, cut; ``?whole=1`` gives all of it as plain text, ``?download=1`` as a file."""
    found = find_session(session_id)
    entry = calls.event_of(found, ordinal)
    part = calls.event_part(entry)
    if request.GET.get("download"):
        return _file(part.text, f"event-{entry.ordinal}.json")
    if request.GET.get("whole"):
        return as_text(part.text)
    context = {
        "session": found,
        "event": entry,
        "part": calls.shown(part),
        "occurred": from_us(entry.occurred_us),
        "received": from_us(entry.received_us),
    }
    if wants_fragment(request):
        return render(request, "sessions/event.html#body", context)
    return render(request, "sessions/event.html", {**context, **head_context(found, "ledger")})


def _file(text: str, name: str) -> HttpResponse:
    answer = HttpResponse(text.encode("utf-8", "replace"), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def _whose(family: Family, wanted: str) -> Session:
    """The session itself or the subagent of that id."""
    return next((one for one in family.children if one.id == wanted), family.root)


def _filter(query: QueryDict) -> LedgerFilter:
    return LedgerFilter(
        kind=query.get("kind", "")[:VALUE_CHARS],
        source=query.get("source", "")[:VALUE_CHARS],
        name=query.get("name", "").strip()[:VALUE_CHARS],
        turn=whole_number(query.get("turn", "")),
        run=whole_number(query.get("run", "")),
    )
