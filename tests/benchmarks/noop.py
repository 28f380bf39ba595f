"""The least that a server can do for a delivery: read it and answer 204. What is measured against it."""

from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse


def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start_response("204 No Content", [])
    return []
