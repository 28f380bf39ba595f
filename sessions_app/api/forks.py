"""Versions and copies of sessions, further attempts at turns, warm sessions, and the model to go on with."""

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema, Status

from contextdash import clock
from contextdash.apikit import Body, Key, PatchBody, all_listed, allow, if_match, once
from contextdash.errors import Invalid
from contextdash.models.token import Scope
from sessions_app.api.ledger_outs import RunOut, run_out
from sessions_app.api.outs import SessionList, SessionOut, session_out
from sessions_app.models import ModelPreference, Run, RunDetail, Session, SessionState, WarmSession
from sessions_app.queries import chains, run_details, sessions_api
from sessions_app.queries import ledger_replay as replay
from sessions_app.services.copies import fork_through
from sessions_app.services.forks import fork_session
from sessions_app.services.retries import retry_turn
from sessions_app.services.run_details import tell_run
from sessions_app.services.warm import claim_session, prefer_model, warm_up

router = Router(tags=["forks"])


class ForkIn(Body):
    title: str | None = None
    system_prompt: str | None = None
    provider: str | None = None
    model: str | None = None
    workspace_id: Key | None = None
    parent_version: int | None = None
    session_id: str | None = None
    """Of the copy, with ``through_turn``."""
    reason: str = ""


class RetryIn(Body):
    provider: str = ""
    model: str = ""


class PreferenceIn(Body):
    provider: str = ""
    model: str = ""
    reason: str = ""


class PreferenceOut(Schema):
    provider: str
    model: str


class CopiedOut(Schema):
    requests: int
    unpriced: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_micro: int | None


class StateOut(Schema):
    version: int
    parent_version: int | None
    title: str
    system_prompt: str
    provider: str
    model: str
    workspace_id: int | None
    turns: int
    created_at: str


class LineageOut(Schema):
    """Versions of a session, what it was copied from and into, and what stands beside it."""

    session_id: str
    metadata_version: int
    versions: list[StateOut]
    chain: list[int]
    """Versions whose turns make up the newest one, the oldest first."""
    forked_from: str | None
    forks: list[str]
    copied: CopiedOut | None
    """Tokens and cost of copied model calls, which are counted in ``forked_from`` alone."""
    preferred_model: PreferenceOut | None
    warm: bool
    claimed_at: str | None


class DetailPatch(PatchBody):
    provider: str = ""
    model: str = ""
    prior_outcome: str = ""
    content: list[Any] | None = None
    ctx: Any = None
    error: Any = None


class DetailOut(Schema):
    run_id: int
    version: int
    retried_from: int | None
    provider: str
    model: str
    prior_outcome: str
    content: list[Any]
    ctx: Any
    error: Any


@router.post(
    "sessions/{session_id}/fork",
    response={201: LineageOut},
    summary="Fork a session: its next version, or a copy up to a turn",
)
def fork(
    request: HttpRequest, session_id: str, payload: ForkIn | None = None, through_turn: Key | None = None
) -> Status[Any]:
    """With ``through_turn`` (a turn's id) a new session with the turns up to it; else the next version."""
    actor = allow(request, Scope.WRITE)
    wanted = payload or ForkIn()
    session = sessions_api.find_session(session_id)
    if through_turn is None:
        if wanted.session_id is not None:
            raise Invalid("session_id names a copy: send through_turn as well.", field="session_id")

        def version() -> SessionState:
            place = wanted.workspace_id
            return fork_session(
                session=session,
                title=wanted.title,
                system_prompt=wanted.system_prompt,
                provider=wanted.provider,
                model=wanted.model,
                workspace=None if place is None else sessions_api.workspace(place),
                parent_version=wanted.parent_version,
                reason=wanted.reason,
                expected_version=if_match(request),
                actor=actor,
            )

        once(request, actor, SessionState, version)
        return Status(201, lineage_out(sessions_api.find_session(session.id)))
    told = payload.model_dump(exclude_unset=True).keys() if payload else set()
    if unknown := told - {"title", "session_id", "reason"}:
        raise Invalid(
            "A copy begins as its last turn was; it takes title and session_id.", field=min(unknown)
        )

    def copy() -> Session:
        return fork_through(
            session=session,
            turn_key=through_turn,
            title=wanted.title,
            session_id=wanted.session_id,
            actor=actor,
        )

    return Status(201, lineage_out(once(request, actor, Session, copy)))


@router.get(
    "sessions/{session_id}/versions",
    response=LineageOut,
    summary="Versions of a session and where it comes from",
)
def versions(request: HttpRequest, session_id: str) -> Any:
    allow(request, Scope.READ)
    return lineage_out(sessions_api.find_session(session_id))


@router.post("turns/{turn_id}/retry", response={201: RunOut}, summary="Try a turn once more")
def retry(request: HttpRequest, turn_id: int, payload: RetryIn | None = None) -> Status[Any]:
    """A further run; later model calls and events of the turn belong to it."""
    actor = allow(request, Scope.WRITE)
    wanted = payload or RetryIn()
    turn = sessions_api.turn(turn_id)
    run = once(request, actor, Run, lambda: retry_turn(turn=turn, actor=actor, **wanted.model_dump()))
    return Status(201, run_out(run))


