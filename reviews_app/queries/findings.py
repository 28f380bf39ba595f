"""The lists of findings: filters, orders, keyset pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Q, QuerySet
from django.db.models.functions import Substr

from contextdash.cleaning import clean
from contextdash.clock import from_us
from contextdash.db import within_prefix
from contextdash.errors import Invalid, NotFound
from contextdash.ids import diff_key
from contextdash.models import Change
from contextdash.paging import Page
from contextdash.paging import page as newest_page
from contextdash.prepared import Prepared, given_text
from reviews_app.models import OTHER_RANK, RANK_NAMES, Review
from reviews_app.text import HEAD_CHARS
from sessions_app.models import HookEvent
from sessions_app.registry import Window

PAGE_FINDINGS = 50
PANEL_FINDINGS = 200
DIFFS_SHOWN = 15
HISTORY_ROWS = 100
WALK_ROWS = 200
WALK_STEPS = 10
"""How far a page by diff looks for diffs that it has not shown: one diff may have 100,000 findings."""

FILTER_NAMES = RANK_NAMES | {OTHER_RANK: "Other"}

_LONG = ("finding", "code_context", "suggested_fix")


class State(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"
    ALL = "all"


class Order(StrEnum):
    SEVERITY = "severity"
    FILE = "file"
    DIFF = "diff"
    NEWEST = "newest"


_ORDERS = {
    Order.SEVERITY: ("severity_rank", "-ts", "-id"),
    Order.DIFF: ("severity_rank", "-ts", "-id"),
    Order.FILE: ("path", "severity_rank", "-ts", "-id"),
    Order.NEWEST: ("-ts", "-id"),
}


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list is narrowed to; an empty value narrows nothing."""

    state: State = State.ALL
    severity: int | None = None
    file: str = ""
    diff: str = ""
    reviewer: str = ""
    session: str = ""
    project: str = ""

    @property
    def narrowed(self) -> bool:
        return bool(
            self.severity is not None
            or self.file
            or self.diff
            or self.reviewer
            or self.session
            or self.project
        )


def rank_of_name(name: str) -> int | None:
    """The rank that a filter names: one of the vocabulary, or ``other``; None for anything else."""
    wanted = name.strip().casefold()
    return next((rank for rank, known in FILTER_NAMES.items() if known.casefold() == wanted), None)


def filtered(filters: Filters) -> QuerySet[Review]:
    rows = Review.objects.all()
    if filters.state == State.OPEN:
        rows = rows.filter(open_rank__isnull=False)
    elif filters.state != State.ALL:
        rows = rows.filter(resolution=filters.state.value)
    if filters.severity is not None:
        rows = rows.filter(severity_rank=filters.severity)
    # Cleaned as what is stored was; PostgreSQL refuses a NUL even in a question.
    if file := clean(filters.file):
        folder = file.rstrip("/")
        rows = rows.filter(Q(path=file) | Q(path__startswith=f"{folder}/"), within_prefix("path", folder))
    if diff := clean(filters.diff):
        key = diff_key(diff)
        rows = rows.filter(diff_key=key) if key else rows.filter(diff_hash=diff)
    if filters.reviewer:
        rows = rows.filter(reviewer_agent=clean(filters.reviewer))
    if filters.session:
        rows = rows.filter(session_id=clean(filters.session))
    if filters.project:
        rows = rows.filter(project__slug=clean(filters.project))
    return rows


def heads(rows: QuerySet[Review]) -> QuerySet[Review]:
    """For lists: the long texts stay in the database, save the beginning of the finding."""
    return rows.defer(*_LONG).annotate(head=Substr("finding", 1, HEAD_CHARS))


def newest(filters: Filters, *, limit: int, cursor: str | None) -> Page[Review]:
    """The API's order: newest first, whatever the severity."""
    return newest_page(filtered(filters), limit=limit, cursor=cursor)


def listed(filters: Filters, order: Order, *, after: str | None, limit: int = PAGE_FINDINGS) -> Page[Review]:
    """A page in the order that a person chose; ``after`` is the id of the last finding of the page before.

    Raises:
        Invalid: ``after`` names no finding.
    """
    columns = _ORDERS[order]
    rows = heads(filtered(filters))
    if after:
        rows = rows.filter(_after(_row(after), columns))
    found = list(rows.order_by(*columns)[: limit + 1])
    more = len(found) > limit
    return Page(found[:limit], str(found[limit - 1].pk) if more else None)


