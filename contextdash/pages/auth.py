"""Signing in and out."""

from django import forms
from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from contextdash.errors import Refused
from contextdash.services import signin as service
from contextdash.viewkit import next_address

BACKEND = "django.contrib.auth.backends.ModelBackend"


class SigninForm(forms.Form):
    username = forms.CharField(
        label="Name",
        max_length=150,
        widget=forms.TextInput({"autocomplete": "username", "autocapitalize": "none"}),
    )
    password = forms.CharField(
        strip=False,
        max_length=4096,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )
    keep = forms.BooleanField(label="Stay signed in on this machine", required=False)


@login_not_required
@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def signin(request: HttpRequest) -> HttpResponse:
    """By name and password; the page also says how to get a link."""
    if request.user.is_authenticated:
        return redirect(next_address(request, otherwise=reverse("today")))
    if request.method == "GET":
        return _page(request, SigninForm())
    form = SigninForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        user = service.check_password(
            username=form.cleaned_data["username"], password=form.cleaned_data["password"]
        )
    except Refused as refused:
        return _page(request, form, error=refused.detail, status=refused.status)
    login(request, user, BACKEND)
    if not form.cleaned_data["keep"]:
        request.session.set_expiry(0)
    return redirect(next_address(request, otherwise=reverse("today")))


@login_not_required
@never_cache
@require_GET
def by_link(request: HttpRequest, secret: str) -> HttpResponse:
    """The link that the server printed, or that an owner made: once, within its time."""
    try:
        user = service.use_link(secret=secret)
    except service.SigninRefused as refused:
        return _page(request, SigninForm(), error=refused.detail, status=refused.status)
    login(request, user, BACKEND)
    return redirect(next_address(request, otherwise=reverse("today")))


@require_POST
def signout(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("signin")


def _page(request: HttpRequest, form: SigninForm, *, error: str = "", status: int = 200) -> HttpResponse:
    context = {"form": form, "error": error, "next": request.GET.get("next", request.POST.get("next", ""))}
    return render(request, "pages/signin.html", context, status=status)


urlpatterns: list[URLPattern] = [
    path("signin/", signin, name="signin"),
    path("signin/<str:secret>/", by_link, name="signin_link"),
    path("signout/", signout, name="signout"),
]
