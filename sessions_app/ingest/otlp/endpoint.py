"""One OTLP/HTTP request: read within limits, stored, answered as exporters expect it."""

import logging
import threading
from urllib.parse import unquote

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse

from contextdash.apianswers import RETRY_AFTER_SECONDS
from contextdash.apikit import Unauthenticated, take_body
from contextdash.clock import now_us
from contextdash.errors import Busy, Forbidden, Malformed, Refused, TooLarge, UnsupportedMedia
from contextdash.limits import OTLP_WAIT_SECONDS
from contextdash.models.token import Scope, Token
from contextdash.services import tokens
from contextdash.writer import refusal_of
from sessions_app.ingest.observation import Delivery
from sessions_app.ingest.otlp import wire
from sessions_app.ingest.otlp.reading import read_request
from sessions_app.ingest.otlp.storing import store_taken
from sessions_app.ingest.otlp.taking import Taker
from sessions_app.services.quarantine import quarantine_delivery

log = logging.getLogger("contextdash.ingest")

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
MEDIA = frozenset({JSON, PROTOBUF})

_REJECTED = {"logs": "rejectedLogRecords", "traces": "rejectedSpans", "metrics": "rejectedDataPoints"}
_RPC_CODES = {400: 3, 401: 16, 403: 7, 405: 12, 413: 8, 415: 3, 429: 8, 503: 14}
_INTERNAL = 13

# One at a time: a request may be 16 MB, and ten times that once it is Python objects. Those that wait keep a
# thread of the server from hooks, so they do not wait for long.
_turn = threading.Lock()


class _TooMany(Refused):
    status = 429
    code = "too_many_requests"


def respond(request: HttpRequest, signal: str) -> HttpResponse:
    """The answer to an Export request for logs, traces or metrics; it is stored when this returns 200."""
    try:
        if request.method != "POST":
            answer = _refusal(request, 405, "Post Export requests here.")
            answer["Allow"] = "POST"
            return answer
        return _answer(request, signal, _take(request, signal))
    except OperationalError as error:
        log.warning("telemetry met a busy database: %s", type(error).__name__)
        busy = Busy("The database is busy. Not all was stored; try again.")
        return _refused(request, refusal_of(error) or busy)
    except Refused as refused:
        return _refused(request, refused)


def _refused(request: HttpRequest, refused: Refused) -> HttpResponse:
    answer = _refusal(request, refused.status, refused.detail)
    if isinstance(refused, Busy | _TooMany):
        answer["Retry-After"] = RETRY_AFTER_SECONDS
    if isinstance(refused, Unauthenticated):
        answer["WWW-Authenticate"] = "Bearer"
    return answer


def _take(request: HttpRequest, signal: str) -> Taker:
    owner_id = _sender(request).owner_id
    if request.content_type not in MEDIA:
        raise UnsupportedMedia(f"Send an Export request as {JSON} or {PROTOBUF} (Content-Type).")
    try:
        take_body(request, MEDIA)
        return _store(request, signal, owner_id)
    except (Malformed, TooLarge) as refused:
        quarantine_delivery(
            client="telemetry",
            event=signal,
            reason=refused.code,
            detail=refused.detail,
            body=getattr(request, "_body", b""),
        )
        raise


def _sender(request: HttpRequest) -> Token:
    # The variable that sets an exporter's headers holds them percent-encoded; some send them so.
    scheme, _, secret = unquote(request.headers.get("Authorization", "")).partition(" ")
    known = scheme.lower() == "bearer" and secret.strip()
    token = tokens.authenticate(secret.strip()) if known else None
    if token is None:
        raise Unauthenticated
    if not token.grants(Scope.INGEST):
        raise Forbidden(f"This token's scope is {token.scope}; telemetry needs ingest.")
    return token


def _store(request: HttpRequest, signal: str, owner_id: int | None) -> Taker:
    taker = Taker(Delivery(received_us=now_us(), owner_id=owner_id))
    if not _turn.acquire(timeout=OTLP_WAIT_SECONDS):
        raise _TooMany("The server reads another telemetry request (OTLP_WAIT_SECONDS); try again.")
    try:
        body = wire.decode(request.body, signal, protobuf=request.content_type == PROTOBUF)
        read_request(taker, body, signal)
        del body
        store_taken(taker)
    finally:
        _turn.release()
    return taker


def _answer(request: HttpRequest, signal: str, taker: Taker) -> HttpResponse:
    """Empty, unless some records were refused: these must not be sent again."""
    count = len(taker.refused)
    why = "; ".join(dict.fromkeys(taker.refused[:1000]))[:1000]
    if request.content_type == PROTOBUF:
        partial = _varint(1, count) + _bytes(2, why.encode()) if count else b""
        return HttpResponse(_bytes(1, partial) if count else b"", content_type=PROTOBUF)
    told = {"partialSuccess": {_REJECTED[signal]: str(count), "errorMessage": why}} if count else {}
    return JsonResponse(told)


def _refusal(request: HttpRequest, status: int, detail: str) -> HttpResponse:
    """A google.rpc.Status in the encoding of the request."""
    code = _RPC_CODES.get(status, _INTERNAL)
    if request.content_type == PROTOBUF:
        body = _varint(1, code) + _bytes(2, detail.encode())
        return HttpResponse(body, status=status, content_type=PROTOBUF)
    return JsonResponse({"code": code, "message": detail}, status=status)


# The three answers and Status have the same two fields: not worth the library.


def _varint(field: int, number: int) -> bytes:
    made = bytearray([field << 3])
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)


def _bytes(field: int, held: bytes) -> bytes:
    size = _varint(field, len(held))[1:]
    return bytes([field << 3 | 2]) + size + held
