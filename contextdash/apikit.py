"""What every endpoint of the JSON API shares: who calls, what they may, how answers and refusals look."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import models
from django.http import HttpRequest
from ninja import Schema
from ninja.security import HttpBearer
from ninja.security.session import SessionAuth
from pydantic import Field

from contextdash.actor import Actor
from contextdash.errors import Forbidden, Invalid
from contextdash.ids import digest16
from contextdash.limits import PAGE_ROWS
from contextdash.models.token import Scope
from contextdash.models.user import User
from contextdash.paging import Page
from contextdash.services import receipts, tokens


class Bearer(HttpBearer):
    """``Authorization: Bearer cdt_…``"""

    def authenticate(self, request: HttpRequest, token: str) -> Actor | None:
        found = tokens.authenticate(token)
        return None if found is None else Actor(user=found.owner, token=found)


class Browser(SessionAuth):
    """A signed-in person's cookie; unsafe methods need the CSRF token."""

    def authenticate(self, request: HttpRequest, key: str | None) -> Any:
        user = request.user
        return Actor(user=user) if isinstance(user, User) and user.is_authenticated else None


def allow(request: HttpRequest, scope: str) -> Actor:
    """The caller, when they may do what ``scope`` names.

    Raises:
        Forbidden: the token's scope or the person's role does not reach that far.
    """
    actor: Actor = request.auth  # type: ignore[attr-defined]  # set by ninja after authentication
    if actor.token is not None and not actor.token.grants(scope):
        raise Forbidden(f"This token's scope is {actor.token.scope}; this call needs {scope}.")
    user = actor.user
    if scope == Scope.ADMIN and (user is None or not user.is_owner):
        raise Forbidden("Only an owner may do this.")
    if scope == Scope.WRITE and (user is None or not user.may_write):
        raise Forbidden("Viewers change nothing. Ask an owner for the role of a member.")
    return actor


class Paging(Schema):
    limit: int = Field(20, ge=1, le=PAGE_ROWS)
    cursor: str | None = None


class PatchBody(Schema):
    """The fields to change are those that are sent; ``reason`` goes into the history."""

    reason: str = ""

    def values(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True, exclude={"reason"})


def listed[M: models.Model](page: Page[M], out: Callable[[M], dict[str, Any]]) -> dict[str, Any]:
    """The answer of a list: ``{"items": […], "next": cursor or null}``."""
    return {"items": [out(row) for row in page.items], "next": page.next}


def all_listed[M: models.Model](rows: Sequence[M], out: Callable[[M], dict[str, Any]]) -> dict[str, Any]:
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


def once[M: models.Model](request: HttpRequest, actor: Actor, model: type[M], create: Callable[[], M]) -> M:
    """``create()``, or what it made before where the request repeats an ``Idempotency-Key``."""
    key = request.headers.get("Idempotency-Key", "")
    if not key:
        return create()
    who = f"t{actor.token.pk}" if actor.token is not None else f"u{actor.user.pk if actor.user else 0}"
    return receipts.once(
        digest=digest16(who.encode(), request.path.encode(), key.encode("utf-8", "surrogatepass")),
        body_digest=digest16(request.body),
        model=model,
        create=create,
    )
