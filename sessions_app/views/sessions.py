"""The list of sessions, and what people do with one as a whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from contextdash import clock, live
from contextdash.errors import NotFound
from contextdash.viewkit import Tab, actor_of, changes, person_of, whole_number
from sessions_app.forms_sessions import STORED_VIEWS, StoredView, given_filters, read_filter
from sessions_app.models import Session
from sessions_app.queries import sessions as queries
from sessions_app.queries.seen import unseen_keys
from sessions_app.queries.session import find_session
from sessions_app.queries.states import STATES
from sessions_app.queries.usage import NOTHING, spent_below
from sessions_app.services import ending
from sessions_app.services.sessions import change_session
from sessions_app.views.listed import ListedSession, listed
from sessions_app.views.listing import Day, address, by_day, cleared

PAGE_ROWS = 50


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a filter."""

    value: str
    label: str
    chosen: bool


@require_GET
def session_list(request: HttpRequest) -> HttpResponse:
    version = queries.list_version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    wanted = read_filter(request.GET, user=person_of(request), zone=timezone.get_current_timezone())
    found = queries.session_page(wanted, limit=PAGE_ROWS, cursor=request.GET.get("cursor"))
    counts = queries.live_counts(wanted.project)
    facets = queries.facets(wanted.project)
    given = given_filters(request.GET)
    labels = queries.labels_of([row.key for row in found.items])
    context = {
        "nav": "sessions",
        "wanted": wanted,
        "days": _days(found.items, unseen_keys(person_of(request), found.items), labels),
        "rows": len(found.items),
        "next_url": address(request.GET, cursor=found.next, deleted=None) if found.next else None,
        "first_url": address(request.GET, cursor=None, deleted=None) if request.GET.get("cursor") else None,
        "live_url": address(request.GET, deleted=None),
        "clear_url": cleared(request.GET),
        "tabs": _tabs(request.GET, given, counts),
        "given": given,
        "states": _choices(STATES, wanted.states),
        "agents": _choices(facets.agents, wanted.agents),
        "clients": _choices(facets.clients, wanted.clients),
        "labels": _choices(sorted(set(chain.from_iterable(labels.values()))), wanted.labels),
        "spans": _choices(queries.SPANS, (wanted.span,)),
        "flags": _choices(queries.FLAGS, (wanted.flag,)),
        "filter_words": _in_words(given),
        "nothing_yet": not found.items and not given and not queries.any_session(),
        "deleted": _just_deleted(request.GET.get("deleted")),
    }
    return live.respond(request, "sessions/list.html", context, version=version, fragment="live")


@changes
def pin(request: HttpRequest, session_id: str) -> HttpResponse:
    return _flag(request, session_id, "pinned")


@changes
def archive(request: HttpRequest, session_id: str) -> HttpResponse:
    return _flag(request, session_id, "archived")


def _flag(request: HttpRequest, session_id: str, name: str) -> HttpResponse:
    values = {name: request.POST.get(name) == "1"}
    change_session(session=find_session(session_id), values=values, actor=actor_of(request))
    return redirect("session", session_id)


@changes
def label(request: HttpRequest, session_id: str) -> HttpResponse:
    """Replace the labels by those of the form, one a line; ``version`` is what the form was drawn with."""
    given = [line for line in request.POST.get("labels", "").splitlines() if line.strip()]
    change_session(
        session=find_session(session_id),
        values={"labels": given},
        actor=actor_of(request),
        expected_version=whole_number(request.POST.get("version", "")),
    )
    return redirect("session", session_id)


@changes
def rename(request: HttpRequest, session_id: str) -> HttpResponse:
    """``version`` is what the form was drawn with."""
    change_session(
        session=find_session(session_id),
        values={"title": request.POST.get("title", "")},
        actor=actor_of(request),
        expected_version=whole_number(request.POST.get("version", "")),
    )
    return redirect("session", session_id)


@changes
def close(request: HttpRequest, session_id: str) -> HttpResponse:
    reason = request.POST.get("reason", "")
    ending.close_session(session=find_session(session_id), actor=actor_of(request), reason=reason)
    return redirect("session", session_id)


@changes
def delete(request: HttpRequest, session_id: str) -> HttpResponse:
    session = ending.delete_session(
        session=find_session(session_id), actor=actor_of(request), reason=request.POST.get("reason", "")
    )
    return redirect(f"{reverse('sessions')}?{urlencode({'deleted': session.id})}")


@changes
def undelete(request: HttpRequest, session_id: str) -> HttpResponse:
    session = queries.deleted_session(session_id)
    if session is None:
        raise NotFound("There is no deleted session of that id.")
    ending.undelete_session(session=session, actor=actor_of(request), reason="undone")
    return redirect("session", session_id)


def _days(
    sessions: Sequence[queries.SessionRow], unseen: frozenset[int], labels: Mapping[int, tuple[str, ...]]
) -> list[Day[ListedSession]]:
    now_us = clock.now_us()
    below = spent_below(sessions)
    rows = [
        listed(
            session,
            now_us,
            unseen=session.key in unseen,
            below=below.get(session.key, NOTHING),
            labels=labels.get(session.key, ()),
        )
        for session in sessions
    ]
    return by_day(rows, lambda row: clock.from_us(row.last_us))


def _tabs(query: QueryDict, given: dict[str, tuple[str, ...]], counts: queries.LiveCounts) -> list[Tab]:
    live_now = {"Working now": counts.working, "Needs a person": counts.waiting}
    return [
        Tab(view.title, _view_address(query, view), given == dict(view.query), live_now.get(view.title, 0))
        for view in STORED_VIEWS
    ]


def _view_address(query: QueryDict, view: StoredView) -> str:
    pairs = [(name, value) for name, values in view.query.items() for value in values]
    if project := query.get("project"):
        pairs.append(("project", project))
    return "?" + urlencode(pairs)


def _choices(known: Sequence[str] | dict[str, str], chosen: Sequence[str]) -> list[Choice]:
    """What is offered, and what is chosen even where it is not offered any more."""
    labels = known if isinstance(known, dict) else {value: value for value in known}
    values = [*labels, *(value for value in chosen if value and value not in labels)]
    return [Choice(value, labels.get(value, value), value in chosen) for value in values]


def _in_words(given: dict[str, tuple[str, ...]]) -> str:
    """The filter as a sentence's end, for a list without hits."""
    words = {**STATES, **queries.SPANS, **queries.FLAGS}
    named = {"q": "text", "state": "status", "when": "time", "flag": "", "mine": "", "children": ""}
    parts = []
    for name, values in given.items():
        shown = {"mine": ["mine"], "children": ["with subagents"]}.get(
            name, [words.get(value, value) for value in values]
        )
        parts.append(f"{named.get(name, name)} {' or '.join(shown)}".strip())
    return ", ".join(parts)


def _just_deleted(session_id: str | None) -> Session | None:
    return queries.deleted_session(session_id) if session_id else None
