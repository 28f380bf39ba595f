"""Connect: a token, the snippet for each client, what has arrived."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.connect.clients import CLIENTS
from contextdash.errors import NotFound
from contextdash.pages import arrivals
from contextdash.pages.forms import TokenForm
from contextdash.pages.snippets import NAMES, base_of, snippet
from contextdash.services import tokens
from contextdash.viewkit import actor_of, changes, person_of


@require_GET
def connect(request: HttpRequest) -> HttpResponse:
    version = arrivals.version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    form = TokenForm(owner=person_of(request).is_owner)
    return live.respond(
        request, "pages/connect.html", _context(request, form), version=version, fragment="live"
    )


@changes
@never_cache
def make_token(request: HttpRequest) -> HttpResponse:
    """The answer is the only page that ever shows the secret."""
    person = person_of(request)
    form = TokenForm(request.POST, owner=person.is_owner)
    context: dict[str, Any] = {"version": arrivals.version()}
    if not form.is_valid():
        return render(request, "pages/connect.html", context | _context(request, form), status=422)
    token, secret = tokens.create_token(
        owner=person,
        name=form.cleaned_data["name"],
        scope=form.cleaned_data["scope"],
        actor=actor_of(request),
    )
    context |= _context(request, TokenForm(owner=person.is_owner), secret) | {"token": token}
    return render(request, "pages/connect.html", context)


@changes
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    token = arrivals.tokens_of(person_of(request)).filter(pk=pk).first()
    if token is None:
        raise NotFound("There is no such token of yours; it may be revoked already.")
    tokens.revoke_token(token=token, actor=actor_of(request), reason=request.POST.get("reason", "").strip())
    messages.success(request, f"{token.name} is revoked; it stops working within five seconds.")
    return redirect("connect")


def _context(request: HttpRequest, form: TokenForm, secret: str = "") -> dict[str, Any]:
    client = request.GET.get("client", "claude-code")
    base = base_of(request)
    made = snippet(client, base=base, secret=secret)
    health = arrivals.health(arrivals.WINDOW)
    return {
        "nav": "connect",
        "form": form,
        "secret": secret,
        "snippet": made,
        "base": base,
        "tabs": [
            {"title": NAMES.get(name, name), "url": f"?client={name}#hooks", "current": name == made.client}
            for name in CLIENTS
        ],
        "health": health,
        "first": next((came for came in health.arrivals if came.client.name == made.client), None),
        "tokens": arrivals.tokens_of(person_of(request))[: arrivals.TOKENS],
    }
