"""The tabs of a session that apps registered."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from contextdash import live
from sessions_app.queries.session import find_session, session_version
from sessions_app.registry import registry
from sessions_app.views.session import head_context, to_session


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
