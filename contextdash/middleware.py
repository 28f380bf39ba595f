"""What every request passes: refusal of foreign origins, a busy database as 503, the reader's time zone."""

import zoneinfo
from collections.abc import Callable

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone

from contextdash.writer import is_locked

type GetResponse = Callable[[HttpRequest], HttpResponseBase]


class RefuseForeignOrigins:
    """A request that carries another site's Origin is refused, whatever credentials it brings.

    A web page elsewhere can make a browser talk to a server on this machine; cookies and even tokens do not
    prove that a person meant it. Programs send no Origin.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        origin = request.headers.get("Origin")
        if origin and origin != f"{request.scheme}://{request.get_host()}":
            return HttpResponse(
                '{"error": "foreign_origin", "detail": "Requests from other sites are refused."}',
                status=403,
                content_type="application/json",
            )
        return self.get_response(request)


class BusyDatabase:
    """SQLite's "database is locked" becomes 503 with Retry-After, in this one place."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, OperationalError) and is_locked(exception):
            return HttpResponse(
                "The database is busy; try again in a moment.", status=503, headers={"Retry-After": "2"}
            )
        return None


class ReaderTimeZone:
    """Days and times are shown in the zone of the profile, else of the browser (a cookie), else UTC."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        user = getattr(request, "user", None)
        name = getattr(user, "time_zone", "") or request.COOKIES.get("contextdash_zone", "")
        with timezone.override(_zone(name)):
            return self.get_response(request)


def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    if not name:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, zoneinfo.ZoneInfoNotFoundError):
        return None
