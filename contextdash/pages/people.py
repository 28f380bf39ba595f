"""People: owners let somebody in, change roles, take tokens away, let somebody go."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from contextdash.errors import NotFound, Refused
from contextdash.models import User
from contextdash.pages import roster, settings
from contextdash.pages.forms import InviteForm, RoleForm
from contextdash.queries.history import history_of
from contextdash.services import invites, tokens, users
from contextdash.services.signin import INVITE_LIFETIME
from contextdash.viewkit import actor_of, changes, for_owners, person_of
from sessions_app.views.listing import given_reason


@for_owners
@require_GET
def people(request: HttpRequest) -> HttpResponse:
    return _list(request, InviteForm())


@for_owners
@changes
@never_cache
def invite(request: HttpRequest) -> HttpResponse:
    """The answer is the only page that ever shows the link."""
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _list(request, form, status=422)
    try:
        user, secret = invites.invite(actor=actor_of(request), **form.cleaned_data)
    except Refused as refused:
        form.add_error(refused.field if refused.field in form.fields else None, refused.detail)
        return _list(request, form, status=refused.status)
    return _list(request, InviteForm(), link=_link(request, user, secret))


@for_owners
@require_GET
def person(request: HttpRequest, pk: int) -> HttpResponse:
    return _person(request, roster.person_of_number(pk))


@for_owners
@changes
@never_cache
def make_link(request: HttpRequest, pk: int) -> HttpResponse:
    """As ``invite``: shown by this answer only."""
    user = roster.person_of_number(pk)
    secret = invites.link_for(user=user, actor=actor_of(request))
    return _person(request, user, link=_link(request, user, secret))


@for_owners
@changes
def change_role(request: HttpRequest, pk: int) -> HttpResponse:
    user = roster.person_of_number(pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _person(request, user, form, status=422)
    return _change(request, user, {"role": form.cleaned_data["role"]}, form.cleaned_data["reason"])


@for_owners
@changes
def set_active(request: HttpRequest, pk: int) -> HttpResponse:
    """``active`` is 0 or 1."""
    active = request.POST.get("active") == "1"
    return _change(request, roster.person_of_number(pk), {"is_active": active}, given_reason(request))


@for_owners
@changes
def revoke_token(request: HttpRequest, pk: int, token: int) -> HttpResponse:
    found = [row for row in roster.live_tokens(roster.person_of_number(pk)) if row.pk == token]
    if not found:
        raise NotFound("They have no such token; it may be revoked already.")
    tokens.revoke_token(token=found[0], actor=actor_of(request), reason=given_reason(request))
    messages.success(request, f"{found[0].name} is revoked; it stops working within five seconds.")
    return redirect("person", pk)


def _change(request: HttpRequest, user: User, values: dict[str, Any], reason: str) -> HttpResponse:
    user = users.change_user(user=user, values=values, actor=actor_of(request), reason=reason)
    told = user.get_role_display() if user.is_active else "not active any more"
    messages.success(request, f"{user} is {told}.")
    # Who gave the role away sees this page no longer.
    manages = user.pk != person_of(request).pk or (user.is_owner and user.is_active)
    return redirect("person", user.pk) if manages else redirect("today")


def _link(request: HttpRequest, user: User, secret: str) -> dict[str, Any]:
    return {
        "user": user,
        "address": request.build_absolute_uri(f"/signin/{secret}/"),
        "hours": round(INVITE_LIFETIME.total_seconds() / 3600),
    }


def _list(
    request: HttpRequest, form: InviteForm, *, link: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "nav": "settings",
        "tabs": settings.tabs(request, "people"),
        "members": roster.members(),
        "form": form,
        "link": link,
    }
    return render(request, "pages/people.html", context, status=status)


def _person(
    request: HttpRequest,
    user: User,
    form: RoleForm | None = None,
    *,
    link: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "nav": "settings",
        "person": user,
        "last_seen": roster.last_seen(user),
        "last_owner": roster.is_last_owner(user),
        "waiting_link": None if link else roster.waiting_link(user),
        "form": form or RoleForm(initial={"role": user.role}),
        "tokens": roster.live_tokens(user),
        "history": history_of("users", user.pk),
        "link": link,
    }
    return render(request, "pages/person.html", context, status=status)
