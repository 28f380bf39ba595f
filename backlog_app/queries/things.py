"""What a story's links point to, with the words and addresses to show."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from backlog_app.models import LinkKind, StoryLink
from backlog_app.queries.readiness import newest_reviews
from contextdash.cleaning import one_line
from reviews_app.models import Review
from sessions_app.models import Decision, Plan, Session

TITLE_CHARS = 160


@dataclass(frozen=True, slots=True)
class Thing:
    link: StoryLink
    title: str
    state: str
    """A word of the thing's vocabulary; empty when there is nothing of that id (yet)."""
    severity: str = ""
    url_name: str = ""
    """The name of its page's address; ``ref`` is the argument."""


def linked(links: Iterable[StoryLink]) -> list[Thing]:
    """Every link with what it points to, one query a kind."""
    by_kind: dict[str, list[StoryLink]] = defaultdict(list)
    for link in links:
        by_kind[link.kind].append(link)
    made: list[Thing] = []
    for kind, find in _FINDERS.items():
        if by_kind[kind]:
            found = find([link.ref for link in by_kind[kind]])
            made += [found_or_bare(link, found.get(link.ref)) for link in by_kind[kind]]
    return made


def found_or_bare(link: StoryLink, found: dict[str, Any] | None) -> Thing:
    return Thing(link=link, **found) if found else Thing(link=link, title="", state="")


def _sessions(refs: list[str]) -> dict[str, dict[str, Any]]:
    return {
        row.id: {
            "title": one_line(row.title or row.user_request or row.id[:8], TITLE_CHARS),
            "state": row.activity if row.activity != "ended" else row.status,
            "url_name": "session",
        }
        for row in Session.objects.filter(id__in=refs, deleted_at=None)
    }


def _decisions(refs: list[str]) -> dict[str, dict[str, Any]]:
    return {
        str(row.pk): {
            "title": one_line(f"D-{row.pk} {row.topic}: {row.choice}", TITLE_CHARS),
            "state": row.status,
            "url_name": "decision",
        }
        for row in Decision.objects.filter(pk__in=refs)
    }


def _findings(refs: list[str]) -> dict[str, dict[str, Any]]:
    return {
        str(row.pk): {
            "title": one_line(f"R-{row.pk} {row.finding}", TITLE_CHARS),
            "state": row.resolution,
            "severity": row.severity,
            "url_name": "review",
        }
        for row in Review.objects.filter(pk__in=refs)
    }


def _plans(refs: list[str]) -> dict[str, dict[str, Any]]:
    return {
        str(row.pk): {
            "title": one_line(row.title or row.path, TITLE_CHARS),
            "state": row.status,
            "url_name": "plan",
        }
        for row in Plan.objects.filter(pk__in=refs).defer("body_md")
    }


def _diffs(refs: list[str]) -> dict[str, dict[str, Any]]:
    return {
        key: {"title": f"diff {key[:12]}", "state": review.resolution, "severity": review.severity}
        for key, review in newest_reviews(refs).items()
    }


_FINDERS = {
    LinkKind.SESSION: _sessions,
    LinkKind.DECISION: _decisions,
    LinkKind.FINDING: _findings,
    LinkKind.PLAN: _plans,
    LinkKind.DIFF: _diffs,
}
