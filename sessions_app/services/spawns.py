"""Subagents of ledger clients: who first claims a place under a parent decides whose child it is."""

from dataclasses import asdict, dataclass

from django.db import IntegrityError, transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest

from contextdash import clock, ids
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid
from contextdash.fields import optional_text, word
from contextdash.writer import write
from sessions_app.models import Run, Session, SubagentSpawn, Tombstone, Turn
from sessions_app.queries.session import is_within
from sessions_app.services.claim_ids import claim_id
from sessions_app.services.ledger import open_run, open_turn
from sessions_app.services.sessions import named_session
from sessions_app.services.spawn_calls import link_call


@dataclass(frozen=True, slots=True)
class Place:
    """Where under a parent a subagent is claimed; the parts that do not apply are empty."""

    parent_session_id: str
    parent_run_id: str = ""
    tool_call_id: str = ""
    swarm_id: str = ""
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The child that a claimer would make; it is ignored where the place is taken."""

    child_session_id: str
    initial_turn_id: str
    initial_run_id: str
    initial_invocation_id: str = ""
    agent_name: str = ""
    prompt: str | None = None


@write
def claim_spawn(
    *, place: Place, fingerprint: str, proposal: Proposal, actor: Actor
) -> tuple[SubagentSpawn, bool]:
    """The spawn of a place, and whether it was made just now with its session, turn and run.

    Raises:
        Invalid: an id is none, or the child would be its own ancestor.
        Conflict: the place holds different work (``different_work``), its child or the parent was deleted
            (``deleted_session``), or the proposed child is another's (``child_taken``).
    """
    place = _checked_place(place)
    claim_id(fingerprint, "request_fingerprint")
    found = SubagentSpawn.objects.filter(**asdict(place)).first()
    if found is not None:
        return _same_work(found, fingerprint), False
    proposal = _checked_proposal(proposal)
    parent = named_session(session_id=place.parent_session_id, actor=actor)
    try:
        with transaction.atomic():
            return _claimed(parent, place, fingerprint, proposal, actor), True
    except IntegrityError:  # PostgreSQL: another claim came at this very moment
        found = SubagentSpawn.objects.filter(**asdict(place)).first()
        if found is None:
            raise Conflict("The proposed child is another's already.", code="child_taken") from None
        return _same_work(found, fingerprint), False


def _claimed(
    parent: Session, place: Place, fingerprint: str, proposal: Proposal, actor: Actor
) -> SubagentSpawn:
    spawn = SubagentSpawn.objects.create(
        **asdict(place),
        request_fingerprint=fingerprint,
        child_session_id=proposal.child_session_id,
        initial_turn_id=proposal.initial_turn_id,
        initial_run_id=proposal.initial_run_id,
        claimed_us=clock.now_us(),
    )
    child = named_session(
        session_id=proposal.child_session_id, actor=actor, agent_name=proposal.agent_name or "subagent"
    )
    _become_child(child, parent, proposal)
    _open_run(child, proposal, actor)
    if place.tool_call_id:
        link_call(parent, place.tool_call_id, child)
    return spawn


def _become_child(child: Session, parent: Session, proposal: Proposal) -> None:
    if child.parent_id == parent.key:
        return
    if child.parent_id is not None:
        raise Conflict("The proposed child is another session's already.", code="child_taken")
    # Who has no subagents is nobody's ancestor.
    if child.key == parent.key or (child.child_count and is_within(parent.key, child.key)):
        raise Invalid("A session cannot be its own ancestor.", field="child_session_id")
    at_us = clock.now_us()
    inherited = {
        name: getattr(child, name) or getattr(parent, name)
        for name in ("project_id", "place_id", "host", "workspace", "branch", "client")
    }
    root_key = parent.family_root_id or parent.key
    Session.objects.filter(family_root=child).update(family_root=root_key)
    Session.objects.filter(key=child.key).update(
        parent=parent,
        family_root=root_key,
        ordinal=F("ordinal") + 1,
        started_only=False,
        **inherited,
    )
    child.refresh_from_db()
    Session.objects.filter(key=parent.key).update(
        child_count=F("child_count") + 1,
        ordinal=F("ordinal") + 1,
        last_us=Greatest(F("last_us"), Value(at_us)),
        started_only=False,
    )


def _open_run(child: Session, proposal: Proposal, actor: Actor) -> None:
    """The turn and run that the child begins with; what is known of them already stays."""
    if Run.objects.filter(session=child, run_id=proposal.initial_run_id).exists():
        return
    turn = Turn.objects.filter(session=child, turn_id=proposal.initial_turn_id).first()
    if turn is None:
        turn, _ = open_turn(
            session_id=child.id, turn_id=proposal.initial_turn_id, prompt=proposal.prompt, actor=actor
        )
    open_run(
        turn=turn,
        run_id=proposal.initial_run_id,
        invocation_id=proposal.initial_invocation_id or None,
        actor=actor,
    )


def _same_work(spawn: SubagentSpawn, fingerprint: str) -> SubagentSpawn:
    child = spawn.child_session_id
    hidden = Session.objects.filter(id=child).exclude(deleted_at=None)
    if Tombstone.objects.filter(session_id=child).exists() or hidden.exists():
        raise Conflict(f"Its child {child} was deleted; the place stays taken.", code="deleted_session")
    if spawn.request_fingerprint != fingerprint:
        raise Conflict(f"This place holds different work: {child}.", code="different_work")
    return spawn


def _checked_place(place: Place) -> Place:
    if not place.parent_session_id.strip():
        raise Invalid("parent_session_id must not be empty.", field="parent_session_id")
    parts = {
        name: claim_id(getattr(place, name), name, required=False)
        for name in ("parent_run_id", "tool_call_id", "swarm_id", "item_id")
    }
    return Place(ids.session_id(place.parent_session_id)[0], **parts)


def _checked_proposal(proposal: Proposal) -> Proposal:
    if not proposal.child_session_id.strip():
        raise Invalid("child_session_id must not be empty.", field="child_session_id")
    return Proposal(
        child_session_id=ids.session_id(proposal.child_session_id)[0],
        initial_turn_id=claim_id(proposal.initial_turn_id, "initial_turn_id"),
        initial_run_id=claim_id(proposal.initial_run_id, "initial_run_id"),
        initial_invocation_id=claim_id(
            proposal.initial_invocation_id, "initial_invocation_id", required=False
        ),
        agent_name=word(proposal.agent_name, "agent_name", required=False),
        prompt=optional_text(proposal.prompt, "prompt"),
    )
