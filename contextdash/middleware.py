"""What every request passes, outermost first; the order is in ``settings.MIDDLEWARE``."""

import json
import zoneinfo
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.utils import timezone

from contextdash import health
from contextdash.apianswers import RETRY_AFTER_SECONDS
from contextdash.errors import Busy, Refused
from contextdash.viewkit import wants_fragment
from contextdash.writer import refusal_of

type GetResponse = Callable[[HttpRequest], HttpResponseBase]

PROGRAM_PATHS = ("/api/", "/otlp/")
"""What programs call: they are let in by token, by the endpoint itself, and get JSON."""


def is_program_path(path: str) -> bool:
    return path.startswith(PROGRAM_PATHS)


class Health:
    """``/health/live`` and ``/health/ready``: 204 or 503 without a body, for any Host, without a sign-in."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path == "/health/live":
            return HttpResponse(status=204)
        if request.path == "/health/ready":
            return HttpResponse(status=204 if health.ready() else 503)
        return self.get_response(request)


class OnlyThisSite:
    """Refuses a Host that is not ours and an Origin that is another site's, whatever credentials come along.

    A web page elsewhere can make a browser talk to a server on this machine, under any name that its owner
    lets point here; cookies and even tokens do not prove that a person meant it. Programs send no Origin.
    Static files are covered too, so this comes before WhiteNoise.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            own = f"{request.scheme}://{request.get_host()}"
        except DisallowedHost:
            return _refusal(
                request, 400, "unknown_host", "This server does not go by that name (see CONTEXTDASH_HOSTS)."
            )
        origin = request.headers.get("Origin")
        if origin and origin != own and origin not in settings.CSRF_TRUSTED_ORIGINS:
            return _refusal(request, 403, "foreign_origin", "Requests from other sites are refused.")
        return self.get_response(request)


class NoNul:
    """Refuses an address with a NUL in it: PostgreSQL takes none, so every filter by it would fail."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return _refusal(request, 400, "malformed", "An address holds no NUL.")
        return self.get_response(request)


class Sessions(SessionMiddleware):
    """Browser sessions; one that cannot be saved now is a busy database, not a broken server."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        try:
            return super().process_response(request, response)
        except OperationalError as error:
            return _answered(request, error)


class SignedIn(LoginRequiredMiddleware):
    """Every page needs a sign-in unless its view says otherwise (``login_not_required``).

    The program's addresses are exempt here, in one place: a redirect to a form would be no answer to them.
    """

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[object, ...],
        view_kwargs: dict[str, object],
    ) -> HttpResponseBase | None:
        if is_program_path(request.path):
            return None
        try:
            return super().process_view(request, view_func, view_args, view_kwargs)
        except OperationalError as error:
            return _answered(request, error)


class AnswerRefusals:
    """What a service refused, or a database that takes no writes now, in the form that the caller reads."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        refused = exception if isinstance(exception, Refused) else refusal_of(exception)
        return None if refused is None else _answer(request, refused)


class ReaderTimeZone:
    """Days and times are shown in the zone of the profile, else of the browser (a cookie), else UTC."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        user = getattr(request, "user", None)
        try:  # the first that asks the database who this is
            name = getattr(user, "time_zone", "") or request.COOKIES.get("contextdash_zone", "")
        except OperationalError as error:
            return _answered(request, error)
        with timezone.override(zone_named(name)):
            return self.get_response(request)


def _answered(request: HttpRequest, error: Exception) -> HttpResponse:
    """What a database that takes no writes now is told as; any other error goes on."""
    refused = refusal_of(error)
    if refused is None:
        raise error
    return _answer(request, refused)


def _answer(request: HttpRequest, refused: Refused) -> HttpResponse:
    """JSON for programs, a page for people; for htmx one line, which is shown as a toast."""
    if is_program_path(request.path) or wants_fragment(request):
        response = _refusal(request, refused.status, refused.code, refused.detail)
    else:
        response = _page("errors/refused.html", refused.status, {"refused": refused})
    if isinstance(refused, Busy):
        response["Retry-After"] = RETRY_AFTER_SECONDS
    return response


def _refusal(request: HttpRequest, status: int, code: str, detail: str) -> HttpResponse:
    """An answer that needs no template, session or database: JSON for programs, a line for people."""
    if not is_program_path(request.path):
        return _line(detail, status)
    body = json.dumps({"error": code, "detail": detail})
    return HttpResponse(body, status=status, content_type="application/json")


def _page(template: str, status: int, context: dict[str, Any] | None = None) -> HttpResponse:
    # Without the request: what surrounds other pages would ask the database that has just refused.
    return HttpResponse(render_to_string(template, context), status=status)


def _line(detail: str, status: int) -> HttpResponse:
    return HttpResponse(detail, status=status, content_type="text/plain; charset=utf-8")


def zone_named(name: str) -> zoneinfo.ZoneInfo | None:
    if not name:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return None
