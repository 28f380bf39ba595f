"""Stories on the pages of decisions and findings."""

from functools import partial

from django.urls import reverse

from backlog_app.models import BacklogItem, LinkKind
from backlog_app.queries.stories import begun
from contextdash.cleaning import one_line
from sessions_app.related import Related, Thing, relations

LINKS = 100
TITLE_CHARS = 160


def register() -> None:
    relations.add("decision", partial(_stories, LinkKind.DECISION))
    relations.add("finding", partial(_stories, LinkKind.FINDING))


def _stories(kind: str, pk: int) -> Related:
    rows = BacklogItem.objects.filter(links__kind=kind, links__ref=str(pk), deleted_at=None)
    things = [
        Thing(
            ref=str(row.pk),
            number=f"S-{row.pk}",
            title=one_line(row.begin, TITLE_CHARS),  # type: ignore[attr-defined]  # annotated by begun
            url=reverse("story", args=[row.pk]),
            state=row.status,
        )
        for row in begun(rows).order_by("-changed_at", "-pk")[:LINKS]
    ]
    return Related(
        kind="story",
        title="Stories",
        things=things,
        link_url=reverse("story_link_from"),
        unlink_url=reverse("story_unlink_from"),
        sent={"kind": kind, "of": str(pk)},
    )
