"""What every endpoint of the JSON API shares: who calls, what they may, how bodies and lists look."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, cast

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.db import models
from django.http import HttpRequest, HttpResponse
from ninja import Schema
from ninja.parser import Parser
from ninja.security import HttpBearer
from ninja.security.session import SessionAuth
from pydantic import ConfigDict, Field

from contextdash import decoding
from contextdash.actor import Actor
from contextdash.errors import Forbidden, Invalid, Malformed, Refused, Stale, UnsupportedMedia
from contextdash.ids import digest16
from contextdash.limits import PAGE_ROWS
from contextdash.models.token import Scope
from contextdash.models.user import User
from contextdash.paging import Page
from contextdash.services import receipts, tokens

JSON = frozenset({"application/json"})
NDJSON = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl", "application/json"})

_BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})


class Bearer(HttpBearer):
    """``Authorization: Bearer cdt_…``"""

    def __init__(self, media: frozenset[str] = JSON) -> None:
        super().__init__()
        self.media = media

    def authenticate(self, request: HttpRequest, token: str) -> Actor | None:
        found = tokens.authenticate(token)
        if found is None:
            return None
        take_body(request, self.media)
        return Actor(user=found.owner, token=found)


class Browser(SessionAuth):
    """A signed-in person's cookie; unsafe methods need the CSRF token."""

    def __init__(self, media: frozenset[str] = JSON) -> None:
        super().__init__()
        self.media = media

    def __call__(self, request: HttpRequest) -> Actor | None:
        # Nobody's cookie: the answer is "send a token", not one about forms.
        if settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return None
        return cast("Actor | None", super().__call__(request))

    def authenticate(self, request: HttpRequest, key: str | None) -> Actor | None:
        user = request.user
        if not (isinstance(user, User) and user.is_authenticated):
            return None
        take_body(request, self.media)
        return Actor(user=user)


def take_body(request: HttpRequest, media: frozenset[str] = JSON) -> None:
    """Read the body of a caller who is known by now, within the limits, with gzip undone.

    Raises:
        UnsupportedMedia: its type is none of ``media``; a form that a web page may send is never one.
        TooLarge, Malformed: as ``decoding.read_body``.
    """
    if request.method in _BODILESS:
        return
    length = _announced_length(request)
    if (length != 0 or request.content_type) and request.content_type not in media:
        raise UnsupportedMedia(f"Send the body as {' or '.join(sorted(media))} (Content-Type).")
    body = b""
    if length != 0:
        stream = request.META["wsgi.input"]
        encoding = request.headers.get("Content-Encoding", "")
        body = decoding.read_body(stream, length=length, encoding=encoding)
    request._body = body  # where Django keeps what ``request.body`` returns


def _announced_length(request: HttpRequest) -> int | None:
    """Bytes of the body; None where it comes in chunks to its end."""
    if request.headers.get("Transfer-Encoding"):
        if not request.META.get("wsgi.input_terminated"):
            raise Malformed("Send the body with a Content-Length.")
        return None
    raw = request.META.get("CONTENT_LENGTH") or "0"
    if not (raw.isascii() and raw.isdigit()):
        raise Malformed("Content-Length must be a number of bytes.")
    return int(raw[:20])


class TolerantParser(Parser):
    """Bodies of writers are decoded as those of hooks are: what no database can store is replaced."""

    def parse_body(self, request: HttpRequest) -> Any:
        return decoding.decode_json(request.body)


