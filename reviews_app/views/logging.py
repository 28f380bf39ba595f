"""A person logs a finding."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from contextdash.errors import Refused
from contextdash.viewkit import actor_of, changes, refused_field
from reviews_app.forms import FindingForm
from reviews_app.services.reviews import log_review
from sessions_app.queries.offered import offered_sessions
from sessions_app.queries.session import find_session

_TOLD = ("target", "severity", "finding", "code_context", "diff_hash", "session", "project")


@require_GET
def new(request: HttpRequest) -> HttpResponse:
    initial = {name: request.GET[name] for name in _TOLD if request.GET.get(name)}
    return _form(request, FindingForm(initial=initial))


@changes
def log(request: HttpRequest) -> HttpResponse:
    """The reviewer is the person."""
    form = FindingForm(request.POST)
    if form.is_valid():
        told, actor = form.cleaned_data, actor_of(request)
        try:
            review = log_review(
                target=told["target"],
                severity=told["severity"],
                finding=told["finding"].replace("\r\n", "\n"),
                code_context=told["code_context"].replace("\r\n", "\n") or None,
                suggested_fix=told["suggested_fix"].replace("\r\n", "\n") or None,
                diff_hash=told["diff_hash"] or None,
                reviewer_agent=actor.name,
                session=find_session(told["session"]) if told["session"] else None,
                project=told["project"],
                actor=actor,
            )
        except Refused as refused:
            form.add_error(refused_field(refused, form.fields, otherwise="session"), refused.detail)
        else:
            return redirect("review", review.pk)
    return _form(request, form, status=422)


def _form(request: HttpRequest, form: FindingForm, status: int = 200) -> HttpResponse:
    context = {"nav": "reviews", "form": form, "lists": {"sessions": offered_sessions()}}
    return render(request, "reviews/new.html", context, status=status)
