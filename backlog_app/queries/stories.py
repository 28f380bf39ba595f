"""One story with all that belongs to it; pages of stories for the API; the list view."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Case, Count, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Left

from backlog_app import words
from backlog_app.models import BacklogItem, Criterion, StoryComment
from backlog_app.queries import readiness
from backlog_app.queries.filters import Filters, apply
from backlog_app.queries.history import Entry, of_story
from backlog_app.queries.readiness import Rule
from backlog_app.queries.things import Thing, linked
from contextdash.cleaning import shorten
from contextdash.errors import Invalid, NotFound
from contextdash.paging import Page, page
from contextdash.prepared import Prepared, given_text, totals

LISTED_CHARS = 400
SHOWN_CHARS = 20_000
"""A page shows no more of one text; the API gives all of it."""
SHOWN_COMMENTS = 200


@dataclass(frozen=True, slots=True)
class Whole:
    """Everything that a story's page shows."""

    story: BacklogItem
    index: int
    criteria: Sequence[Criterion]
    things: Sequence[Thing]
    comments: Sequence[StoryComment]
    text: str
    """The story, cut at SHOWN_CHARS."""
    blocked_by: Sequence[BacklogItem]
    blocks: Sequence[BacklogItem]
    children: Sequence[BacklogItem]
    ready: Sequence[Rule]
    done: Sequence[Rule]
    held_by_review: str
    """Which finding holds it up, in words; empty when none does."""
    stale: bool
    history: Sequence[Entry]


def one(story_id: int) -> BacklogItem:
    """The story, deleted or not.

    Raises:
        NotFound: there is none of that number.
    """
    rows = BacklogItem.objects.select_related("sprint", "project", "epic", "session")
    found = rows.filter(pk=story_id).first()
    if found is None:
        raise NotFound(f"There is no story {story_id}.")
    return found


def whole(story: BacklogItem) -> Whole:
    review = readiness.review_blocks([story.pk]).get(story.pk)
    return Whole(
        story=story,
        index=indexes([story])[story.pk],
        criteria=list(story.criteria.all()),
        things=linked(story.links.all()),
        comments=_comments(story),
        text=shorten(story.story, SHOWN_CHARS),
        blocked_by=list(begun(BacklogItem.objects.filter(blocks__story=story, deleted_at=None))),
        blocks=list(begun(BacklogItem.objects.filter(dependencies__blocked_by=story, deleted_at=None))),
        children=list(begun(story.children.filter(deleted_at=None))),
        ready=readiness.ready_rules(story),
        done=readiness.done_rules(story),
        held_by_review="" if review is None else f"R-{review.pk} is {review.severity} and open",
        stale=readiness.is_stale(story),
        history=of_story(story.pk),
    )


def newest(by: Filters, *, session: str, limit: int, cursor: str | None) -> Page[BacklogItem]:
    return page(_narrowed(by, session), limit=limit, cursor=cursor)


def in_order(by: Filters, *, session: str, limit: int, cursor: str | None) -> Page[BacklogItem]:
    """Column by column, each from its top.

    Raises:
        Invalid: the cursor is not one of ours.
    """
    rows = _narrowed(by, session)
    if cursor:
        status, found, rank = cursor.rpartition("|")
        if not found or not rank.isdigit():
            raise Invalid("This page's address is not valid. Start from the first page.", field="cursor")
        rows = rows.filter(Q(status__gt=status) | Q(status=status, rank__gt=rank))
    items = list(rows.order_by("status", "rank")[: limit + 1])
    more = len(items) > limit
    items = items[:limit]
    return Page(items, f"{items[-1].status}|{items[-1].rank}" if more else None)


