"""The pages of findings: the list with one beside it, and one alone."""

from datetime import timedelta
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

from contextdash import clock, live
from contextdash.errors import Invalid
from reviews_app.queries import diffs, tallies
from reviews_app.queries.diffs import Answer
from reviews_app.queries.findings import FILTER_NAMES, Order, State
from reviews_app.queries.page import FindingsPage, detail, findings_page
from reviews_app.services.gate import DOCUMENTS, EMPTY, OVERRIDE, asked_by_hash, window_of
from reviews_app.views.address import Address, read_address

EXAMPLE = 'contextdash review src/app.py:84 High "The lock is missing."'

_WINDOWS = (timedelta(minutes=30), timedelta(hours=2), timedelta(hours=6), timedelta(days=1))
_SKIPS = (DOCUMENTS, EMPTY, OVERRIDE)
_ORDERS = ((Order.SEVERITY, "By severity"), (Order.FILE, "By file"), (Order.DIFF, "By diff"))
_STATES = (
    (State.OPEN, "Open"),
    (State.RESOLVED, "Resolved"),
    (State.DISMISSED, "Dismissed"),
    (State.ALL, "All"),
)
_SORTED = {
    Order.SEVERITY: "most severe first",
    Order.FILE: "by file",
    Order.DIFF: "by diff, the last reviewed first",
    Order.NEWEST: "newest first",
}


def index(request: HttpRequest) -> HttpResponse:
    version = tallies.version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    address = read_address(request.GET)
    page = findings_page(
        address.filters,
        address.order,
        after=address.after,
        chosen=address.chosen,
        window=address.window,
    )
    context = {
        "nav": "reviews",
        "address": address,
        "page": page,
        "rows": [(row, address.finding_url(row.review.pk)) for row in page.rows],
        "caption": f"Findings, {_SORTED[address.order]}",
        "by_diff": address.order == Order.DIFF,
        "by_file": address.order == Order.FILE,
        "nothing_yet": page.counts.by_state[State.ALL] == 0 and not address.filters.project,
        "example": EXAMPLE,
        "here": address.url(after=address.after),
        "first_url": address.url(),
        "next_url": address.url(after=page.next) if page.next else "",
        "windows": _windows(address.window),
        "window_words": clock.window_words(address.window),
        **_choices(address, page),
        **_gate(address),
    }
    return live.respond(request, "reviews/list.html", context, version=version, fragment="live")


def one(request: HttpRequest, review_id: int) -> HttpResponse:
    version = tallies.version()
    if (same := live.unchanged(request, version)) is not None:
        return same
    found = detail(review_id, window=window_of(None)) if review_id < 2**63 else None
    if found is None:
        raise Http404(f"There is no finding R-{review_id}.")
    context = {
        "nav": "reviews",
        "detail": found,
        "here": request.path,
        "alone": True,
        "window_words": clock.window_words(window_of(None)),
    }
    return live.respond(request, "reviews/one.html", context, version=version, fragment="live")


def _choices(address: Address, page: FindingsPage) -> dict[str, Any]:
    """Tabs, orders and filters with the address that each leads to."""
    state = address.filters.state
    given = address.given
    return {
        "tabs": [
            {
                "title": title,
                "url": address.url(state=None if to == State.OPEN else to.value),
                "current": to == state,
                # A narrowed list has no stored counts, and a wrong number is worse than none.
                "count": None if address.words or to == State.ALL else page.counts.by_state[to],
            }
            for to, title in _STATES
        ],
        "orders": [
            (title, address.url(order=None if to == Order.SEVERITY else to.value), to == address.order)
            for to, title in _ORDERS
        ],
        "severities": [
            (name, address.url(severity=name), rank == address.filters.severity)
            for rank, name in FILTER_NAMES.items()
        ],
        "any_severity_url": address.url(severity=None),
        "reviewers": [(name, address.url(reviewer=name)) for name in page.reviewers],
        "any_reviewer_url": address.url(reviewer=None),
        "where": given["file"] or given["diff"] or given["session"],
        "kept": [
            (name, given[name])
            for name in ("state", "order", "project", "severity", "reviewer", "window")
            if given[name]
        ],
    }


def _windows(chosen: timedelta) -> list[tuple[str, str, bool]]:
    """Lengths that the gate may be asked with: value, words, whether it is the one."""
    lengths = sorted({*_WINDOWS, chosen, window_of(None)})
    return [(clock.window_text(one), clock.window_words(one), one == chosen) for one in lengths]


def _gate(address: Address) -> dict[str, Any]:
    """What the gate says now about the hash of the address; the question itself was recorded when posted."""
    if not address.gate:
        return {}
    try:
        asked = asked_by_hash(address.gate, skip=address.skip if address.skip in _SKIPS else "")
    except Invalid as error:
        return {"gate_error": error.detail}
    verdict = diffs.judge(asked.key, window=address.window, skip=asked.skip)
    blocked = verdict.answer == Answer.BLOCKED
    return {"verdict": verdict, "blocked_url": address.url(diff=asked.key, state=None) if blocked else ""}
