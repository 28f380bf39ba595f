"""Stories as CSV: written so that no spreadsheet runs a cell, read back as they were."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

from backlog_app.models import BacklogItem
from contextdash import clock
from contextdash.errors import Invalid, TooLarge
from contextdash.limits import BODY_BYTES

COLUMNS = (
    "id",
    "story",
    "acceptance_criteria",
    "status",
    "assigned_agent",
    "priority",
    "estimate",
    "labels",
    "sprint",
    "project",
    "session_id",
    "ts",
)
ROWS_MOST = 5000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    """As a person counts them, the head being line 1."""
    cells: dict[str, str]


def written(stories: Iterable[BacklogItem]) -> str:
    """The whole text; stories come with sprint and project."""
    made = io.StringIO(newline="")
    rows = csv.writer(made)
    rows.writerow(COLUMNS)
    for story in stories:
        rows.writerow(harmless(cell) for cell in _cells(story))
    return made.getvalue()


def harmless(cell: str) -> str:
    """The cell with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def plain(cell: str) -> str:
    """The cell as it was before ``harmless``."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def read(raw: bytes) -> list[Line]:
    """The lines of a CSV file with a head; other columns than ours are passed over.

    Raises:
        Invalid: it is not CSV, or has no column ``story``.
        TooLarge: it has more than ROWS_MOST lines, or more bytes than a body may have.
    """
    if len(raw) > BODY_BYTES:
        raise TooLarge(f"The file is larger than {BODY_BYTES} bytes (BODY_BYTES).")
    text = raw.decode("utf-8-sig", "replace").replace("\0", "\ufffd")
    csv.field_size_limit(BODY_BYTES)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        head = [name.strip().lower() for name in next(rows, [])]
        if "story" not in head:
            raise Invalid(
                "The first line must name the columns, and one of them must be story.", field="file"
            )
        lines: list[Line] = []
        for row in rows:
            if len(lines) >= ROWS_MOST:
                raise TooLarge(f"The file has more than {ROWS_MOST} stories (ROWS_MOST).")
            cells = {name: plain(cell) for name, cell in zip(head, row, strict=False) if name in COLUMNS}
            if any(cell.strip() for cell in cells.values()):
                lines.append(Line(rows.line_num, cells))
    except csv.Error as error:
        raise Invalid(f"This is not CSV: {error}.", field="file") from error
    return lines


def _cells(story: BacklogItem) -> list[str]:
    return [
        str(story.pk),
        story.story,
        story.acceptance_criteria,
        story.status,
        story.assigned_agent or "",
        story.priority_sent or str(story.priority),
        "" if story.estimate is None else str(story.estimate),
        ", ".join(story.labels),
        story.sprint.name if story.sprint else "",
        story.project.slug if story.project else "",
        story.session_id or "",
        clock.iso(story.ts),
    ]
