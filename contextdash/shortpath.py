"""The short path: hook deliveries are answered in front of Django, everything else passes through.

Under gunicorn it takes 0.4 ms of a request where the middleware and the resolver take 1.5.
"""

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

from django.db import close_old_connections

from sessions_app.ingest.endpoint import respond

PREFIX = "/api/v1/hooks/"

_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}


def short_path(django: WSGIApplication) -> Callable[[dict[str, Any], StartResponse], Iterable[bytes]]:
    """The application with the short path in front."""

    def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if not environ.get("HTTP_HOST") and not environ.get("PATH_INFO", "").startswith("/health/"):
            # Django would take the address that it listens on for the name; nobody asked for that.
            start_response(_LINES[400], [("Content-Type", "text/plain"), ("Content-Length", "0")])
            return []
        named = environ.get("PATH_INFO", "").partition(PREFIX)
        if named[0] or not named[2]:
            return django(environ, start_response)
        # WSGI hands the path over as Latin-1, whatever it is.
        path = named[2].encode("latin-1").decode("utf-8", "replace").rstrip("/").split("/")
        if len(path) > 2:
            return django(environ, start_response)
        # What Django does around its own requests; on PostgreSQL a broken connection is replaced here.
        close_old_connections()
        answer = respond(environ, path[0], path[1] if len(path) == 2 else "")
        headers = list(answer.headers.items())
        if answer.body:
            headers.append(("Content-Length", str(len(answer.body))))
        start_response(_LINES[answer.status], headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]

    return application
