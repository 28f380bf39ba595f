"""What the page of a session shows of its findings."""

from collections.abc import Sequence
from typing import Any

from contextdash.clock import to_us
from reviews_app.models import Review
from reviews_app.queries import findings
from sessions_app.models import Session
from sessions_app.registry import Exported, Panel, Row, Window, registry

ROW_TEMPLATE = "reviews/_timeline_row.html"


def register() -> None:
    registry.add_timeline("finding", timeline_rows)
    registry.add_panel(
        Panel(
            slug="reviews",
            title="Reviews",
            template="reviews/_panel.html",
            context=panel_context,
            count=lambda session: session.review_count,
            styles="pages/reviews.css",
        )
    )
    registry.add_export(
        Exported(
            noun="reviews",
            title="Findings",
            rows=lambda session: Review.objects.filter(session=session),
            head="target",
            words=("severity", "reviewer_agent", "resolution", "ts"),
            texts=("finding", "suggested_fix", "code_context"),
        )
    )


def timeline_rows(session: Session, window: Window) -> Sequence[Row]:
    return [_row(review) for review in findings.of_session_between(session.id, window)]


def panel_context(session: Session) -> dict[str, Any]:
    return {"findings": findings.of_session(session.id), "most": findings.PANEL_FINDINGS}


def _row(review: Review) -> Row:
    return Row(
        at_us=to_us(review.ts),
        kind="finding",
        key=f"r-{review.pk}",
        agent=review.reviewer_agent,
        item=review,
        template=ROW_TEMPLATE,
    )