def indexes(stories: Iterable[BacklogItem]) -> dict[int, int]:
    """Each story's place in its column, 1 at the top, without gaps (deleted stories have none: 0)."""
    wanted = list(stories)
    ranks: dict[str, list[str]] = defaultdict(list)
    for story in wanted:
        ranks[story.status].append(story.rank)
    if not ranks:
        return {}
    rows = BacklogItem.objects.filter(deleted_at=None)
    here, counted = Q(), dict[str, int]()
    for status, of_column in ranks.items():
        # One column at a time: a database that is asked for several together may read all of all.
        (counted[status],) = _ABOVE.one(status=status, rank=min(of_column)) or (0,)
        # Only from the first to the last of these: Done may hold everything that ever was.
        here |= Q(status=status, rank__gte=min(of_column), rank__lte=max(of_column))
    places: dict[int, int] = {}
    for pk, status in rows.filter(here).order_by("status", "rank").values_list("pk", "status"):
        places[pk] = counted[status] = counted[status] + 1
    return {story.pk: places.get(story.pk, 0) for story in wanted}


_ABOVE = Prepared(
    lambda: totals(
        BacklogItem.objects.filter(deleted_at=None, status=given_text("status"), rank__lt=given_text("rank")),
        n=Count("pk"),
    )
)


def in_list(by: Filters, *, limit: int, offset: int) -> tuple[list[BacklogItem], bool]:
    """The dense list: open columns before Done, each from its top; and whether there is more."""
    rows = apply(BacklogItem.objects.filter(deleted_at=None), by).select_related("sprint", "project")
    found: list[BacklogItem] = []
    # Column by column, as the index of places has them: sorting all would read every story for one page.
    for column in (*words.COLUMNS, None):
        part = rows.exclude(status__in=words.COLUMNS) if column is None else rows.filter(status=column)
        missing = limit + 1 - len(found)
        page_part = list(begun(part).order_by("status", "rank")[offset : offset + missing])
        found += page_part
        if len(found) > limit:
            break
        offset = 0 if page_part else max(0, offset - part.count())
    return found[:limit], len(found) > limit


def begun(rows: QuerySet[BacklogItem]) -> QuerySet[BacklogItem]:
    """With ``begin``, the first LISTED_CHARS of the story, instead of texts that may be megabytes long."""
    return rows.defer("story", "acceptance_criteria").annotate(begin=Left("story", LISTED_CHARS))


def for_csv(by: Filters) -> list[BacklogItem]:
    rows = apply(BacklogItem.objects.filter(deleted_at=None), by).select_related("sprint", "project")
    return list(_by_column(rows))


def _comments(story: BacklogItem) -> list[StoryComment]:
    rows = list(story.comments.order_by("-ts", "-id")[:SHOWN_COMMENTS])
    for row in rows:
        row.body = shorten(row.body, SHOWN_CHARS)
    return rows[::-1]


def _by_column(rows: QuerySet[BacklogItem]) -> QuerySet[BacklogItem]:
    order = Case(
        *(When(status=status, then=Value(n)) for n, status in enumerate(words.COLUMNS)),
        default=Value(len(words.COLUMNS)),
        output_field=IntegerField(),
    )
    return rows.order_by(order, "status", "rank")


def _narrowed(by: Filters, session: str) -> QuerySet[BacklogItem]:
    rows = apply(BacklogItem.objects.filter(deleted_at=None), by).select_related("project")
    return rows.filter(session_id=session) if session else rows


def neighbours(story_id: int, where: str) -> tuple[int | None, int | None]:
    """Beside which story one goes up, down, to the top or to the bottom of its column: (after, before).

    Both are None where it stands there already.
    """
    story = one(story_id)
    column = BacklogItem.objects.filter(status=story.status, deleted_at=None).exclude(pk=story.pk)
    above = column.filter(rank__lt=story.rank).order_by("-rank").values_list("pk", flat=True)
    below = column.filter(rank__gt=story.rank).order_by("rank").values_list("pk", flat=True)
    match where:
        case "up":
            return None, above.first()
        case "down":
            return below.first(), None
        case "top":
            return None, above.last()
        case "bottom":
            return below.last(), None
        case _:
            return None, None
