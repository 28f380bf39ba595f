"""Words of the board as writers send them: made canonical where they are known, else kept as sent."""

import re
from collections.abc import Iterable

from backlog_app.models import StoryStatus
from contextdash.errors import Invalid
from contextdash.fields import word

PRIORITY_DEFAULT = 3
LABELS_MOST = 50
LABEL_CHARS = 60
ESTIMATE_MOST = 1000
COLUMNS: tuple[str, ...] = tuple(StoryStatus.values)

_SPACES = re.compile(r"[\s-]+")
_ALIASES = {"to_do": StoryStatus.TODO, "in_review": StoryStatus.REVIEW}


def status(value: str | None) -> str:
    """A column's word whatever its case, spaces and hyphens; another word as sent."""
    sent = word(value, "status")
    folded = _SPACES.sub("_", sent.casefold())
    folded = _ALIASES.get(folded, folded)
    return folded if folded in COLUMNS else sent


def column(value: str) -> str:
    """Which column shows a status: its own, or ``other``."""
    return value if value in COLUMNS else "other"


def priority(value: int | float | str | None) -> tuple[int, str]:
    """(1 to 5, what was sent where that is something else): 9 is ordered as 5, "urgent" as the default."""
    if value is None:
        return PRIORITY_DEFAULT, ""
    whole = isinstance(value, float) and value.is_integer()
    sent = word(str(int(value) if whole else value), "priority")
    try:
        number = int(sent.upper().removeprefix("P"))
    except ValueError:
        return PRIORITY_DEFAULT, sent
    return (number, "") if 1 <= number <= 5 else (max(1, min(5, number)), sent)


def labels(values: Iterable[str]) -> list[str]:
    """Trimmed, without repetition, in the order sent."""
    made = list(dict.fromkeys(word(value, "labels", chars=LABEL_CHARS) for value in values if value.strip()))
    if len(made) > LABELS_MOST:
        raise Invalid(f"A story has at most {LABELS_MOST} labels.", field="labels")
    return made


def estimate(value: int | None) -> int | None:
    if value is not None and not 0 <= value <= ESTIMATE_MOST:
        raise Invalid(f"estimate is points from 0 to {ESTIMATE_MOST}.", field="estimate")
    return value
