"""Version tokens for pages that watch for news: equal tokens mean that nothing changed.

A page asks with the token that it was drawn with; an equal one is answered 204 without a body.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

HEADER = "X-Version"


def unchanged(request: HttpRequest, version: str) -> HttpResponse | None:
    """The 204 answer when the page already shows ``version`` (its ``v`` parameter), else None."""
    if request.GET.get("v") == version:
        return HttpResponse(status=204)
    return None


type Version = Callable[[], str]
