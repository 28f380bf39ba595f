"""What happened to a row: who changed which field when, and why."""

from collections.abc import Sequence

from contextdash.models import Change

HISTORY_ROWS = 100


def history_of(noun: str, row_id: object) -> Sequence[Change]:
    """The newest HISTORY_ROWS changes of a row, newest first, with the person or token that made them."""
    rows = Change.objects.filter(noun=noun, row_id=str(row_id)).select_related("user", "token")
    return list(rows.order_by("-id")[:HISTORY_ROWS])


def newest_change() -> int:
    """The id of the newest change of anything: a part of the version of pages that show changeable rows."""
    return Change.objects.order_by("-id").values_list("id", flat=True).first() or 0
