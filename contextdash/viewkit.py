"""What views share: who acts, what they may, page or fragment."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate

from django.http import HttpRequest, HttpResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from contextdash.actor import Actor
from contextdash.errors import Forbidden, NotFound, Refused
from contextdash.models import User


@dataclass(frozen=True, slots=True)
class Tab:
    """One of the views that a page has side by side."""

    title: str
    url: str
    current: bool
    count: int = 0


def actor_of(request: HttpRequest) -> Actor:
    """The signed-in person (``LoginRequiredMiddleware`` has seen to it that there is one)."""
    user = request.user
    return Actor(user=user if isinstance(user, User) else None)


def wants_fragment(request: HttpRequest) -> bool:
    htmx: Any = getattr(request, "htmx", None)
    return bool(htmx) and not htmx.boosted


def whole_number(text: str) -> int | None:
    """What an address or a form says, where it is a plain number that every column takes."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def next_address(request: HttpRequest, *, otherwise: str) -> str:
    """Where ``next`` of a form or an address leads, if that is an address of this site."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    ours = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return wanted if ours else otherwise


def refused_field(refused: Refused, fields: Container[str], *, otherwise: str | None = None) -> str | None:
    """The field of a form that a refusal speaks of; ``otherwise`` is that of what could not be found."""
    if refused.field in fields:
        return refused.field
    return otherwise if isinstance(refused, NotFound) else None


def person_of(request: HttpRequest) -> User:
    """The signed-in person of a page (``LoginRequiredMiddleware`` has seen to it that there is one)."""
    assert isinstance(request.user, User)  # noqa: S101 - as said
    return request.user


def changes[**P](
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A view that changes something: POST only, and not for viewers."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        user = request.user
        if not (isinstance(user, User) and user.may_write):
            raise Forbidden("Viewers change nothing. Ask an owner for the role of a member.")
        return view(request, *args, **kwargs)

    return require_POST(guarded)


def for_owners[**P](
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A view that only owners may see or use."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not person_of(request).is_owner:
            raise Forbidden("Only an owner may see or do this. Ask one of them.")
        return view(request, *args, **kwargs)

    return guarded
