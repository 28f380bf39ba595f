"""What happened to a row: who changed which field when, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from contextdash.models import Change
from contextdash.prepared import newest_id

HISTORY_ROWS = 100


@dataclass(frozen=True, slots=True)
class Line:
    """One changed field in people's words."""

    field: str
    old: str
    new: str
    who: str
    reason: str
    at: datetime


def history_of(noun: str, row_id: object) -> Sequence[Line]:
    """The newest HISTORY_ROWS changes of a row, newest first."""
    rows = Change.objects.filter(noun=noun, row_id=str(row_id)).select_related("user", "token")
    return [
        Line(
            field=change.field.replace("_", " ").capitalize(),
            old=change.old or "",
            new=change.new or "",
            who=_who(change),
            reason=change.reason,
            at=change.at,
        )
        for change in rows.order_by("-id")[:HISTORY_ROWS]
    ]


def newest_change() -> int:
    """The id of the newest change of anything: a part of the version of pages that show changeable rows."""
    return newest_id(Change)


def _who(change: Change) -> str:
    if change.token is not None:
        return f"{change.token.name}, token of {change.user}" if change.user else change.token.name
    return str(change.user) if change.user else "contextdash"
