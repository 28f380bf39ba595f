"""Findings out of a SARIF 2.1.0 log."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import msgspec
from msgspec import UNSET, UnsetType

from contextdash.decoding import decode_json
from contextdash.errors import Invalid
from contextdash.ids import digest16
from contextdash.limits import NAME_CHARS, PATH_CHARS
from reviews_app.models import Resolution, Severity
from reviews_app.sarif import schema
from reviews_app.sarif.model import Fix, Location, Log, Message, Result, Rule, Run

RESULTS = 5000
"""The most results of one log; a longer one is answered 422."""

_LEVELS = {"error": Severity.HIGH, "warning": Severity.MEDIUM, "note": Severity.LOW, "none": Severity.INFO}
# The bands of security-severity that code hosts use.
_SCORES = ((9.0, Severity.CRITICAL), (7.0, Severity.HIGH), (4.0, Severity.MEDIUM), (0.1, Severity.LOW))
_NO_FINDING = frozenset({"pass", "notApplicable"})
_PLACEHOLDER = re.compile(r"\{(\d{1,3})\}|\{\{|\}\}")


@dataclass(frozen=True, slots=True)
class Imported:
    """One result as the fields of a finding."""

    target: str
    severity: str
    finding: str
    suggested_fix: str | None
    code_context: str | None
    rule_id: str
    reviewer_agent: str
    diff_hash: str | None
    closed: Resolution | None
    """Resolved or dismissed where the log says so, else None."""
    reason: str
    """Why it is closed."""
    review_id: int | None
    """The finding that a log of ours was written from."""
    digest: str
    """Equal for the same result of the same tool, however often it is imported."""


def read_sarif(raw: bytes) -> Sequence[Imported]:
    """The findings of a log, in its order.

    Raises:
        Malformed: it is no JSON.
        Invalid: it is no SARIF 2.1.0 (the detail gives the path of the first error), or has more than
            RESULTS results.
    """
    try:
        document = decode_json(raw.removeprefix(b"\xef\xbb\xbf"))
        log = msgspec.convert(document, Log)
    except msgspec.ValidationError as error:
        raise Invalid(f"This is no SARIF 2.1.0. {_with_path(str(error))}", field="sarif") from None
    runs = log.runs or []
    count = sum(len(run.results or []) for run in runs)
    if count > RESULTS:
        raise Invalid(f"The log has {count} results; at most {RESULTS} (RESULTS) are taken.", field="sarif")
    # The types above name the first error more exactly; the schema sees to all that is not read.
    schema.check(document)
    return [made for run in runs for made in _of_run(run)]


def _with_path(error: str) -> str:
    """The library's text, with the whole log as the path where it names none."""
    return error if " - at `" in error else f"{error} - at `$`"


def _of_run(run: Run) -> Iterator[Imported]:
    rules = [*(run.tool.driver.rules or []), *(r for e in run.tool.extensions or [] for r in e.rules or [])]
    by_id = {rule.id: rule for rule in rules}
    for result in run.results or []:
        if result.kind in _NO_FINDING or result.baseline_state == "absent":
            continue
        yield _finding(run, result, _rule(result, by_id, run.tool.driver.rules or []))


def _rule(result: Result, by_id: Mapping[str, Rule], of_driver: Sequence[Rule]) -> Rule | None:
    reference = result.rule or None
    name = result.rule_id or (reference.id if reference else UNSET)
    if isinstance(name, str):
        # A rule may be named below its own id: CA1000/1 is an aspect of CA1000.
        return by_id.get(name) or by_id.get(name.rpartition("/")[0])
    index = result.rule_index if isinstance(result.rule_index, int) else -1
    return of_driver[index] if 0 <= index < len(of_driver) else None


def _finding(run: Run, result: Result, rule: Rule | None) -> Imported:
    place = result.locations[0] if result.locations else None
    ours = result.properties or {}
    made = {
        "target": _target(run, place, result)[:PATH_CHARS],
        "severity": _severity(result, rule),
        "finding": _text(result.message, rule) or "No message",
        "suggested_fix": _fix(result.fixes or []) or _known(ours.get("suggestedFix")) or None,
        "code_context": _context(place),
        "rule_id": _known(result.rule_id)[:NAME_CHARS] or (rule.id[:NAME_CHARS] if rule else ""),
        "reviewer_agent": _tool(run),
        "diff_hash": _known(ours.get("diffHash"))[:NAME_CHARS] or None,
    }
    # A fingerprint of the tool's own survives moved lines, so it stands for the place where there is one.
    prints = sorted((result.fingerprints or result.partial_fingerprints or {}).items())
    same = [f"{name}={value}" for name, value in prints] or [str(made["target"])]
    keyed = (made["reviewer_agent"], made["rule_id"], made["finding"], made["diff_hash"] or "", *same)
    return Imported(
        **made,  # type: ignore[arg-type]  # the names and types are those above
        closed=_closed(result),
        reason=_reason(result),
        review_id=ours["reviewId"] if type(ours.get("reviewId")) is int else None,
        digest=digest16(*(str(part).encode("utf-8", "replace") for part in keyed)).hex(),
    )


