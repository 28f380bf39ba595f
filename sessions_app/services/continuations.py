"""Continuations: the exclusive right to go on, in a new run of the same session, where a sealed run ended.

The claim is made against what the source holds: its last event and the digest of all of it. Whoever comes
second for the same boundary is told of the first claim. The target's first event is reserved for the start.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from django.db import IntegrityError, transaction
from django.db.models import Q

from contextdash import clock, ids
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid, NotFound
from contextdash.writer import write
from sessions_app.ingest.observing import masked_payload
from sessions_app.ledger.canonical import canonical
from sessions_app.ledger.digests import BOUNDARY, SEGMENT, Identity, boundary_digest, boundary_of
from sessions_app.ledger.envelope import Lane, Sent
from sessions_app.models import ContinuationClaim, Run, Session
from sessions_app.queries.continuations import Prefix, prefix_of
from sessions_app.services.claim_ids import claim_id, digest
from sessions_app.services.ledger import open_run, open_turn
from sessions_app.services.ledger_append import append_events
from sessions_app.vocabulary import StartKind


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a claimer asks for. Without a boundary it is the end of the source alone."""

    claim_id: str
    source: Identity
    high_water: int
    prefix: str
    target: Identity
    boundary: Mapping[str, Any] = field(default_factory=dict)
    boundary_digest: str = ""
    provider_replay_digest: str = ""
    target_run_header: Mapping[str, Any] = field(default_factory=dict)


def claim_continuation(*, wanted: Wanted, actor: Actor) -> tuple[ContinuationClaim, bool]:
    """The claim of the boundary, and whether it was acquired just now; else it is an earlier one's.

    Raises:
        Invalid: an id or digest is none, or the parts of the body do not fit together.
        NotFound: there is no such source.
        Conflict: the source is not sealed or holds something else (``source_not_sealed``,
            ``prefix_mismatch``), the claim's id, the target or the source's end is claimed otherwise
            (``claim_conflict``), or the target holds events already (``target_not_empty``).
    """
    _check_ids(wanted)
    known = ContinuationClaim.objects.filter(boundary_digest=wanted.boundary_digest or None).first()
    if known is not None:
        return known, False
    source = _source(wanted.source)
    if not source.sealed:
        raise Conflict("The source has not ended with a terminal event.", code="source_not_sealed")
    # Read outside the write: a sealed run changes no more, and reading it may take long.
    prefix = prefix_of(source, wanted.source)
    _check_prefix(source, wanted, prefix)
    boundary = _checked_boundary(wanted, prefix)
    return _acquire(session=source.session, wanted=wanted, boundary=boundary, checked=prefix.whole)


@write
def _acquire(
    *, session: Session, wanted: Wanted, boundary: dict[str, Any], checked: bool
) -> tuple[ContinuationClaim, bool]:
    # PostgreSQL: claims in one session wait for each other here.
    _not_deleted(Session.objects.select_for_update().get(key=session.key))
    claims = ContinuationClaim.objects.filter(boundary_digest=boundary["manifestDigest"])
    if (known := claims.first()) is not None:
        return known, False
    _refuse_taken(wanted)
    try:
        with transaction.atomic():
            return _claimed(wanted, boundary, checked=checked), True
    except IntegrityError:  # PostgreSQL: a claim in another session took one of the ids at this very moment
        _refuse_taken(wanted)
        raise


@write
def start_continuation(
    *, claim: ContinuationClaim, sent: Sent, actor: Actor
) -> tuple[ContinuationClaim, bool]:
    """Append the target's first event and write down that it was; whether it happened just now.

    The target's turn and run are opened where nobody has done so.

    Raises:
        Invalid: the event is no start, of another claim or boundary, or its provenance is unknown.
        Conflict: the claim was started by another event (``already_started``), or the event breaks a rule
            of the ledger, which the code names.
    """
    kind = _checked_start(claim, sent)
    claim_id(sent.event.id, "event.id")
    claim = ContinuationClaim.objects.select_for_update().get(pk=claim.pk)
    if claim.start_event_id not in (None, sent.event.id):
        raise Conflict(f"This claim was started by event {claim.start_event_id}.", code="already_started")
    turn, _ = open_turn(session_id=claim.target_session_id, turn_id=claim.target_turn_id, actor=actor)
    run, _ = open_run(
        turn=turn, run_id=claim.target_run_id, invocation_id=claim.target_invocation_id, actor=actor
    )
    run = Run.objects.select_related("session", "turn").get(key=run.key)
    (appended,) = append_events(
        run=run,
        events=[sent],
        actor=actor,
        expected_seq=0 if claim.start_event_id is None else None,
        writers=frozenset({Lane.CONTINUATION}),
    )
    if claim.start_event_id is None:
        claim.start_event_id, claim.start_kind = sent.event.id, kind
        claim.save(update_fields=["start_event_id", "start_kind"])
    return claim, appended.created


def _checked_start(claim: ContinuationClaim, sent: Sent) -> StartKind:
    start = sent.value.get("actions", {}).get("continuationStart")
    if sent.lane is not Lane.CONTINUATION or not isinstance(start, dict):
        raise Invalid("Send an event with actions.continuationStart.", field="event.actions")
    where = "event.actions.continuationStart"
    if start.get("claimId") != claim.claim_id:
        raise Invalid("This is the start of another claim.", field=f"{where}.claimId")
    if start.get("boundaryDigest", claim.boundary_digest) != claim.boundary_digest:
        raise Invalid("This is the start of another boundary.", field=f"{where}.boundaryDigest")
    kind = start.get("provenance", StartKind.RUNTIME_ADMISSION)
    if kind not in StartKind.values:
        raise Invalid(f"provenance must be {' or '.join(StartKind.values)}.", field=f"{where}.provenance")
    return StartKind(kind)


