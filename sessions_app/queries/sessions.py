"""The list of sessions: filters, pages, the version that open pages compare, values to choose from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Coalesce, Substr

from contextdash import clock, ids
from contextdash.models import User
from contextdash.paging import Page, before, cut
from contextdash.prepared import Given, Prepared, given_number, given_text, totals
from contextdash.queries.history import newest_change
from sessions_app.models import Session, SessionLabel
from sessions_app.queries.states import PHANTOM_AFTER_US, states_q
from sessions_app.services.ending import UNDO_FOR
from sessions_app.vocabulary import Activity

FACET_ROWS = 500
"""Filters offer the values of so many newest sessions, which costs the same however many there are."""

REQUEST_CHARS = 200
"""How much of a request stands in for a title that is missing."""

SPANS = {"today": "Today", "7d": "Last 7 days", "30d": "Last 30 days"}
FLAGS = {"pinned": "Pinned", "archived": "Archived", "deleted": "Deleted today"}


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What the list shows; empty fields do not narrow. Days are days of ``zone``."""

    project: str | None = None
    agents: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    owner: User | None = None
    states: tuple[str, ...] = ()
    branch: str = ""
    labels: tuple[str, ...] = ()
    """It has all of these."""
    flag: str = ""
    text: str = ""
    span: str = ""
    since: date | None = None
    until: date | None = None
    children: bool = False
    zone: tzinfo = UTC


@dataclass(frozen=True, slots=True)
class Facets:
    """Values to offer in filters, most used first."""

    agents: Sequence[str]
    clients: Sequence[str]


@dataclass(frozen=True, slots=True)
class LiveCounts:
    working: int
    waiting: int


class SessionRow(NamedTuple):
    """What the list shows of a session; making models of all 45 columns takes longer than finding them."""

    key: int
    id: str
    client: str
    agent_name: str
    branch: str | None
    title: str
    status: str
    activity: str
    waiting_for: str
    current_call: str
    started_us: int
    last_us: int
    ended_at: datetime | None
    child_count: int
    turn_count: int
    call_count: int
    failed_count: int
    pinned: bool
    archived_at: datetime | None
    deleted_at: datetime | None
    iteration_count: int
    unpriced_count: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_micro: int | None
    request_head: str | None
    """The beginning of the request."""


def session_page(wanted: SessionFilter, *, limit: int, cursor: str | None) -> Page[SessionRow]:
    """Newest activity first.

    Raises:
        Invalid: the cursor is not one of ours.
    """
    if not cursor and wanted == SessionFilter(project=wanted.project, zone=wanted.zone):
        found = _FIRST_PAGE.rows(bool(wanted.project), limit, project=wanted.project, now_us=clock.now_us())
    else:
        chosen = filtered(wanted)
        if cursor:
            chosen = chosen.filter(before(cursor, Session, "last_us", "key"))
        found = list(_listed(chosen, limit))
    return cut([SessionRow(*row) for row in found], limit, "last_us", "key")


def _listed(rows: QuerySet[Session], limit: int) -> QuerySet[Session, Any]:
    heads = rows.annotate(request_head=Substr("user_request", 1, REQUEST_CHARS))
    return heads.order_by("-last_us", "-key").values_list(*SessionRow._fields)[: limit + 1]


def _first_page(of_project: bool, limit: int) -> QuerySet[Session, Any]:
    rows = filtered(SessionFilter(), given_number("now_us"))
    if of_project:
        rows = rows.filter(project__slug=given_text("project"))
    return _listed(rows, limit)


_FIRST_PAGE = Prepared(_first_page)
"""What most readers see: the newest of all, or of a project."""


def filtered(wanted: SessionFilter, now_us: int | Given | None = None) -> QuerySet[Session]:
    """The sessions of a filter, in no order. Phantoms, subagents and what is put away are left out."""
    now_us = now_us or clock.now_us()
    rows = _kept(wanted, now_us)
    if not wanted.children:
        rows = top_level(rows)
    if wanted.project:
        rows = rows.filter(project__slug=wanted.project)
    if wanted.agents:
        rows = rows.filter(agent_name__in=wanted.agents)
    if wanted.clients:
        rows = rows.filter(client__in=wanted.clients)
    if wanted.owner is not None:
        rows = rows.filter(owner=wanted.owner)
    if wanted.branch:
        rows = rows.filter(branch__icontains=wanted.branch)
    for label in wanted.labels:
        rows = rows.filter(key__in=SessionLabel.objects.filter(label=label).values("session"))
    if wanted.states:
        rows = rows.filter(states_q(wanted.states, now_us))
    if wanted.text:
        rows = rows.filter(_text_q(wanted.text))
    return _within(rows, wanted)