def by_diff(filters: Filters, *, after: str | None, diffs: int = DIFFS_SHOWN) -> Page[Review]:
    """Findings of the diffs that were reviewed last, each diff's findings together, worst first.

    A diff stands where its newest finding stands, so the walk from the newest finding back skips every
    diff that a page before has shown.
    """
    rows = filtered(filters).exclude(diff_key="")
    columns = ("-ts", "-id")
    start = _row(after) if after else None
    keys: list[str] = []
    last: Review | None = start
    walking = True
    for _ in range(WALK_STEPS):
        if not walking or len(keys) == diffs:
            break
        ahead = rows if last is None else rows.filter(_after(last, columns))
        step = list(ahead.only("id", "ts", "diff_key").order_by(*columns)[:WALK_ROWS])
        walking = len(step) == WALK_ROWS
        shown = _shown_before(rows, step, start)
        for row in step:
            if len(keys) == diffs:
                walking = True
                break
            last = row
            if row.diff_key not in keys and row.diff_key not in shown:
                keys.append(row.diff_key)
    place = {key: n for n, key in enumerate(keys)}
    found = sorted(
        heads(rows.filter(diff_key__in=keys)).order_by("severity_rank", "-ts", "-id")[: PAGE_FINDINGS * 4],
        key=lambda row: place[row.diff_key],
    )
    return Page(found, str(last.pk) if walking and last is not None else None)


def finding(pk: int) -> Review | None:
    return Review.objects.filter(pk=pk).first()


def finding_of(pk: int) -> Review:
    """
    Raises:
        NotFound: there is none.
    """
    found = finding(pk) if pk < 2**63 else None
    if found is None:
        raise NotFound(f"There is no finding R-{pk}.")
    return found


def others_of_diff(review: Review, *, limit: int = 50) -> Sequence[Review]:
    """The other findings of the same diff, worst first."""
    if not review.diff_key:
        return []
    same = heads(Review.objects.filter(diff_key=review.diff_key).exclude(pk=review.pk))
    return list(same.order_by("severity_rank", "-ts", "-id")[:limit])


def history(review: Review) -> Sequence[Change]:
    """Its changes, oldest first, at most the newest HISTORY_ROWS."""
    changes = Change.objects.filter(noun="reviews", row_id=str(review.pk)).select_related("user", "token")
    return list(changes.order_by("-id")[:HISTORY_ROWS])[::-1]


def of_session_between(session_id: str, window: Window) -> Sequence[Review]:
    """A session's findings in a stretch of its timeline, the newest ``limit``, newest last."""
    rows = Review.objects.filter(
        session_id=session_id, ts__gte=from_us(window.start_us), ts__lt=from_us(window.end_us)
    )
    return list(heads(rows).order_by("-ts", "-id")[: window.limit])[::-1]


def of_session(session_id: str) -> Sequence[Review]:
    """A session's findings for its panel, newest first, at most PANEL_FINDINGS."""
    rows = heads(Review.objects.filter(session_id=session_id))
    return list(rows.order_by("-ts", "-id")[:PANEL_FINDINGS])


def newest_gate_event_id(hook_name: str) -> int:
    newest = _NEWEST_EVENT.one(hook_name=hook_name)
    return newest[0] if newest else 0


_NEWEST_EVENT = Prepared(
    lambda: (
        HookEvent.objects.filter(hook_name=given_text("hook_name"))
        .order_by("-ts", "-id")
        .values_list("id")[:1]
    )
)


def _shown_before(rows: QuerySet[Review], step: Sequence[Review], start: Review | None) -> set[str]:
    """Which diffs of this step have a finding newer than where the page starts."""
    if start is None:
        return set()
    keys = {row.diff_key for row in step}
    newer = rows.filter(diff_key__in=keys).filter(
        Q(ts__gt=start.ts) | Q(ts=start.ts, id__gte=start.pk)  # the start row itself was shown
    )
    return set(newer.order_by().values_list("diff_key", flat=True).distinct())


def _after(last: Review, columns: Sequence[str]) -> Q:
    """The rows that come after ``last`` in the order of the columns, the last of which is unique."""
    after = Q()
    equal = Q()
    for column in columns:
        name = column.removeprefix("-")
        value = getattr(last, name)
        step = Q(**{f"{name}__lt" if column.startswith("-") else f"{name}__gt": value})
        after |= equal & step
        equal &= Q(**{name: value})
    return after


def _row(cursor: str) -> Review:
    found = None
    if cursor.isascii() and cursor.isdigit() and len(cursor) <= 18:
        found = Review.objects.defer(*_LONG).filter(pk=int(cursor)).first()
    if found is None:
        raise Invalid("This page's address is not valid. Start from the first page.", field="after")
    return found


def for_export(filters: Filters, *, limit: int) -> tuple[Sequence[Review], Mapping[int, str]]:
    """Whole findings, worst first, and why those of them were closed that are."""
    rows = list(filtered(filters).order_by("severity_rank", "-ts", "-id")[:limit])
    closed = [str(row.pk) for row in rows if not row.is_open]
    reasons: dict[int, str] = {}
    for start in range(0, len(closed), 500):
        changes = Change.objects.filter(
            noun="reviews", row_id__in=closed[start : start + 500], field="resolution"
        )
        # The newest last, so that it is the one that stays.
        told = changes.order_by("id").values_list("row_id", "reason")
        reasons |= {int(row_id): reason for row_id, reason in told}
    return rows, reasons
