"""The hook endpoint, framework aside: from a WSGI environment to a status, headers and a body.

``contextdash.shortpath`` calls it in front of Django, ``sessions_app.views.deliveries`` behind it; an agent
waits for the answer at every tool call, and Django's middleware would be two thirds of that time.
"""

import json
import logging
import traceback
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db import OperationalError
from django.http.request import split_domain_port, validate_host

from contextdash.apianswers import RETRY_AFTER_SECONDS
from contextdash.clock import now_us
from contextdash.decoding import read_body
from contextdash.errors import Busy, Forbidden, Malformed, Refused, TooLarge, UnsupportedMedia
from contextdash.models.token import Scope, Token
from contextdash.services import tokens
from contextdash.writer import refusal_of, writer
from sessions_app.ingest.observing import delivery_of, known_client, observe
from sessions_app.ingest.store import store
from sessions_app.services.quarantine import quarantine_delivery

log = logging.getLogger("contextdash.ingest")

type Environ = Mapping[str, Any]

METHODS = ("GET", "HEAD", "POST")
FACTS = ("delivery_id", "captured_at", "host", "root", "remote", "branch")
_FACT_HEADERS = {f"HTTP_X_CONTEXTDASH_{name.upper()}": name for name in FACTS}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes = b""


DONE = Answer(204, {})
"""Empty, because Claude Code reads any body of a 2xx as a decision."""


def respond(environ: Environ, client: str, event: str) -> Answer:
    """The answer to a delivery (POST, stored when this returns 204) or a check of the connection (GET)."""
    try:
        return _respond(environ, client, event)
    except Refused as refused:
        return _refusal(refused)
    except OperationalError as error:
        log.warning("a delivery met a busy database: %s", type(error).__name__)
        return _refusal(refusal_of(error) or Busy("The database is busy. Nothing was stored; try again."))
    except Exception as error:
        # Without the message: a database's error quotes the row, and the row is the agent's text.
        where = "".join(traceback.format_tb(error.__traceback__))
        log.error("a delivery failed: %s\n%s", type(error).__name__, where)
        return _json(500, "failed", "The server failed. Nothing was stored; its log says why.")


def _respond(environ: Environ, client: str, event: str) -> Answer:
    _check_site(environ)
    known_client(client)
    method = environ["REQUEST_METHOD"]
    if method not in METHODS:
        answer = _json(405, "method_not_allowed", "Post deliveries here; GET checks the connection.")
        return answer._replace(headers={**answer.headers, "Allow": ", ".join(METHODS)})
    token = _token(environ)
    if token is None:
        answer = _json(
            401,
            "unauthenticated",
            "Send a live token: Authorization: Bearer cdt_… (contextdash token create makes one).",
        )
        return answer._replace(headers={**answer.headers, "WWW-Authenticate": "Bearer"})
    if not token.grants(Scope.INGEST):
        raise Forbidden(f"This token's scope is {token.scope}; hooks need ingest.")
    if method == "POST":
        _deliver(environ, client, event, token)
    return DONE


def _deliver(environ: Environ, client: str, event: str, token: Token) -> None:
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != "application/json":
        raise UnsupportedMedia("Send the hook's JSON as it is, with Content-Type: application/json.")
    received_us = now_us()
    length = _length(environ)
    raw = b""
    try:
        raw = read_body(
            environ["wsgi.input"], length=length, encoding=environ.get("HTTP_CONTENT_ENCODING", "")
        )
        facts = {
            name: unquote(environ[header]) for header, name in _FACT_HEADERS.items() if header in environ
        }
        delivery = delivery_of(facts, received_us=received_us, owner_id=token.owner_id)
        seen = observe(raw, client=client, event=event, delivery=delivery)
    except (Malformed, TooLarge) as refused:
        quarantine_delivery(
            client=client,
            event=event,
            reason=refused.code,
            detail=refused.detail,
            body=raw,
            body_size=len(raw) or length,
        )
        raise
    writer.submit(store, [seen])


def _check_site(environ: Environ) -> None:
    """Refuse a Host that is not ours and an Origin that is another site's, as the middleware does."""
    forwarded = environ.get("HTTP_X_FORWARDED_HOST") if settings.USE_X_FORWARDED_HOST else None
    host = forwarded or environ.get("HTTP_HOST") or environ["SERVER_NAME"]
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        raise Refused("This server does not go by that name (see CONTEXTDASH_HOSTS).", code="unknown_host")
    origin = environ.get("HTTP_ORIGIN")
    if origin and origin not in settings.CSRF_TRUSTED_ORIGINS:
        scheme = WSGIRequest(dict(environ)).scheme
        if origin != f"{scheme}://{host}":
            raise Forbidden("Requests from other sites are refused.", code="foreign_origin")


def _token(environ: Environ) -> Token | None:
    scheme, _, secret = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    secret = secret.strip()
    return tokens.authenticate(secret) if scheme.lower() == "bearer" and secret else None


def _length(environ: Environ) -> int | None:
    """The announced length; None for a chunked body whose end the server marks."""
    text = environ.get("CONTENT_LENGTH") or ""
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    return None if environ.get("wsgi.input_terminated") else 0


def _refusal(refused: Refused) -> Answer:
    answer = _json(refused.status, refused.code, refused.detail)
    if isinstance(refused, Busy):
        answer = answer._replace(headers={**answer.headers, "Retry-After": RETRY_AFTER_SECONDS})
    return answer


def _json(status: int, code: str, detail: str) -> Answer:
    body = json.dumps({"error": code, "detail": detail}).encode()
    return Answer(status, {"Content-Type": "application/json"}, body)
