"""A person's own settings."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from contextdash.pages.context import Shell
from contextdash.services import users
from contextdash.viewkit import actor_of


def profile(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/profile.html", {"nav": "profile"})


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    actor = actor_of(request)
    assert actor.user is not None  # noqa: S101 - every page but the sign-in has a person
    users.change_profile(
        user=actor.user, time_zone=actor.user.time_zone, theme=request.POST.get("theme", ""), actor=actor
    )
    back = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
    return redirect(back if safe else "today")


@require_GET
def freshness(request: HttpRequest) -> HttpResponse:
    """The part of the frame that every open page asks for every few seconds."""
    now = Shell(request).freshness
    if request.GET.get("v") == now.version:
        return HttpResponse(status=204)
    return render(request, "partials/_freshness.html", {"freshness": now})
