from reviews_app.models.link import FindingDecision
from reviews_app.models.review import (
    BLOCKING_RANK,
    OPEN_STATES,
    OTHER_RANK,
    RANK_NAMES,
    Resolution,
    Review,
    ReviewTally,
    Severity,
)

__all__ = [
    "BLOCKING_RANK",
    "OPEN_STATES",
    "OTHER_RANK",
    "RANK_NAMES",
    "FindingDecision",
    "Resolution",
    "Review",
    "ReviewTally",
    "Severity",
]
