"""The one form of every error that a program gets, whoever refused: endpoint, framework or middleware."""

import json
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase

RETRY_AFTER_SECONDS = "2"

_UNSAID = {
    400: ("malformed", "The request cannot be read."),
    403: ("forbidden", "This is not allowed."),
    404: ("not_found", "There is no such address. The list of all is at /api/v1/docs."),
    405: ("method_not_allowed", "This address does not take that method."),
    413: ("too_large", "The request is too large."),
    500: ("failed", "The server failed. Nothing was stored; its log says why."),
    503: ("busy", "The database is busy. Nothing was stored; try again."),
}


def refusal(
    status: int,
    code: str,
    detail: str,
    field: str | None = None,
    headers: dict[str, str] | None = None,
    current: int | None = None,
) -> HttpResponse:
    """``{"error": code, "detail": what to do, "field": name?, "current": number?}``"""
    body: dict[str, object] = {"error": code, "detail": detail, **({"field": field} if field else {})}
    if current is not None:
        body["current"] = current
    return HttpResponse(json.dumps(body), status=status, content_type="application/json", headers=headers)


class ErrorsAsJson:
    """Below /api/ no error is a page of HTML: what the framework refused is said in the one form."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code < 400 or not request.path.startswith("/api/"):
            return response
        if response.get("Content-Type", "").startswith("application/json"):
            return response
        code, detail = _UNSAID.get(response.status_code, ("refused", "This was refused."))
        kept = {name: response[name] for name in ("Allow", "Retry-After") if name in response}
        return refusal(response.status_code, code, detail, headers=kept)
