"""The other tabs of a session: panels that apps registered, and the raw ledger."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.clock import from_us
from contextdash.viewkit import wants_fragment
from sessions_app.queries import calls, ledger
from sessions_app.queries.kept import erased_words, newest_erasure
from sessions_app.queries.session import find_session, session_version
from sessions_app.registry import registry
from sessions_app.views.listing import by_day, paging
from sessions_app.views.session import as_text, head_context, to_session


@require_GET
def panel(request: HttpRequest, session_id: str, slug: str) -> HttpResponse:
    shown = registry.panels.get(slug)
    if shown is None:
        raise Http404
    version = session_version(session_id)
    if version is None:
        return to_session(request, session_id, f"{slug}/")
    if (same := live.unchanged(request, version)) is not None:
        return same
    found = find_session(session_id)
    context = {
        **head_context(found, slug),
        "panel": shown,
        "live_url": request.get_full_path(),
        **shown.context(found),
    }
    return live.respond(request, "sessions/panel.html", context, version=version, fragment="live")


@require_GET
def ledger_page(request: HttpRequest, session_id: str) -> HttpResponse:
    """Every observation of the session as it came, newest first."""
    version = session_version(session_id)
    if version is None:
        return to_session(request, session_id, "ledger/")
    if (same := live.unchanged(request, version)) is not None:
        return same
    found = find_session(session_id)
    entries = ledger.ledger_page(found, cursor=request.GET.get("cursor"))
    erasure = newest_erasure(found)
    context = {
        **head_context(found, "ledger"),
        **paging(request.GET, entries.next),
        "erased": erased_words(erasure) if erasure else "",
        "erased_before": from_us(erasure.received_before_us)
        if erasure and erasure.received_before_us
        else None,
        "days": by_day(entries.items, lambda entry: from_us(entry.occurred_us)),
    }
    return live.respond(request, "sessions/ledger.html", context, version=version, fragment="live")


@require_GET
def event(request: HttpRequest, session_id: str, ordinal: int) -> HttpResponse:
    """One entry's payload, cut; ``?whole=1`` gives all of it as plain text."""
    found = find_session(session_id)
    entry = calls.event_of(found, ordinal)
    part = calls.event_part(entry)
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
