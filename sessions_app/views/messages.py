"""Messages between agents: the inbox of hand-offs, one message, "I have seen it"."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from contextdash import live
from contextdash.errors import Refused
from contextdash.viewkit import actor_of, changes, next_address, refused_field
from sessions_app.forms_memory import MessageForm
from sessions_app.models import AgentMessage
from sessions_app.queries import handoffs
from sessions_app.queries.messages import message
from sessions_app.queries.offered import offered_agents, offered_sessions
from sessions_app.queries.session import find_session
from sessions_app.services.messages import change_message, write_message
from sessions_app.views.listing import address, by_day, paging, reading

PAGE_ROWS = 50
VIEWS = {"": "Waiting", "stream": "Waiting in the work stream", "acknowledged": "Acknowledged"}


@require_GET
def handoff_list(request: HttpRequest) -> HttpResponse:
    """``view``: waiting (in the session, as the older system read it), stream, or acknowledged."""
    version = handoffs.inbox_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    query = request.GET
    view = query.get("view") if query.get("view") in VIEWS else ""
    project, target = query.get("project") or None, query.get("to") or None
    box = handoffs.inbox(project=project, target=target, in_streams=view == "stream")
    context = {
        "nav": "today",
        "view": view,
        "waits": view != "acknowledged",
        "box": box,
        "target": target,
        "tabs": [
            {"title": title, "url": address(query, view=name or None, cursor=None), "current": name == view}
            for name, title in VIEWS.items()
        ],
        "targets": [(name, count, address(query, to=name, cursor=None)) for name, count in box.targets],
        "waiting": sum(count for _, count in box.targets),
        "everyone_url": address(query, to=None, cursor=None),
        "back": request.get_full_path(),
        **paging(query, None),
    }
    rows: Sequence[AgentMessage] = box.handoffs
    if view == "acknowledged":
        found = handoffs.acknowledged_page(
            project=project, target=target, limit=PAGE_ROWS, cursor=query.get("cursor")
        )
        rows = found.items
        context |= paging(query, found.next)
    context["days"] = by_day(rows, lambda row: row.ts)
    return live.respond(request, "messages/handoffs.html", context, version=version, fragment="live")


@require_GET
def message_page(request: HttpRequest, pk: int) -> HttpResponse:
    """A message that is longer than its panel shows."""
    row = message(pk)
    version = str(row.version)
    if (same := live.unchanged(request, version)) is not None:
        return same
    context = {
        "nav": "sessions",
        "message": row,
        "reading": reading(row.content, request.GET),
        "live_url": address(request.GET),
    }
    return live.respond(request, "messages/page.html", context, version=version, fragment="live")


@require_GET
def message_new(request: HttpRequest) -> HttpResponse:
    names = ("session", "role", "target")
    initial = {name: request.GET[name] for name in names if request.GET.get(name)}
    return _new(request, MessageForm(initial=initial))


@changes
def message_write(request: HttpRequest) -> HttpResponse:
    """In the person's own name, into a session that is there."""
    form = MessageForm(request.POST)
    if form.is_valid():
        told, actor = form.cleaned_data, actor_of(request)
        try:
            row = write_message(
                session_id=find_session(told["session"]).id,
                agent_name=actor.name,
                role=told["role"],
                target=told["target"] or None,
                content=told["content"],
                actor=actor,
            )
        except Refused as refused:
            form.add_error(refused_field(refused, form.fields, otherwise="session"), refused.detail)
        else:
            return redirect("message", row.pk)
    return _new(request, form, status=422)


def _new(request: HttpRequest, form: MessageForm, status: int = 200) -> HttpResponse:
    lists = {"sessions": offered_sessions(), "agents": [(name, "") for name in offered_agents()]}
    return render(request, "messages/new.html", {"nav": "today", "form": form, "lists": lists}, status=status)


@changes
def message_acknowledge(request: HttpRequest, pk: int) -> HttpResponse:
    """``undo=1``: nobody has taken note of it after all."""
    wanted = request.POST.get("undo") != "1"
    row = change_message(message=message(pk), values={"acknowledged": wanted}, actor=actor_of(request))
    panel = reverse("session_panel", args=[row.session_id, "messages"])
    return redirect(next_address(request, otherwise=panel))
