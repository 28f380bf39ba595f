"""Messages between agents: the inbox of hand-offs, one message, "I have seen it"."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET

from contextdash.viewkit import actor_of, changes
from sessions_app.queries.messages import message
from sessions_app.services.messages import acknowledge
from sessions_app.views.listing import reading


@require_GET
def message_page(request: HttpRequest, pk: int) -> HttpResponse:
    """A message that is longer than its panel shows."""
    row = message(pk)
    context = {"nav": "sessions", "message": row, "reading": reading(row.content, request.GET)}
    return render(request, "messages/page.html", context)


@changes
def message_acknowledge(request: HttpRequest, pk: int) -> HttpResponse:
    row = acknowledge(message=message(pk), actor=actor_of(request))
    back = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return redirect(back)
    return redirect("session_panel", row.session_id, "messages")
