"""Pages that watch for news: a version token, 204 while nothing changed, else page or fragment.

A page asks again with the token that it was drawn with (``v``); ``static/js/live.js`` does the asking.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from contextdash.viewkit import wants_fragment

HEADER = "X-Version"


def unchanged(request: HttpRequest, version: str) -> HttpResponse | None:
    """The 204 answer when the page already shows ``version``, else None. Ask before reading anything."""
    if request.GET.get("v") == version:
        return HttpResponse(status=204)
    return None


def respond(
    request: HttpRequest, template: str, context: dict[str, Any], *, version: str, fragment: str
) -> HttpResponse:
    """The page, or the named partial of it when htmx or the live poll asks."""
    name = f"{template}#{fragment}" if wants_fragment(request) else template
    response = render(request, name, {**context, "version": version})
    response[HEADER] = version
    return response