@router.get("runs/{run_id}/details", response=DetailOut, summary="What its writer told of a run")
def details(request: HttpRequest, run_id: int, private: bool = False) -> Any:
    """``private=true`` shows private reasoning to who owns the session, and to owners with scope admin."""
    actor = allow(request, Scope.READ)
    run = replay.run_of(run_id)
    if private:
        run_details.permit_private(actor, run.session)
    return _detail_out(run, run_details.detail_of(run), private=private)


@router.patch("runs/{run_id}/details", response=DetailOut, summary="Tell more of a run")
def patch_details(request: HttpRequest, run_id: int, payload: DetailPatch) -> Any:
    actor = allow(request, Scope.WRITE)
    run = replay.run_of(run_id)
    told = tell_run(
        run=run,
        values=payload.values(),
        reason=payload.reason,
        expected_version=if_match(request),
        actor=actor,
    )
    return _detail_out(replay.run_of(run_id), told, private=False)


@router.put(
    "sessions/{session_id}/preferred-model",
    response=LineageOut,
    summary="The model that a session goes on with",
)
def put_preference(request: HttpRequest, session_id: str, payload: PreferenceIn) -> Any:
    """It holds for every version. An empty model clears both."""
    actor = allow(request, Scope.WRITE)
    session = sessions_api.find_session(session_id)
    prefer_model(
        session=session,
        provider=payload.provider,
        model=payload.model,
        reason=payload.reason,
        expected_version=if_match(request),
        actor=actor,
    )
    return lineage_out(sessions_api.find_session(session.id))


@router.put("sessions/{session_id}/warm", response=LineageOut, summary="Keep a new session for later")
def put_warm(request: HttpRequest, session_id: str) -> Any:
    """It shows in no list until somebody claims it or its first turn begins."""
    actor = allow(request, Scope.WRITE)
    session = sessions_api.find_session(session_id)
    warm_up(session=session, actor=actor)
    return lineage_out(sessions_api.find_session(session.id))


@router.post("sessions/{session_id}/claim", response=SessionOut, summary="Take a warm session")
def claim(request: HttpRequest, session_id: str) -> Any:
    """Exclusive: whoever comes second is told 409 ``already_claimed``."""
    actor = allow(request, Scope.WRITE)
    session = sessions_api.find_session(session_id)
    return session_out(once(request, actor, Session, lambda: claim_session(session=session, actor=actor)))


@router.get(
    "warm-sessions", response=SessionList, summary="Warm sessions that nobody has claimed, oldest first"
)
def warm_sessions(request: HttpRequest, client: str = "") -> Any:
    allow(request, Scope.READ)
    return all_listed(chains.warm_sessions(client), session_out)


def lineage_out(session: Session) -> dict[str, Any]:
    told = chains.lineage(session)
    return {
        "session_id": session.id,
        "metadata_version": session.metadata_version,
        "versions": [_state_out(session, told, state) for state in told.states],
        "chain": [state.version for state in chains.chain_of(told.states)],
        "forked_from": told.forked_from.id if told.forked_from else None,
        "forks": [one.id for one in told.forks],
        "copied": _copied_out(told),
        "preferred_model": _preference_out(told.preference),
        "warm": told.warm is not None and _claimed_us(told.warm, told.first_turn_us) is None,
        "claimed_at": _time(_claimed_us(told.warm, told.first_turn_us)) if told.warm else None,
    }


def _claimed_us(warm: WarmSession, first_turn_us: int | None) -> int | None:
    return warm.claimed_us if warm.claimed_us is not None else first_turn_us


def _state_out(session: Session, told: chains.Lineage, state: SessionState) -> dict[str, Any]:
    return {
        "version": state.version,
        "parent_version": state.parent.version if state.parent else None,
        "title": chains.title_of(session, told.states, state),
        "system_prompt": state.system_prompt,
        "provider": state.provider,
        "model": state.model,
        "workspace_id": state.place_id,
        "turns": state.turn_total,  # type: ignore[attr-defined]  # annotated by the query
        "created_at": clock.iso(clock.from_us(state.created_us)),
    }


def _copied_out(told: chains.Lineage) -> dict[str, Any] | None:
    row = told.copied
    if row is None:
        return None
    return {
        "requests": row.iteration_count,
        "unpriced": row.unpriced_count,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cache_read_tokens": row.cache_read_tokens,
        "cache_write_tokens": row.cache_write_tokens,
        "cost_micro": row.cost_micro,
    }


def _preference_out(row: ModelPreference | None) -> dict[str, Any] | None:
    return None if row is None else {"provider": row.provider, "model": row.model}


def _detail_out(run: Run, row: RunDetail, *, private: bool) -> dict[str, Any]:
    return {
        "run_id": run.key,
        "version": run.version,
        "retried_from": row.retried_from_id,
        "provider": row.provider,
        "model": row.model,
        "prior_outcome": row.prior_outcome,
        "content": row.content if private else run_details.shown(row.content),
        "ctx": row.ctx,
        "error": row.error,
    }


def _time(us: int | None) -> str | None:
    return None if us is None else clock.iso(clock.from_us(us))