def top_level(rows: QuerySet[Session]) -> QuerySet[Session]:
    """Without subagents. An expression, since by "parent IS NULL" SQLite would read nearly all sessions
    through the index of that column and sort them, instead of walking the newest.
    """
    return rows.alias(above=Coalesce("parent_id", 0)).filter(above=0)


def labels_of(keys: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """The labels of sessions, each list in its order; a session without any is left out."""
    found: dict[int, tuple[str, ...]] = {}
    if keys:
        rows = SessionLabel.objects.filter(session__in=keys).order_by("session", "place")
        for key, label in rows.values_list("session_id", "label"):
            found[key] = (*found.get(key, ()), label)
    return found


def list_version() -> str:
    """Changes with every write to a session, every change a person makes, and each minute (for "stale")."""
    return f"{newest_us() or 0}.{newest_change()}.{clock.now_us() // 60_000_000}"


_NEWEST = Prepared(
    lambda: Session.objects.filter(deleted_at=None).order_by("-last_us", "-key").values_list("last_us")[:1]
)


def newest_us() -> int | None:
    """When anything was last heard of a session (µs); None before the first."""
    newest = _NEWEST.one()
    return newest[0] if newest else None


def _facets(of_project: bool) -> QuerySet[Session, Any]:
    newest = top_level(Session.objects.filter(deleted_at=None))
    if of_project:
        newest = newest.filter(project__slug=given_text("project"))
    keys = newest.order_by("-last_us", "-key").values("key")[:FACET_ROWS]
    pairs = Session.objects.filter(key__in=keys).order_by().values_list("agent_name", "client")
    return pairs.annotate(count=Count("key"))


_FACETS = Prepared(_facets)


def facets(project: str | None) -> Facets:
    counted = _FACETS.rows(bool(project), project=project)
    return Facets(
        agents=_by_use([(agent, count) for agent, _, count in counted]),
        clients=_by_use([(client, count) for _, client, count in counted]),
    )


def _live(of_project: bool) -> QuerySet[Session, Any]:
    # "Not ended" is the condition of the index, and must be said for SQLite to use it.
    live = top_level(Session.objects.exclude(activity=Activity.ENDED)).filter(
        activity__in=[Activity.WORKING, Activity.WAITING], deleted_at=None, archived_at=None
    )
    if of_project:
        live = live.filter(project__slug=given_text("project"))
    return totals(
        live,
        working=Count("key", filter=states_q(("working",), given_number("now_us"))),
        waiting=Count("key", filter=Q(activity=Activity.WAITING)),
    )


_LIVE = Prepared(_live)


def live_counts(project: str | None) -> LiveCounts:
    return LiveCounts(*(_LIVE.one(bool(project), project=project, now_us=clock.now_us()) or (0, 0)))


def deleted_session(session_id: str) -> Session | None:
    """A session that was deleted so lately that it can be brought back."""
    return (
        Session.objects.filter(id=ids.session_id(session_id)[0], deleted_at__gte=clock.now() - UNDO_FOR)
        .defer("user_request", "extra")
        .first()
    )


def any_session() -> bool:
    """Whether anything ever arrived: an empty list then means something else."""
    return Session.objects.filter(deleted_at=None).exists()


def _kept(wanted: SessionFilter, now_us: int | Given) -> QuerySet[Session]:
    if wanted.flag == "deleted":
        return Session.objects.filter(deleted_at__gte=clock.now() - UNDO_FOR)
    rows = Session.objects.filter(deleted_at=None).exclude(
        started_only=True, last_us__lt=now_us - PHANTOM_AFTER_US
    )
    if wanted.flag == "archived":
        return rows.exclude(archived_at=None)
    rows = rows.filter(archived_at=None)
    return rows.filter(pinned=True) if wanted.flag == "pinned" else rows


def _text_q(text: str) -> Q:
    return (
        Q(title__icontains=text)
        | Q(user_request__icontains=text)
        | Q(id__startswith=text)
        | Q(external_id__startswith=text)
    )


def _within(rows: QuerySet[Session], wanted: SessionFilter) -> QuerySet[Session]:
    today = clock.now().astimezone(wanted.zone).date()
    first = {"today": today, "7d": today - timedelta(days=6), "30d": today - timedelta(days=29)}
    since = wanted.since or first.get(wanted.span)
    if since is not None:
        rows = rows.filter(last_us__gte=_midnight(since, wanted.zone))
    if wanted.until is not None:
        rows = rows.filter(last_us__lt=_midnight(wanted.until + timedelta(days=1), wanted.zone))
    return rows


def _midnight(day: date, zone: tzinfo) -> int:
    return clock.to_us(datetime.combine(day, time.min, tzinfo=zone))


def _by_use(values: Sequence[tuple[str, int]]) -> list[str]:
    counts: dict[str, int] = {}
    for value, count in values:
        if value:
            counts[value] = counts.get(value, 0) + count
    return sorted(counts, key=lambda value: (-counts[value], value))
