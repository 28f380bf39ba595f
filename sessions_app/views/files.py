"""The files that a session touched, and the changes of each in order."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.viewkit import wants_fragment, whole_number
from sessions_app.queries import files as queries
from sessions_app.queries.session import family_of, find_session, session_version
from sessions_app.views.listing import address, paging
from sessions_app.views.session import head_context, to_session


@require_GET
def files(request: HttpRequest, session_id: str) -> HttpResponse:
    """By path. ``all=1`` adds what was only read; ``q`` is a part of a path; ``path`` opens one file."""
    version = session_version(session_id)
    if version is None:
        return to_session(request, session_id, "files/")
    if (same := live.unchanged(request, version)) is not None:
        return same
    found = find_session(session_id)
    family = family_of(found)
    query = request.GET
    changed = not query.get("all")
    context: dict[str, Any] = {"session": found, "changed": changed}
    path = query.get("path", "")
    if path:
        after = whole_number(query.get("after", "")) or 0
        shown = queries.touches(family, path, changed=changed, after=after)
        more = address(query, after=str(shown.next)) if shown.next else None
        context |= {"touches": shown, "more_url": more}
        if wants_fragment(request):
            return render(request, "sessions/files.html#touches", context)
        context |= {"back_url": address(query, path=None, after=None)}
    else:
        page = queries.file_page(
            family, changed=changed, text=query.get("q", ""), after=query.get("cursor", "")
        )
        context |= {
            "page": page,
            "text": query.get("q", ""),
            "live_url": request.get_full_path(),
            "all_url": address(query, all="1", cursor=None),
            "changed_url": address(query, all=None, cursor=None),
            "clear_url": address(query, q=None, cursor=None),
            **paging(query, page.next),
        }
    if not wants_fragment(request):
        context |= head_context(found, "files")
    return live.respond(request, "sessions/files.html", context, version=version, fragment="live")
