"""What a card shows beyond its own row: what holds it up and what is linked, for many stories at once."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from backlog_app.models import LinkKind, StoryLink, StoryStatus
from backlog_app.queries import readiness
from backlog_app.queries.history import NOUN
from contextdash import clock
from contextdash.cleaning import one_line
from contextdash.models import Change
from contextdash.rendering.ansi import plain
from sessions_app.models import Session
from sessions_app.vocabulary import Activity

WHY_CHARS = 90


@dataclass(slots=True)
class Extras:
    """Story → what to show."""

    why: dict[int, str] = field(default_factory=dict)
    """Why it needs a person or cannot go on, in a few words."""
    tied: dict[int, str] = field(default_factory=dict)
    """``2 sessions``, ``1 finding``."""
    last_us: dict[int, int] = field(default_factory=dict)
    """The newest event of its linked sessions."""


def extras(open_ids: list[int], blocked_ids: list[int]) -> Extras:
    """For the open stories of a board, among them the blocked ones. Five queries, however many stories."""
    made = Extras()
    refs: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    links = StoryLink.objects.filter(story_id__in=open_ids).values_list("story_id", "kind", "ref")
    for story_id, kind, ref in links:
        refs[story_id][kind].append(ref)
    made.tied = {story_id: _tied(kinds) for story_id, kinds in refs.items()}
    _blocked(made, blocked_ids)
    for story_id, numbers in readiness.open_dependencies(open_ids).items():
        made.why[story_id] = f"Waits for {', '.join(f'S-{number}' for number in numbers[:3])}"
    if any(LinkKind.DIFF in kinds for kinds in refs.values()):
        for story_id, review in readiness.review_blocks(open_ids).items():
            made.why[story_id] = f"R-{review.pk} is {review.severity} and open"
    _sessions(made, refs)
    return made


def _blocked(made: Extras, story_ids: Iterable[int]) -> None:
    """The reason that was given when it was blocked, and since when."""
    ids = [str(pk) for pk in story_ids]
    if not ids:
        return
    lines = Change.objects.filter(noun=NOUN, row_id__in=ids, field="status", new=StoryStatus.BLOCKED)
    for row_id, reason, at in lines.order_by("id").values_list("row_id", "reason", "at"):
        since = _since(clock.now() - at)
        made.why[int(row_id)] = (
            f"{one_line(plain(reason), WHY_CHARS)}, {since}" if reason else f"Blocked, {since}"
        )


def _sessions(made: Extras, refs: dict[int, dict[str, list[str]]]) -> None:
    """Linked sessions that wait for a person; and when each last moved."""
    wanted = {ref for kinds in refs.values() for ref in kinds.get(LinkKind.SESSION, ())}
    if not wanted:
        return
    rows = Session.objects.filter(id__in=wanted, deleted_at=None)
    known = {row[0]: row[1:] for row in rows.values_list("id", "activity", "activity_since_us", "last_us")}
    for story_id, kinds in refs.items():
        for ref in kinds.get(LinkKind.SESSION, ()):
            if ref not in known:
                continue
            activity, since_us, last_us = known[ref]
            made.last_us[story_id] = max(last_us, made.last_us.get(story_id, 0))
            if activity == Activity.WAITING:
                waited = _since(clock.now() - clock.from_us(since_us))
                made.why[story_id] = f"A session waits for you, {waited}"


def _tied(kinds: dict[str, list[str]]) -> str:
    for kind in (LinkKind.FINDING, LinkKind.SESSION, LinkKind.DECISION):
        count = len(kinds.get(kind, ()))
        if count:
            return f"{count} {kind}{'' if count == 1 else 's'}"
    return ""


def _since(span: timedelta) -> str:
    """``6m``, ``3h``, ``2d``: a card has room for one unit."""
    if span.days > 0:
        return f"{span.days}d"
    seconds = max(0, span.seconds)
    if seconds < 60:
        return "just now"
    return f"{seconds // 3600}h" if seconds >= 3600 else f"{seconds // 60}m"
