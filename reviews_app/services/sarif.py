"""SARIF logs become findings."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError

from contextdash.actor import Actor
from contextdash.ids import digest16
from contextdash.writer import write
from reviews_app.models import Review
from reviews_app.sarif.reading import Imported, read_sarif
from reviews_app.services.reviews import log_review, set_resolution
from sessions_app.models import Project, Session

SLICE = 50
"""Results in one write: some 30 ms, so that hooks do not wait for an import."""


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    added: Sequence[Review]
    known: int
    """Results that were here already."""


def import_sarif(
    *,
    raw: bytes,
    actor: Actor,
    session: Session | str | None = None,
    project: Project | None = None,
    diff_hash: str | None = None,
) -> ImportOutcome:
    """The findings of a SARIF 2.1.0 log, each once however often it is imported.

    The whole log is checked before the first is stored. ``diff_hash`` is that of results which name none.

    Raises:
        Malformed, Invalid: as ``read_sarif``; nothing was imported.
        Conflict: the session was deleted.
    """
    found = read_sarif(raw)
    added: list[Review] = []
    for start in range(0, len(found), SLICE):
        part = found[start : start + SLICE]
        given = {"actor": actor, "session": session, "project": project, "diff_hash": diff_hash}
        try:
            added += _store(part=part, **given)  # type: ignore[arg-type]  # the types are those above
        except IntegrityError:
            # Somebody imported the same log at this moment: what they stored is known now.
            added += _store(part=part, **given)  # type: ignore[arg-type]
    return ImportOutcome(added, len(found) - len(added))


@write
def _store(
    *,
    part: Sequence[Imported],
    actor: Actor,
    session: Session | str | None,
    project: Project | None,
    diff_hash: str | None,
) -> list[Review]:
    known = set(
        Review.objects.filter(import_digest__in=[_digest(one, diff_hash) for one in part]).values_list(
            "import_digest", flat=True
        )
    )
    ours = Review.objects.in_bulk(
        [one.review_id for one in part if one.review_id and 0 < one.review_id < 2**63]
    )
    added: list[Review] = []
    for one in part:
        digest = _digest(one, diff_hash)
        mine = ours.get(one.review_id or 0)
        if digest in known or (mine is not None and _is_written_from(one, mine)):
            continue
        known.add(digest)
        review = log_review(
            target=one.target,
            severity=one.severity,
            finding=one.finding,
            suggested_fix=one.suggested_fix,
            code_context=one.code_context,
            rule_id=one.rule_id,
            reviewer_agent=one.reviewer_agent,
            diff_hash=one.diff_hash or diff_hash,
            actor=actor,
            session=session,
            project=project,
            import_digest=digest,
        )
        if one.closed is not None:
            set_resolution(review=review, to=one.closed, actor=actor, reason=one.reason)
        added.append(review)
    return added


def _is_written_from(one: Imported, mine: Review) -> bool:
    """Whether the result is our own finding that went out; texts lose their outer blanks on the way."""
    return (mine.finding.strip(), mine.target) == (one.finding, one.target)


def _digest(one: Imported, diff_hash: str | None) -> str:
    """A result on another diff is another finding: the gate asks for the diff."""
    if one.diff_hash or not diff_hash:
        return one.digest
    return digest16(one.digest.encode(), diff_hash.encode("utf-8", "replace")).hex()
