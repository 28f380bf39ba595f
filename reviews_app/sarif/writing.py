"""Findings as a SARIF 2.1.0 log."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from contextdash import __version__, clock
from reviews_app.models import OTHER_RANK, Review
from reviews_app.sarif import model as sarif
from reviews_app.text import split_target

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: dict[int, sarif.Level] = {
    1: "error",
    2: "error",
    3: "warning",
    4: "note",
    5: "note",
    OTHER_RANK: "warning",
}


def write_sarif(reviews: Iterable[Review], reasons: Mapping[int, str]) -> bytes:
    """A log with a run for each reviewer. ``reasons`` says by id why a finding was closed.

    What the standard has no place for (the severity's own word, the diff hash, our id) is in properties, and
    read back from there.
    """
    by_reviewer: dict[str, list[Review]] = {}
    for review in reviews:
        by_reviewer.setdefault(review.reviewer_agent, []).append(review)
    log = sarif.Log(
        schema=SCHEMA,
        version="2.1.0",
        runs=[_run(name, rows, reasons) for name, rows in by_reviewer.items()],
    )
    return msgspec.json.format(msgspec.json.encode(log), indent=1)


def _run(reviewer: str, reviews: list[Review], reasons: Mapping[int, str]) -> sarif.Run:
    rules = dict.fromkeys(review.rule_id for review in reviews if review.rule_id)
    return sarif.Run(
        tool=sarif.Tool(
            driver=sarif.ToolComponent(
                name=reviewer,
                rules=[sarif.Rule(id=rule) for rule in rules] if rules else UNSET,
                properties={"exportedBy": f"contextdash {__version__}"},
            )
        ),
        results=[_result(review, reasons) for review in reviews],
        column_kind="unicodeCodePoints",
    )


def _result(review: Review, reasons: Mapping[int, str]) -> sarif.Result:
    closed = sarif.Suppression(kind="external", status="accepted", justification=reasons.get(review.pk, ""))
    return sarif.Result(
        rule_id=review.rule_id or UNSET,
        level=_LEVELS[review.severity_rank],
        message=sarif.Message(text=review.finding),
        locations=[_location(review)],
        suppressions=UNSET if review.is_open else [closed],
        properties=_properties(review),
    )


def _location(review: Review) -> sarif.Location:
    path, line = split_target(review.target)
    context = sarif.ArtifactContent(text=review.code_context) if review.code_context else UNSET
    return sarif.Location(
        physical_location=sarif.PhysicalLocation(
            # Everything but the slashes is quoted: a target is any text, and this must be a URI reference.
            artifact_location=sarif.ArtifactLocation(uri=quote(path, safe="/")),
            region=sarif.Region(start_line=line, snippet=context) if line else UNSET,
        )
    )


def _properties(review: Review) -> dict[str, Any]:
    told = {
        "severity": review.severity,
        "resolution": review.resolution,
        "reviewId": review.pk,
        "diffHash": review.diff_hash,
        "sessionId": review.session_id,
        "suggestedFix": review.suggested_fix,
        "foundAt": clock.iso(review.ts),
    }
    return {name: value for name, value in told.items() if value is not None}
