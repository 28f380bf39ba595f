"""What is done to several sessions at once: to all of them or to none."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from contextdash.actor import Actor
from contextdash.errors import Stale
from contextdash.writer import write
from sessions_app.models import Session
from sessions_app.services.ending import delete_session
from sessions_app.services.sessions import change_session


@dataclass(frozen=True, slots=True)
class Seen:
    """A session, and the version of its metadata that the caller has seen."""

    session: Session
    version: int


@write
def archive_sessions(
    *, seen: Sequence[Seen], archived: bool, actor: Actor, reason: str = ""
) -> Sequence[Session]:
    """Put sessions into the archive, or take them out; one that is there already is left as it is.

    Raises:
        Stale: one is at another version by now; nothing is done then.
    """
    done: list[Session] = []
    for one in seen:
        session = one.session
        if archived != (session.archived_at is not None):
            with _named(session):
                session = change_session(
                    session=session,
                    values={"archived": archived},
                    actor=actor,
                    reason=reason,
                    expected_version=one.version,
                )
        done.append(session)
    return done


@write
def delete_sessions(*, seen: Sequence[Seen], actor: Actor, reason: str) -> Sequence[Session]:
    """Hide sessions with their subagents; one that is deleted already keeps its first time.

    Raises:
        Invalid: no reason.
        Stale: one is at another version by now; nothing is done then.
    """
    done: list[Session] = []
    for one in seen:
        one.session.refresh_from_db(fields=["deleted_at", "metadata_version"])  # perhaps with its parent
        with _named(one.session):
            done.append(
                delete_session(session=one.session, actor=actor, reason=reason, expected_version=one.version)
            )
    return done


@contextmanager
def _named(session: Session) -> Iterator[None]:
    """A refusal that says which of the sessions it is about."""
    try:
        yield
    except Stale as stale:
        raise Stale(f"{session.id}: {stale.detail}", field="sessions") from stale
