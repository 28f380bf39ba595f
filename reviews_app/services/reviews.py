"""Findings: logged, corrected, resolved, dismissed, reopened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid, NotFound, Refused
from contextdash.fields import optional_text, optional_word, text, word
from contextdash.ids import diff_key
from contextdash.limits import NAME_CHARS, PATH_CHARS
from contextdash.services.changing import change_row
from contextdash.writer import write
from reviews_app.models import OTHER_RANK, RANK_NAMES, Resolution, Review, Severity
from reviews_app.services.tally import count_in, count_out
from reviews_app.text import path_of
from sessions_app.models import Project, Session
from sessions_app.services.belonging import moment, owning_project_id, owning_session
from sessions_app.services.sessions import touch

BULK_ROWS = 200
"""The most findings that one bulk change takes."""

_RANKS = {
    rank: (level.value.lower(), *aliases)
    for rank, (level, aliases) in enumerate(
        (
            (Severity.CRITICAL, ("crit", "blocker", "p0", "p1", "sev1", "fatal")),
            (Severity.HIGH, ("error", "major", "p2", "sev2")),
            (Severity.MEDIUM, ("med", "moderate", "warning", "warn", "p3", "sev3")),
            (Severity.LOW, ("minor", "note", "p4", "sev4")),
            (Severity.INFO, ("information", "informational", "nit", "suggestion", "p5", "sev5")),
        ),
        start=1,
    )
}
_RANK_OF = {name: rank for rank, names in _RANKS.items() for name in names}

_NEXT = {
    Resolution.RESOLVED: (Resolution.OPEN, Resolution.REOPENED),
    Resolution.DISMISSED: (Resolution.OPEN, Resolution.REOPENED),
    Resolution.REOPENED: (Resolution.RESOLVED, Resolution.DISMISSED),
}
_DERIVED = frozenset({"severity_rank", "path", "diff_key", "resolved_at"})


def severity_rank(severity: str) -> int:
    """1 Critical … 5 Info by name or alias in any case; 6 for what is none of them."""
    return _RANK_OF.get(severity.strip().casefold(), OTHER_RANK)


def severity_name(severity: str) -> str:
    """The word of the vocabulary that an alias stands for; anything else as sent."""
    return RANK_NAMES.get(severity_rank(severity), severity)


@write
def log_review(
    *,
    target: str,
    severity: str,
    finding: str,
    suggested_fix: str | None = None,
    code_context: str | None = None,
    rule_id: str | None = None,
    reviewer_agent: str | None = None,
    diff_hash: str | None = None,
    actor: Actor,
    session: Session | str | None = None,
    project: Project | None = None,
    at: datetime | None = None,
    import_digest: str | None = None,
) -> Review:
    """Write a finding down.

    Raises:
        Invalid: target, severity or finding is empty, or a limit is passed.
        Conflict: the session was deleted.
    """
    owner = owning_session(session, actor=actor)
    target = word(target, "target", chars=PATH_CHARS)
    severity = word(severity, "severity")
    made = Review.objects.create(
        session=owner,
        project_id=owning_project_id(project, owner),
        target=target,
        path=path_of(target),
        severity=severity,
        severity_rank=severity_rank(severity),
        finding=text(finding, "finding"),
        code_context=optional_text(code_context, "code_context"),
        suggested_fix=optional_text(suggested_fix, "suggested_fix"),
        rule_id=word(rule_id, "rule_id", required=False),
        reviewer_agent=word(reviewer_agent or "code-reviewer", "reviewer_agent"),
        diff_hash=optional_word(diff_hash, "diff_hash", chars=NAME_CHARS),
        diff_key=diff_key(diff_hash),
        import_digest=import_digest,
        ts=moment(at),
    )
    count_in(made)
    if owner is not None:
        touch(owner, review_count=1)
    return made


@write
def change_review(
    *,
    review: Review,
    values: Mapping[str, object],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> Review:
    """Set fields of a finding: target, severity, finding, suggested_fix, code_context, reviewer_agent,
    diff_hash, resolution.

    A resolution moves from open or reopened to resolved or dismissed and from there to reopened, each time
    with a reason.

    Raises:
        Invalid: another field is named, a value is not acceptable, a reason is missing.
        Conflict: the finding is in a state that does not allow the step.
        Stale: somebody changed it in the meantime.
    """
    # Before the state is judged: who saw another version is told that, not that their step is not allowed.
    change_row(review, values={}, actor=actor, expected_version=expected_version)
    checked: dict[str, object] = {}
    for name, value in values.items():
        if name == "resolution":
            checked |= _resolution(review, value, reason)
        else:
            checked |= _checked(name, None if value is None else str(value))
    before = Review(
        project_id=review.project_id,
        reviewer_agent=review.reviewer_agent,
        severity_rank=review.severity_rank,
        resolution=review.resolution,
    )
    version = review.version
    change_row(
        review,
        values=checked,
        actor=actor,
        reason=reason,
        unrecorded=_DERIVED,
    )
    if review.version != version:
        count_out(before)
        count_in(review)
        if review.session is not None:
            touch(review.session)
    return review


def set_resolution(
    *, review: Review, to: str, actor: Actor, reason: str, expected_version: int | None = None
) -> Review:
    """Resolve, dismiss or reopen a finding; see ``change_review``."""
    return change_review(
        review=review,
        values={"resolution": to},
        actor=actor,
        reason=reason,
        expected_version=expected_version,
    )


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    changed: Sequence[Review]
    refused: Sequence[tuple[int, Refused]]
    """Ids that did not move, and why."""


@write
def set_resolution_of_many(*, ids: Sequence[int], to: str, actor: Actor, reason: str) -> BulkOutcome:
    """Resolve, dismiss or reopen findings together; those that cannot take the step stay and are named.

    Raises:
        Invalid: none or more than BULK_ROWS are named, the state is unknown, the reason is missing.
    """
    wanted = list(dict.fromkeys(ids))
    if not 0 < len(wanted) <= BULK_ROWS:
        raise Invalid(f"Choose between 1 and {BULK_ROWS} findings (BULK_ROWS).", field="ids")
    _known_step(to)
    text(reason, "reason")
    found = Review.objects.select_related("session").in_bulk([i for i in wanted if 0 < i < 2**63])
    changed: list[Review] = []
    refused: list[tuple[int, Refused]] = []
    for pk in wanted:
        review = found.get(pk)
        if review is None:
            refused.append((pk, NotFound(f"There is no finding R-{pk}.")))
            continue
        try:
            changed.append(set_resolution(review=review, to=to, actor=actor, reason=reason))
        except Refused as error:
            refused.append((pk, error))
    return BulkOutcome(changed, refused)


def _known_step(to: object) -> Resolution:
    if to not in _NEXT:
        raise Invalid("resolution must be resolved, dismissed or reopened.", field="resolution")
    return Resolution(str(to))


def _resolution(review: Review, value: object, reason: str) -> dict[str, object]:
    if value == review.resolution:
        return {}
    to = _known_step(value)
    if not reason.strip():
        raise Invalid("Say why: a reason is kept in the history.", field="reason")
    if review.resolution not in _NEXT[to]:
        raise Conflict(f"R-{review.pk} is {review.resolution}, so it cannot become {to}.")
    return {
        "resolution": to.value,
        "resolved_at": None if to == Resolution.REOPENED else clock.now(),
    }


def _checked(name: str, told: str | None) -> dict[str, object]:
    match name:
        case "target":
            target = word(told, name, chars=PATH_CHARS)
            return {name: target, "path": path_of(target)}
        case "severity":
            severity = word(told, name)
            return {name: severity, "severity_rank": severity_rank(severity)}
        case "finding":
            return {name: text(told, name)}
        case "suggested_fix" | "code_context":
            return {name: optional_text(told, name)}
        case "reviewer_agent":
            return {name: word(told, name)}
        case "diff_hash":
            return {name: optional_word(told, name), "diff_key": diff_key(told)}
    raise Invalid(f"{name} of a finding cannot be changed.", field=name)
