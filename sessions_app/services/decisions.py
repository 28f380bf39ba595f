"""Decisions: logged, superseded, found to contradict each other, settled."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid
from contextdash.fields import text, word
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import Decision, Project, Session
from sessions_app.services.belonging import moment, own_name, owning_project_id, owning_session
from sessions_app.services.sessions import touch
from sessions_app.vocabulary import DecisionStatus

STATUS_CHARS = 20
CHAIN_LENGTH = 1000
"""The longest chain of superseded decisions that is followed."""


@write
def log_decision(
    *,
    topic: str,
    choice: str,
    rationale: str = "",
    agent_name: str = "orchestrator",
    actor: Actor,
    session: Session | str | None = None,
    project: Project | None = None,
    supersedes: int | None = None,
    status: str | None = None,
    at: datetime | None = None,
) -> Decision:
    """Write a decision down; with ``supersedes`` the named one steps back behind it.

    Without a name (``agent_name`` empty) it is the session's agent's, else the actor's.

    Whether it contradicts others on its topic is for a person to say
    (``queries.decisions.possible_conflicts`` offers them).

    Raises:
        Invalid: topic or choice is empty, a limit is passed, the superseded decision is unknown.
        Conflict: the session was deleted, or the named decision is already superseded.
    """
    owner = owning_session(session, actor=actor)
    made = Decision.objects.create(
        session=owner,
        project_id=owning_project_id(project, owner),
        topic=word(topic, "topic"),
        choice=text(choice, "choice"),
        rationale=text(rationale, "rationale", required=False),
        agent_name=word(agent_name or own_name(owner, actor), "agent_name"),
        status=word(status or DecisionStatus.STANDS, "status", chars=STATUS_CHARS),
        ts=moment(at),
    )
    if supersedes is not None:
        earlier = _decision(supersedes, "supersedes")
        if earlier.superseded_by_id is not None:
            raise Conflict(
                f"D-{earlier.pk} is already superseded by D-{earlier.superseded_by_id}. Name that one."
            )
        supersede(earlier=earlier, later=made, actor=actor, reason=f"D-{made.pk} took its place.")
    if owner is not None:
        touch(owner, decision_count=1)
    return made


@write
def change_decision(
    *,
    decision: Decision,
    values: Mapping[str, object],
    actor: Actor,
    reason: str = "",
    expected_version: int | None = None,
) -> Decision:
    """Set fields of a decision: topic, choice, rationale, agent_name, status, superseded_by (an id or None).

    Status and chain agree: naming a successor makes it superseded, any other status forgets the successor.

    Raises:
        Invalid: another field is named, a value is not acceptable, the chain would become a ring.
        Stale: somebody changed it in the meantime.
    """
    before = decision.version
    change_row(
        decision,
        values=_checked(decision, values),
        actor=actor,
        reason=reason,
        expected_version=expected_version,
    )
    if decision.version != before and decision.session is not None:
        touch(decision.session)
    return decision


@write
def supersede(*, earlier: Decision, later: Decision, actor: Actor, reason: str = "") -> Decision:
    """The later decision takes the place of the earlier."""
    return change_decision(decision=earlier, values={"superseded_by": later.pk}, actor=actor, reason=reason)


@write
def mark_conflict(*, decisions: Iterable[Decision], actor: Actor, reason: str = "") -> None:
    """These contradict each other; a person settles it."""
    for decision in decisions:
        change_decision(
            decision=decision, values={"status": DecisionStatus.CONFLICT}, actor=actor, reason=reason
        )


@write
def settle_conflict(
    *, decisions: Iterable[Decision], keep: Decision | None, actor: Actor, reason: str
) -> None:
    """Keep one, and the others are superseded by it; or, with ``keep=None``, all of them stand.

    Raises:
        Invalid: there is no reason.
    """
    reason = text(reason, "reason")
    for decision in {decision.pk: decision for decision in decisions}.values():
        if keep is None or decision.pk == keep.pk:
            values: dict[str, object] = {"status": DecisionStatus.STANDS}
        else:
            values = {"superseded_by": keep.pk}
        change_decision(decision=decision, values=values, actor=actor, reason=reason)


def _checked(decision: Decision, values: Mapping[str, object]) -> dict[str, object]:
    checked: dict[str, object] = {}
    for name, value in values.items():
        told = "" if value is None else str(value)
        if name in ("topic", "agent_name"):
            checked[name] = word(told, name)
        elif name == "choice":
            checked[name] = text(told, name)
        elif name == "rationale":
            checked[name] = text(told, name, required=False)
        elif name == "status":
            checked[name] = word(told, name, chars=STATUS_CHARS)
        elif name == "superseded_by":
            checked[name] = None if value is None else _successor(decision, value)
        else:
            raise Invalid(f"{name} of a decision cannot be changed.", field=name)
    if checked.get("superseded_by") is not None:
        checked["status"] = DecisionStatus.SUPERSEDED
    elif checked.get("status", decision.status) != DecisionStatus.SUPERSEDED:
        checked["superseded_by"] = None
    return checked


def _successor(decision: Decision, value: object) -> Decision:
    """The successor, when following it never leads back here."""
    later = _decision(value, "superseded_by")
    step: Decision | None = later
    for _ in range(CHAIN_LENGTH):
        if step is None:
            return later
        if step.pk == decision.pk:
            raise Invalid(
                "A decision cannot be superseded by itself or by what it superseded.", field="superseded_by"
            )
        step = step.superseded_by
    raise Invalid("This chain of decisions is too long.", field="superseded_by")


def _decision(value: object, field: str) -> Decision:
    found = None
    if isinstance(value, int) and 0 < value < 2**63:
        found = Decision.objects.filter(pk=value).first()
    if found is None:
        raise Invalid(f"{field}: there is no decision {value}.", field=field)
    return found
