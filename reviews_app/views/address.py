"""The page of findings as an address: what it is narrowed to, its order, its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from contextdash.errors import Invalid
from contextdash.ids import diff_key
from contextdash.viewkit import whole_number
from reviews_app.queries.diffs import key_of_prefix
from reviews_app.queries.findings import FILTER_NAMES, Filters, Order, State, rank_of_name
from reviews_app.services.gate import window_of

_NARROWING = ("severity", "file", "diff", "reviewer", "session")
_KEPT = ("state", "order", "project", "window", *_NARROWING)


@dataclass(frozen=True, slots=True)
class Address:
    """What the address says; a word that is none of ours is as if it were not there."""

    filters: Filters
    order: Order
    after: str | None
    chosen: int | None
    gate: str
    skip: str
    window: timedelta
    """How long a review counts as fresh; that of the settings where the address names none."""
    given: Mapping[str, str]

    def url(self, **changes: str | None) -> str:
        """The address with some of it changed; None takes a part out. The place in the list goes."""
        parts = {**self.given, **{name: value or "" for name, value in changes.items()}}
        query = urlencode({name: value for name, value in parts.items() if value})
        return reverse("reviews") + (f"?{query}" if query else "")

    def finding_url(self, pk: int) -> str:
        """The same page with this finding beside the list."""
        return self.url(after=self.after, finding=str(pk))

    @property
    def query(self) -> str:
        """What a form gives back to come back here."""
        return urlencode({name: value for name, value in self.given.items() if value})

    @property
    def clear_url(self) -> str:
        return self.url(**dict.fromkeys(_NARROWING))

    @property
    def words(self) -> str:
        """What the list is narrowed to, in words."""
        parts = [f"{name} {self.given[name]}" for name in _NARROWING if self.given.get(name)]
        return ", ".join(parts)


def read_address(query: QueryDict) -> Address:
    given = {name: query.get(name, "").strip()[:600] for name in _KEPT}
    state = _one_of(State, given["state"], State.OPEN)
    order = _one_of(Order, given["order"], Order.SEVERITY)
    severity = rank_of_name(given["severity"])
    given["state"] = "" if state == State.OPEN else state.value
    given["order"] = "" if order == Order.SEVERITY else order.value
    given["severity"] = "" if severity is None else FILTER_NAMES[severity]
    try:
        window = window_of(given["window"])
    except Invalid:
        window, given["window"] = window_of(None), ""
    return Address(
        filters=Filters(
            state=state,
            severity=severity,
            file=given["file"],
            diff=diff_key(given["diff"]) or key_of_prefix(given["diff"]) or given["diff"],
            reviewer=given["reviewer"],
            session=given["session"],
            project=given["project"],
        ),
        order=order,
        after=query.get("after") or None,
        chosen=whole_number(query.get("finding", "")),
        gate=query.get("gate", "")[:200],
        skip=query.get("skip", "")[:40],
        window=window,
        given=given,
    )


def _one_of[E: (State, Order)](kind: type[E], text: str, otherwise: E) -> E:
    return kind(text) if text in {member.value for member in kind} else otherwise
