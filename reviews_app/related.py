"""Findings on the page of a decision, decisions on the page of a finding."""

from django.urls import reverse

from contextdash.cleaning import one_line
from reviews_app.queries import links
from sessions_app.related import Related, Thing, relations

TITLE_CHARS = 160


def register() -> None:
    relations.add("decision", _findings)
    relations.add("finding", _decisions)


def _findings(decision_id: int) -> Related:
    things = [
        Thing(
            ref=str(row.pk),
            number=row.number,
            title=one_line(row.title, TITLE_CHARS),
            url=reverse("review", args=[row.pk]),
            state=row.resolution,
            severity=row.shown_severity,
        )
        for row in links.findings_of(decision_id)
    ]
    return _related("finding", "Findings", things, {"decision": str(decision_id)})


def _decisions(review_id: int) -> Related:
    things = [
        Thing(
            ref=str(row.pk),
            number=f"D-{row.pk}",
            title=one_line(f"{row.topic}: {row.choice_start}", TITLE_CHARS),  # type: ignore[attr-defined]
            url=reverse("decision", args=[row.pk]),
            state=row.status,
        )
        for row in links.decisions_of(review_id)
    ]
    return _related("decision", "Decisions", things, {"finding": str(review_id)})


def _related(kind: str, title: str, things: list[Thing], sent: dict[str, str]) -> Related:
    link, unlink = reverse("finding_link"), reverse("finding_unlink")
    return Related(kind=kind, title=title, things=things, link_url=link, unlink_url=unlink, sent=sent)