def _target(run: Run, place: Location | None, result: Result) -> str:
    if place is None:
        uri = result.analysis_target.uri if result.analysis_target else UNSET
        return unquote(uri) if isinstance(uri, str) and uri.strip() else _tool(run)
    physical = place.physical_location or None
    if physical is not None and physical.artifact_location:
        where = physical.artifact_location
        uri = where.uri
        artifacts = run.artifacts or []
        if not isinstance(uri, str) and isinstance(where.index, int) and 0 <= where.index < len(artifacts):
            known = artifacts[where.index].location
            uri = known.uri if known else UNSET
        if isinstance(uri, str) and uri.strip():
            line = physical.region.start_line if physical.region else UNSET
            return unquote(uri) + (f":{line}" if isinstance(line, int) else "")
    for logical in place.logical_locations or []:
        name = logical.fully_qualified_name or logical.name
        if isinstance(name, str) and name.strip():
            return name
    return _tool(run)


def _tool(run: Run) -> str:
    return run.tool.driver.name.strip()[:NAME_CHARS] or "sarif"


def _severity(result: Result, rule: Rule | None) -> str:
    told = _known((result.properties or {}).get("severity")).strip()
    if told:
        return told[:NAME_CHARS]
    for bag in (result.properties or {}, (rule.properties or {}) if rule else {}):
        score = _number(bag.get("security-severity"))
        if score is not None:
            return next((level.value for least, level in _SCORES if score >= least), Severity.INFO.value)
    level = result.level
    if level is UNSET and rule is not None and rule.default_configuration:
        level = rule.default_configuration.level
    if isinstance(level, str):
        return _LEVELS[level].value
    # The standard's default: a failure is a warning, any other kind has no level.
    return (Severity.MEDIUM if result.kind in (UNSET, "fail") else Severity.INFO).value


def _text(message: Message, rule: Rule | None) -> str:
    text: str | UnsetType = message.markdown or message.text
    if not isinstance(text, str) and isinstance(message.id, str) and rule is not None:
        known = (rule.message_strings or {}).get(message.id)
        text = known.text if known else message.id
    if not isinstance(text, str):
        text = message.id if isinstance(message.id, str) else ""
    arguments = message.arguments or []

    def filled(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0][0]
        return arguments[int(found[1])] if int(found[1]) < len(arguments) else found[0]

    return (_PLACEHOLDER.sub(filled, text) if arguments else text).strip()


def _fix(fixes: Sequence[Fix]) -> str | None:
    """The first fix: its words, and what is to be written where."""
    if not fixes:
        return None
    parts = [_text(fixes[0].description, None)] if fixes[0].description else []
    for change in fixes[0].artifact_changes:
        uri = change.artifact_location.uri
        for replacement in change.replacements:
            written = replacement.inserted_content.text if replacement.inserted_content else ""
            if isinstance(written, str) and written:
                line = replacement.deleted_region.start_line
                place = f"{unquote(uri) if isinstance(uri, str) else ''}" + (
                    f":{line}" if isinstance(line, int) else ""
                )
                parts.append(f"{place}\n\n```\n{written}\n```" if place else written)
    return "\n\n".join(part for part in parts if part) or None


def _context(place: Location | None) -> str | None:
    physical = place.physical_location if place else None
    if not physical:
        return None
    for region in (physical.context_region, physical.region):
        if region and region.snippet and isinstance(region.snippet.text, str):
            return region.snippet.text
    return None


def _closed(result: Result) -> Resolution | None:
    """A suppressed result is dismissed. One suppression that is not accepted leaves it open."""
    suppressions = result.suppressions or []
    if not suppressions or any(one.status in ("underReview", "rejected") for one in suppressions):
        return None
    told = (result.properties or {}).get("resolution")
    return Resolution.RESOLVED if told == Resolution.RESOLVED else Resolution.DISMISSED


def _reason(result: Result) -> str:
    told = [_known(one.justification).strip() for one in result.suppressions or []]
    return next((text for text in told if text), "Closed in the imported log")


def _known(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None
