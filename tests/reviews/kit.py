"""A finding with defaults; a test names only what it is about."""

from typing import Any

from contextdash.actor import SYSTEM
from reviews_app.models import Review
from reviews_app.services.reviews import log_review

HASH = "27d3b008f0a1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabb"


def log(**values: Any) -> Review:
    given = {"target": "src/app.py:10", "severity": "High", "finding": "A lock is missing.", "actor": SYSTEM}
    return log_review(**(given | values))
