"""The JSON API's root: mounts every app's router and turns refusals into answers."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.openapi.schema import OpenAPISchema
from pydantic import Field

from backlog_app.api.backlog import router as backlog
from backlog_app.api.sprints import router as sprints
from contextdash import __version__
from contextdash.apianswers import RETRY_AFTER_SECONDS, refusal
from contextdash.apikit import (
    Bearer,
    Browser,
    TolerantParser,
    Unauthenticated,
    docs_access,
    not_valid,
)
from contextdash.errors import Busy, Refused
from contextdash.ingest_api import router as ingest
from contextdash.standup_api import router as standup
from reviews_app.api import router as reviews
from reviews_app.api_links import router as finding_links
from sessions_app.api.aggregates import router as aggregates
from sessions_app.api.attachments import router as attachments
from sessions_app.api.capabilities import router as capabilities
from sessions_app.api.continuations import router as continuations
from sessions_app.api.decisions import router as decisions
from sessions_app.api.epochs import router as epochs
from sessions_app.api.forks import router as forks
from sessions_app.api.hook_events import router as hook_events
from sessions_app.api.ledger import router as ledger
from sessions_app.api.ledger_events import router as ledger_events
from sessions_app.api.ledger_runs import router as ledger_runs
from sessions_app.api.logs import router as logs
from sessions_app.api.messages import router as messages
from sessions_app.api.mistakes import router as mistakes
from sessions_app.api.operations import router as tool_operations
from sessions_app.api.partials import router as partials
from sessions_app.api.places import router as places
from sessions_app.api.plans import router as plans
from sessions_app.api.sessions import router as sessions
from sessions_app.api.spawns import router as spawns
from sessions_app.api.tool_results import router as tool_results


class Problem(Schema):
    """What every refusal looks like."""

    error: str = Field(description="A code that stays: invalid, not_found, conflict, stale, busy…")
    detail: str = Field(description="What is wrong and what to do.")
    field: str | None = Field(None, description="The field that is meant.")
    current: int | None = Field(None, description="What it is at, where another number was expected.")


class Api(NinjaAPI):
    """Ninja's, with the one form of errors in its description."""

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**options)
        schema["components"]["schemas"]["Error"] = Problem.model_json_schema()
        answer = {"$ref": "#/components/schemas/Error"}
        for operations in schema["paths"].values():
            for operation in operations.values():
                operation["responses"]["default"] = {
                    "description": "Refused",
                    "content": {"application/json": {"schema": answer}},
                }
        return schema


api = Api(
    title="contextdash",
    version=__version__,
    description="The flight recorder and working memory of a team's coding agents.",
    auth=[Bearer(), Browser()],
    parser=TolerantParser(),
    docs_decorator=docs_access,
    urls_namespace="api",
)

api.add_router("", places)
api.add_router("", ledger)
api.add_router("", forks)
api.add_router("", logs)
api.add_router("attachments", attachments)
api.add_router("aggregates", aggregates)
api.add_router("", ledger_runs)
api.add_router("", ledger_events)
api.add_router("", tool_operations)
api.add_router("", tool_results)
api.add_router("", ingest)
api.add_router("sessions", sessions)
api.add_router("spawns", spawns)
api.add_router("continuations", continuations)
api.add_router("partials", partials)
api.add_router("capabilities", capabilities)
api.add_router("epochs", epochs)
api.add_router("messages", messages)
api.add_router("plans", plans)
api.add_router("decisions", decisions)
api.add_router("mistakes", mistakes)
api.add_router("hook-events", hook_events)
api.add_router("reviews", reviews)
api.add_router("reviews", finding_links)
api.add_router("backlog", backlog)
api.add_router("sprints", sprints)
api.add_router("standup", standup)


@api.exception_handler(Refused)
def _refused(request: HttpRequest, error: Refused) -> HttpResponse:
    headers: dict[str, str] = {}
    if isinstance(error, Busy):
        headers["Retry-After"] = RETRY_AFTER_SECONDS
    elif isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return refusal(error.status, error.code, error.detail, error.field, headers, error.current)


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    return _refused(request, not_valid(error.errors))


@api.exception_handler(AuthenticationError)
def _unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return _refused(request, Unauthenticated())


@api.exception_handler(Http404)
def _not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return refusal(404, "not_found", "There is no such row.")


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    # ninja wraps what its parser raises: the refusal itself says more.
    if isinstance(error.__cause__, Refused):
        return _refused(request, error.__cause__)
    codes = {400: "malformed", 403: "forbidden"}
    return refusal(error.status_code, codes.get(error.status_code, "refused"), str(error))
