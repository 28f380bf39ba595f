"""The versions of a session, and which turns a reader of one of them sees."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from contextdash.errors import NotFound
from sessions_app.models import CopiedUsage, ModelPreference, Session, SessionState, Turn, WarmSession

FORKS = 100
"""The most forks of a session that one answer lists."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a session comes from, its versions, and what stands beside it."""

    states: Sequence[SessionState]
    """By version; each with ``turn_total``."""
    forked_from: Session | None
    forks: Sequence[Session]
    copied: CopiedUsage | None
    preference: ModelPreference | None
    warm: WarmSession | None
    first_turn_us: int | None


def lineage(session: Session) -> Lineage:
    states = (
        SessionState.objects.filter(session=session)
        .select_related("place", "parent")
        .annotate(turn_total=Count("turns"))
        .order_by("version")
    )
    turns = Turn.objects.filter(session=session).order_by("number")
    return Lineage(
        states=list(states),
        forked_from=Session.objects.filter(key=session.forked_from_id or 0, deleted_at=None).first(),
        forks=list(
            Session.objects.filter(forked_from=session.key, deleted_at=None).order_by("started_us", "key")[
                :FORKS
            ]
        ),
        copied=CopiedUsage.objects.filter(session=session).first(),
        preference=ModelPreference.objects.filter(session=session).first(),
        warm=WarmSession.objects.filter(session=session).first(),
        first_turn_us=turns.values_list("started_us", flat=True).first(),
    )


def title_of(session: Session, states: Sequence[SessionState], state: SessionState) -> str:
    """A version's title: the newest has the session's."""
    return session.title if state.version == states[-1].version else state.title


def chain_of(states: Sequence[SessionState], version: int | None = None) -> list[SessionState]:
    """The version (the newest unless named) with its ancestors, the oldest first.

    A chain that runs in a circle, as a damaged import may have it, ends where it would begin again.

    Raises:
        NotFound: there is no such version.
    """
    by_version = {state.version: state for state in states}
    found = by_version.get(max(by_version) if version is None else version)
    if found is None:
        raise NotFound("This session has no such version.")
    by_key = {state.key: state for state in states}
    chain, seen = [found], {found.key}
    while (above := by_key.get(chain[-1].parent_id or 0)) is not None and above.key not in seen:
        chain.append(above)
        seen.add(above.key)
    return chain[::-1]


def turns_of(chain: Sequence[SessionState]) -> list[Turn]:
    """The turns of a chain in its order: by version, within one as they were asked."""
    place = {state.key: number for number, state in enumerate(chain)}
    found = Turn.objects.filter(state__in=list(place)).order_by("number")
    return sorted(found, key=lambda turn: (place[turn.state_id], turn.number))


def copied_usage(session: Session) -> CopiedUsage | None:
    """Of the model calls that it has as copies; None where it has none."""
    return CopiedUsage.objects.filter(session=session).first()


def warm_sessions(client: str = "") -> list[Session]:
    """Those that may be claimed, oldest first, at most FORKS."""
    rows = Session.objects.filter(warm__claimed_us=None, turn_count=0, deleted_at=None).exclude(warm=None)
    if client:
        rows = rows.filter(client=client)
    found = rows.select_related("project", "owner", "parent").prefetch_related("labels")
    return list(found.order_by("warm__created_us", "key")[:FORKS])
