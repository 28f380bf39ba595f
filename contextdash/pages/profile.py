"""A person's own settings, and the part of the frame that every open page asks for."""

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from contextdash.errors import Invalid
from contextdash.pages.context import shell_of
from contextdash.pages.forms import PasswordForm, ProfileForm
from contextdash.services import users
from contextdash.viewkit import actor_of, next_address, person_of


@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    if request.method == "GET":
        return _page(request, ProfileForm.of(person))
    form = ProfileForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    users.change_profile(user=person, actor=actor_of(request), **form.cleaned_data)
    messages.success(request, "Your profile is saved.")
    return redirect("profile")


@require_POST
@sensitive_post_parameters("password")
def set_password(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = PasswordForm(request.POST)
    if form.is_valid():
        try:
            users.set_password(user=person, password=form.cleaned_data["password"], actor=actor_of(request))
        except Invalid as error:
            form.add_error("password", error.detail)
    if not form.is_valid():
        return _page(request, ProfileForm.of(person), form, status=422)
    update_session_auth_hash(request, person)  # other browsers are signed out, this one stays
    messages.success(
        request, "Your password is set." if form.cleaned_data["password"] else "Only links sign you in."
    )
    return redirect("profile")


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """From the account menu; back to where the person was."""
    person = person_of(request)
    users.change_profile(
        user=person, time_zone=person.time_zone, theme=request.POST.get("theme", ""), actor=actor_of(request)
    )
    return redirect(next_address(request, otherwise=reverse("today")))


@require_GET
def freshness(request: HttpRequest) -> HttpResponse:
    """The freshness line with the counts of the navigation."""
    now = shell_of(request).freshness
    if request.GET.get("v") == now.version:
        return HttpResponse(status=204)
    return render(request, "partials/_freshness.html", {"freshness": now})


def _page(
    request: HttpRequest, form: ProfileForm, password_form: PasswordForm | None = None, *, status: int = 200
) -> HttpResponse:
    context = {"nav": "profile", "form": form, "password_form": password_form or PasswordForm()}
    return render(request, "pages/profile.html", context, status=status)
