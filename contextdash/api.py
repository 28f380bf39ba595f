"""The JSON API's root: mounts every app's router and turns refusals into answers."""

import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from contextdash import __version__
from contextdash.apikit import Bearer, Browser
from contextdash.errors import Busy, Refused

api = NinjaAPI(
    title="contextdash",
    version=__version__,
    description="The flight recorder and working memory of a team's coding agents.",
    auth=[Bearer(), Browser()],
    docs_decorator=login_required,
    urls_namespace="api",
)


def refusal(
    status: int, code: str, detail: str, field: str | None = None, headers: dict[str, str] | None = None
) -> HttpResponse:
    """The one form of every error: ``{"error": code, "detail": what to do, "field": name?}``."""
    body = {"error": code, "detail": detail, **({"field": field} if field else {})}
    return HttpResponse(json.dumps(body), status=status, content_type="application/json", headers=headers)


@api.exception_handler(Refused)
def _refused(request: HttpRequest, error: Refused) -> HttpResponse:
    headers = {"Retry-After": "2"} if isinstance(error, Busy) else None
    return refusal(error.status, error.code, error.detail, error.field, headers)


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    first: dict[str, Any] = error.errors[0]
    field = ".".join(str(part) for part in first.get("loc", ()) if part not in ("body", "query", "payload"))
    return refusal(422, "invalid", f"{field}: {first.get('msg', 'not valid')}", field or None)


@api.exception_handler(AuthenticationError)
def _unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return refusal(
        401,
        "unauthenticated",
        "Send a live token: Authorization: Bearer cdt_… (contextdash token create makes one).",
        headers={"WWW-Authenticate": "Bearer"},
    )


@api.exception_handler(Http404)
def _not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return refusal(404, "not_found", "There is no such row.")


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return refusal(error.status_code, "malformed" if error.status_code == 400 else "refused", str(error))