def _check_ids(wanted: Wanted) -> None:
    claim_id(wanted.claim_id, "claim_id")
    digest(wanted.prefix, "source_prefix_digest")
    digest(wanted.boundary_digest, "boundary_digest", required=False)
    digest(wanted.provider_replay_digest, "provider_replay_digest", required=False)
    for side, identity in (("source", wanted.source), ("target", wanted.target)):
        for name in ("invocation", "run", "turn"):
            claim_id(getattr(identity, name), f"{side}_{name}_id")
    if ids.session_id(wanted.source.session)[0] != ids.session_id(wanted.target.session)[0]:
        raise Invalid("A continuation stays in the session of its source.", field="target_session_id")
    for name in ("invocation", "run", "turn"):
        if getattr(wanted.source, name) == getattr(wanted.target, name):
            raise Invalid("A continuation has new ids.", field=f"target_{name}_id")


def _source(identity: Identity) -> Run:
    rows = Run.objects.select_related("session", "turn")
    stored_id = ids.session_id(identity.session)[0]
    run = rows.filter(session__id=stored_id, run_id=identity.run).first()
    if run is None:
        raise NotFound("There is no such source run.")
    _not_deleted(run.session)
    if (run.invocation_id, run.turn.turn_id) != (identity.invocation, identity.turn):
        raise Conflict("The source run has another invocation or turn.", code="run_identity_conflict")
    return run


def _not_deleted(session: Session) -> None:
    if session.deleted_at is not None:
        raise Conflict(f"Session {session.id} was deleted.", code="deleted_session")


def _check_prefix(source: Run, wanted: Wanted, prefix: Prefix) -> None:
    if not prefix.gapless:
        raise Conflict("The source has lost events; nobody can go on from its end.", code="prefix_mismatch")
    if wanted.high_water != source.last_seq:
        raise Conflict(
            f"The source's last event is {source.last_seq}, not {wanted.high_water}.",
            field="source_event_high_water",
            code="prefix_mismatch",
        )
    # What was masked is not what the claimer made its digest of; that cannot be judged here.
    if prefix.whole and prefix.digest != wanted.prefix:
        raise Conflict(
            f"The source's prefix has the digest {prefix.digest}.",
            field="source_prefix_digest",
            code="prefix_mismatch",
        )


def _checked_boundary(wanted: Wanted, prefix: Prefix) -> dict[str, Any]:
    own = boundary_of(
        wanted.source, last_seq=wanted.high_water, last_event_id=prefix.last_event_id, prefix=wanted.prefix
    )
    boundary = dict(wanted.boundary) or own
    made = boundary_digest(boundary)
    for told, name in (
        (wanted.boundary_digest, "boundary_digest"),
        (boundary.get("manifestDigest", made), "boundary.manifestDigest"),
    ):
        if told and told != made:
            raise Invalid(f"The boundary has the digest {made}.", field=name)
    segments = boundary.get("segments")
    if boundary.get("protocol") != BOUNDARY or not isinstance(segments, list) or not segments:
        raise Invalid(f"boundary must have the protocol {BOUNDARY} and segments.", field="boundary")
    if segments[-1] != own["segments"][0]:
        raise Invalid(
            f"The last segment of the boundary must be the source's end ({SEGMENT}).", field="boundary"
        )
    return {**boundary, "manifestDigest": made}


def _refuse_taken(wanted: Wanted) -> None:
    target = wanted.target
    session = ids.session_id(target.session)[0]
    taken = {
        "claim_id": Q(claim_id=wanted.claim_id),
        "target_invocation_id": Q(target_invocation_id=target.invocation),
        "target_run_id": Q(target_run_id=target.run),
        "target_turn_id": Q(target_session_id=session, target_turn_id=target.turn),
        "source_event_high_water": Q(
            source_session_id=session,
            source_run_id=wanted.source.run,
            source_event_high_water=wanted.high_water,
        ),
    }
    for name, condition in taken.items():
        other = ContinuationClaim.objects.filter(condition).first()
        if other is not None:
            _conflict(other, name)
    runs = Run.objects.filter(
        Q(invocation_id=target.invocation) | Q(session__id=session, run_id=target.run), last_seq__gt=0
    )
    if runs.exists():
        raise Conflict("The target holds events already.", field="target_run_id", code="target_not_empty")


def _conflict(other: ContinuationClaim, name: str) -> NoReturn:
    raise Conflict(
        f"Claim {other.claim_id} has this {name.replace('_', ' ')}.", field=name, code="claim_conflict"
    )


def _claimed(wanted: Wanted, boundary: dict[str, Any], *, checked: bool) -> ContinuationClaim:
    header = dict(wanted.target_run_header)
    session = ids.session_id(wanted.source.session)[0]
    return ContinuationClaim.objects.create(
        claim_id=wanted.claim_id,
        source_session_id=session,
        source_invocation_id=wanted.source.invocation,
        source_run_id=wanted.source.run,
        source_turn_id=wanted.source.turn,
        source_event_high_water=wanted.high_water,
        source_prefix_digest=wanted.prefix,
        prefix_checked=checked,
        boundary_digest=boundary["manifestDigest"],
        boundary_json=canonical(boundary),
        provider_replay_digest=wanted.provider_replay_digest,
        target_session_id=session,
        target_invocation_id=wanted.target.invocation,
        target_run_id=wanted.target.run,
        target_turn_id=wanted.target.turn,
        target_run_header=masked_payload(header, canonical(header).encode())[1],
        claimed_us=clock.now_us(),
    )