def docs_access(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The description of the API is for people who are signed in and for every live token."""

    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated or Bearer()(request):
            return view(request, **kwargs)
        if "text/html" in request.headers.get("Accept", ""):
            return redirect_to_login(request.get_full_path())
        raise Unauthenticated

    return guarded


class Unauthenticated(Refused):
    status = 401
    code = "unauthenticated"

    def __init__(self) -> None:
        super().__init__(
            "Send a live token: Authorization: Bearer cdt_… (contextdash token create makes one)."
        )


def allow(request: HttpRequest, scope: str) -> Actor:
    """The caller, when they may do what ``scope`` names.

    Raises:
        Forbidden: the token's scope or the person's role does not reach that far.
    """
    actor: Actor = request.auth  # type: ignore[attr-defined]  # set by ninja after authentication
    permit(actor, scope)
    return actor


def permit(actor: Actor, scope: str) -> None:
    """Raises Forbidden where the token's scope or the person's role does not reach that far."""
    token, user = actor.token, actor.user
    if token is not None and not token.grants(scope):
        raise Forbidden(f"This token's scope is {token.scope}; this call needs {scope}.")
    if scope == Scope.ADMIN and (user is None or not user.is_owner):
        raise Forbidden("Only an owner may do this.")
    # What a viewer's own agents do is recorded all the same, by their token and not by their browser.
    writes = scope == Scope.WRITE or (scope == Scope.INGEST and token is None)
    if writes and (user is None or not user.may_write):
        raise Forbidden("Viewers change nothing. Ask an owner for the role of a member.")


def may(actor: Actor, scope: str) -> bool:
    """Whether ``permit`` lets them."""
    try:
        permit(actor, scope)
    except Forbidden:
        return False
    return True


class Body(Schema):
    """A writer's body. A field that nobody knows is refused, since a misspelt one would be lost."""

    model_config = ConfigDict(extra="forbid")


type Key = Annotated[int, Field(ge=0, lt=2**63)]
"""The number of a row, as an address or a body names it: no database looks for a larger one."""


class Paging(Schema):
    limit: int = Field(20, ge=1, le=PAGE_ROWS)
    cursor: str | None = None


class PatchBody(Body):
    """The fields to change are those that are sent; ``reason`` goes into the history."""

    reason: str = ""

    def values(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True, exclude={"reason"})


def not_valid(errors: Sequence[Mapping[str, Any]]) -> Invalid:
    """The first of pydantic's errors, by the caller's own name of the field."""
    place = [str(part) for part in errors[0].get("loc", ()) if part not in _NINJA_PLACES]
    field = ".".join(place[:8])[:200]
    return Invalid(f"{field or 'The body'}: {errors[0].get('msg', 'not valid')}", field=field or None)


_NINJA_PLACES = ("body", "query", "path", "payload")
"""Where ninja found a value: no part of its name."""


def listed[M: models.Model](page: Page[M], out: Callable[[M], Mapping[str, Any]]) -> dict[str, Any]:
    """The answer of a list: ``{"items": […], "next": cursor or null}``."""
    return {"items": [out(row) for row in page.items], "next": page.next}


def all_listed[M: models.Model](rows: Sequence[M], out: Callable[[M], Mapping[str, Any]]) -> dict[str, Any]:
    return {"items": [out(row) for row in rows], "next": None}


def if_match(request: HttpRequest) -> int | None:
    """The version that ``If-Match`` names, as ``3``, ``"3"`` or ``W/"3"``; None without the header."""
    raw = request.headers.get("If-Match")
    if raw is None or raw.strip() == "*":
        return None
    text = raw.strip().removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Invalid("If-Match must be the row's version number.", field="If-Match")
    return int(text)


def required_if_match(request: HttpRequest, name: str) -> int:
    """The version that ``If-Match`` must name; ``name`` is where the caller finds it.

    Raises:
        Stale: the header is missing.
    """
    version = if_match(request)
    if version is None:
        raise Stale(f"Send If-Match with the row's {name}.", field="If-Match", code="if_match_required")
    return version


def once[M: models.Model](request: HttpRequest, actor: Actor, model: type[M], create: Callable[[], M]) -> M:
    """``create()``, or what it made before where the request repeats an ``Idempotency-Key``."""
    key = request.headers.get("Idempotency-Key", "")
    if not key:
        return create()
    return receipts.once(
        digest=receipt_digest(request, actor, key),
        body_digest=body_digest(request),
        model=model,
        create=create,
    )


def once_told(request: HttpRequest, actor: Actor, noun: str, act: Callable[[], Any]) -> Any:
    """As ``once``, for an act that makes no row: what it tells, JSON of a few numbers, is kept instead."""
    key = request.headers.get("Idempotency-Key", "")
    if not key:
        return act()
    return receipts.once_told(
        digest=receipt_digest(request, actor, key), body_digest=body_digest(request), noun=noun, act=act
    )


def once_told_slowly(request: HttpRequest, actor: Actor, noun: str, act: Callable[[], Any]) -> Any:
    """As ``once_told``, for an act of many writes that may each be repeated: the receipt comes after them."""
    key = request.headers.get("Idempotency-Key", "")
    if not key:
        return act()
    digests = {"digest": receipt_digest(request, actor, key), "body_digest": body_digest(request)}
    known = receipts.told_before(**digests)
    if known is not None:
        return json.loads(known)
    told = act()
    receipts.keep_told(**digests, noun=noun, told=told)
    return told


def body_digest(request: HttpRequest) -> bytes:
    """What makes a repeated request the same: its body, and what its address asks."""
    return digest16(request.body, *([query.encode()] if (query := request.META.get("QUERY_STRING")) else []))


def receipt_digest(request: HttpRequest, actor: Actor, key: str) -> bytes:
    """What makes a repeated key the same: the caller, the address and the key."""
    who = f"t{actor.token.pk}" if actor.token is not None else f"u{actor.user.pk if actor.user else 0}"
    return digest16(who.encode(), request.path.encode(), key.encode("utf-8", "surrogatepass"))
