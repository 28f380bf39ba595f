"""What addresses of the session pages say: filters read from a query string, values checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, tzinfo

from django.http import QueryDict

from contextdash.cleaning import clean
from contextdash.errors import Invalid
from contextdash.models import User
from sessions_app.queries.sessions import FLAGS, SPANS, SessionFilter
from sessions_app.queries.states import STATES
from sessions_app.queries.timeline import KINDS, OFF_AT_FIRST, TimelineFilter

VALUES = 50
"""The most values of one filter that an address may carry."""

TEXT_CHARS = 200

FIRST_DAY, LAST_DAY = date(1970, 1, 2), date(9000, 1, 1)


@dataclass(frozen=True, slots=True)
class StoredView:
    """A filter that has a name: a tab of the session list."""

    title: str
    query: Mapping[str, tuple[str, ...]]


STORED_VIEWS = (
    StoredView("All", {}),
    StoredView("Working now", {"state": ("working",)}),
    StoredView("Needs a person", {"state": ("waiting",)}),
    StoredView("Errored or stale", {"state": ("errored", "stale")}),
    StoredView("Mine", {"mine": ("1",)}),
    StoredView("Today", {"when": ("today",)}),
    StoredView("Pinned", {"flag": ("pinned",)}),
)

FILTER_NAMES = (
    *("q", "state", "agent", "client", "branch", "label", "when", "from", "to"),
    *("mine", "flag", "children"),
)
"""Parameters that narrow the list; ``project`` is the whole page's and ``cursor`` its place."""


def read_filter(query: QueryDict, *, user: User | None, zone: tzinfo) -> SessionFilter:
    """
    Raises:
        Invalid: a day is not one.
    """
    return SessionFilter(
        project=_word(query, "project") or None,
        agents=_words(query, "agent"),
        clients=_words(query, "client"),
        owner=user if query.get("mine") else None,
        states=tuple(state for state in _words(query, "state") if state in STATES),
        branch=_word(query, "branch"),
        labels=_words(query, "label"),
        flag=_one_of(query, "flag", FLAGS),
        text=_word(query, "q"),
        span=_one_of(query, "when", SPANS),
        since=_day(query, "from"),
        until=_day(query, "to"),
        children=bool(query.get("children")),
        zone=zone,
    )


def given_filters(query: QueryDict) -> dict[str, tuple[str, ...]]:
    """The parameters that narrow the list, without empty ones, as the stored views are written."""
    given = {name: _words(query, name) for name in FILTER_NAMES}
    return {name: values for name, values in given.items() if values}


def read_timeline_filter(query: QueryDict) -> TimelineFilter:
    asked = frozenset(query.getlist("kind")[:VALUES]) & frozenset(KINDS)
    return TimelineFilter(
        kinds=asked or frozenset(KINDS) - OFF_AT_FIRST, only_failed=bool(query.get("failed"))
    )


def _words(query: QueryDict, name: str) -> tuple[str, ...]:
    values = [clean(value.strip())[:TEXT_CHARS] for value in query.getlist(name)[:VALUES]]
    return tuple(dict.fromkeys(value for value in values if value))


def _word(query: QueryDict, name: str) -> str:
    return clean(query.get(name, "").strip())[:TEXT_CHARS]


def _one_of(query: QueryDict, name: str, known: Mapping[str, str]) -> str:
    value = query.get(name, "")
    return value if value in known else ""


def _day(query: QueryDict, name: str) -> date | None:
    text = query.get(name, "").strip()
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise Invalid(f"{name} must be a day such as 2026-11-26.", field=name) from None
    if not FIRST_DAY <= day <= LAST_DAY:
        raise Invalid(f"{name} must be a day between {FIRST_DAY} and {LAST_DAY}.", field=name)
    return day
