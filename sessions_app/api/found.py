"""Which session an address means, for this caller."""

from contextdash.actor import Actor
from contextdash.apikit import may
from contextdash.errors import NotFound
from contextdash.models.token import Scope
from sessions_app.models import Session
from sessions_app.queries.sessions_api import any_session, find_session


def readable(actor: Actor, reference: str) -> Session:
    """As ``find_session``; owners with scope admin also read a deleted session, by its whole id.

    Its events and runs stay until somebody erases them: hiding it does not keep it from who answers for it.

    Raises:
        NotFound: there is none for this caller.
        Conflict: several ids begin so.
    """
    try:
        return find_session(reference)
    except NotFound:
        if not may(actor, Scope.ADMIN):
            raise
        return any_session(reference)
