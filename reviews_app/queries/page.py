"""All that the page of findings shows, read once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from contextdash.models import Change
from contextdash.paging import Page
from reviews_app.models import Review
from reviews_app.queries import diffs, findings, tallies, trends
from reviews_app.queries.findings import Filters, Order


@dataclass(frozen=True, slots=True)
class Detail:
    """One finding with what stands around it."""

    review: Review
    history: Sequence[Change]
    others: Sequence[Review]
    """The other findings of its diff."""
    diff: diffs.DiffState | None


@dataclass(frozen=True, slots=True)
class Listed:
    """One row, and whether it begins a group (a file or a diff)."""

    review: Review
    diff: diffs.DiffState | None
    begins: bool


@dataclass(frozen=True, slots=True)
class FindingsPage:
    rows: Sequence[Listed]
    next: str | None
    counts: tallies.Counts
    reviewers: Sequence[str]
    cache: trends.CacheRate
    detail: Detail | None


def findings_page(
    filters: Filters, order: Order, *, after: str | None, chosen: int | None, window: timedelta
) -> FindingsPage:
    """``chosen`` is the finding shown beside the list; without it the first of the list is."""
    if order == Order.DIFF:
        page = findings.by_diff(filters, after=after)
    else:
        page = findings.listed(filters, order, after=after)
    states = diffs.states_of((row.diff_key for row in page.items), window=window)
    first = page.items[0].pk if page.items else None
    beside = chosen if chosen is not None else first
    return FindingsPage(
        rows=_grouped(page, order, states),
        next=page.next,
        counts=tallies.counts(project=filters.project),
        reviewers=tallies.reviewers(project=filters.project),
        cache=trends.cache_rate(),
        detail=None if beside is None else detail(beside, window=window, known=states),
    )


def detail(
    pk: int, *, window: timedelta, known: Mapping[str, diffs.DiffState] | None = None
) -> Detail | None:
    """``known`` are states of diffs that were read already."""
    review = findings.finding(pk)
    if review is None:
        return None
    key = review.diff_key
    states = known if known and key in known else diffs.states_of([key], window=window)
    return Detail(
        review=review,
        history=findings.history(review),
        others=findings.others_of_diff(review),
        diff=states.get(key),
    )


def _grouped(page: Page[Review], order: Order, states: Mapping[str, diffs.DiffState]) -> Sequence[Listed]:
    rows: list[Listed] = []
    before: str | None = None
    for review in page.items:
        group = {Order.FILE: review.path, Order.DIFF: review.diff_key}.get(order)
        rows.append(Listed(review, states.get(review.diff_key), group is not None and group != before))
        before = group
    return rows
