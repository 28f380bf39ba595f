"""Documents of extensions: made, read, swapped and deleted by extension, kind, key and scope."""

import re
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Conflict, Invalid, NotFound, Stale
from contextdash.fields import word
from contextdash.limits import AGGREGATE_BYTES, AGGREGATE_INDEX_BYTES, AGGREGATE_KEY_CHARS, SCOPE_CHARS
from contextdash.writer import write
from sessions_app.models import Aggregate, Iteration, Run, Session, SessionState
from sessions_app.services.documents import document

GLOBAL = "global"
_SCOPE = re.compile(
    r"session:(?P<session>.+)|state:(?P<state>.+)/(?P<version>\d{1,9})|run:(?P<run>\d{1,18})"
    r"|iteration:(?P<iteration>\d{1,18})(?:/block:(?P<block>.+))?",
    re.DOTALL | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a document is. ``scope`` is global, ``session:id``, ``state:id/version``, ``run:7``,
    ``iteration:9`` or ``iteration:9/block:2``."""

    extension: str
    kind: str
    key: str
    scope: str = GLOBAL


@write
def put_aggregate(
    *,
    address: Address,
    content: Any,
    index_data: Any = None,
    actor: Actor,
    expected_version: int | None = None,
    must_be_new: bool = False,
) -> tuple[Aggregate, bool]:
    """The document as it is told, and whether it was made just now.

    One that is there already is changed only at ``expected_version``: who writes must have read it. The same
    content again is accepted and nothing is written, at whatever version.

    Raises:
        Conflict: it is there already (``must_be_new``), or its session was deleted.
        Invalid: an address or a scope is not acceptable.
        Stale: it is at another version, or not there, or no version was told.
        TooLarge: the content is longer than AGGREGATE_BYTES, or its index than AGGREGATE_INDEX_BYTES.
    """
    place = checked(address)
    body = document(content, "content", most=AGGREGATE_BYTES, name="AGGREGATE_BYTES")
    index = document(index_data, "index_data", most=AGGREGATE_INDEX_BYTES, name="AGGREGATE_INDEX_BYTES")
    found = _at(place).select_for_update().first()
    if found is None:
        if expected_version is not None:
            raise Stale("There is no such document any more. Leave out If-Match to make it.")
        return _made(place, body, index)
    same = (found.content, found.index_data) == (body, index)
    if must_be_new:
        if same:
            return found, False
        raise Conflict("There is such a document already.", code="exists", current=found.version)
    if same and expected_version in (None, found.version):
        return found, False
    if expected_version is None:
        raise Stale(
            "This changes a document: send If-Match with the version that you read.",
            field="If-Match",
            code="if_match_required",
            current=found.version,
        )
    if expected_version != found.version:
        raise Stale(
            f"Somebody changed this in the meantime. It is at version {found.version} now.",
            current=found.version,
        )
    found.content, found.index_data = body, index
    found.version, found.updated_us = found.version + 1, max(clock.now_us(), found.created_us)
    found.save(update_fields=["content", "index_data", "version", "updated_us"])
    return found, False


@write
def delete_aggregate(*, address: Address, actor: Actor, expected_version: int | None = None) -> None:
    """
    Raises:
        NotFound: there is none.
        Stale: it is at another version.
    """
    found = _at(checked(address)).select_for_update().first()
    if found is None:
        raise NotFound("There is no such document.")
    if expected_version not in (None, found.version):
        raise Stale(f"It is at version {found.version} now.", current=found.version)
    found.delete()


def checked(address: Address) -> Address:
    """The address as it is stored. Some clients write words with a leading colon: that is no part of a kind.

    Raises:
        Invalid: a part is empty, too long, or no scope that we know.
    """
    scope = word(address.scope or GLOBAL, "scope", chars=SCOPE_CHARS)
    if scope != GLOBAL and not _SCOPE.fullmatch(scope):
        raise Invalid(
            "scope must be global, session:id, state:id/version, run:number or iteration:number.",
            field="scope",
        )
    return Address(
        word(address.extension, "extension"),
        word(address.kind.lstrip(":"), "kind"),
        word(address.key, "key", chars=AGGREGATE_KEY_CHARS),
        scope,
    )


def find_aggregate(address: Address) -> Aggregate:
    """Raises NotFound for one that is not there."""
    found = _at(checked(address)).select_related("session").first()
    if found is None:
        raise NotFound("There is no such document.")
    return found


def _at(place: Address) -> QuerySet[Aggregate]:
    return Aggregate.objects.filter(
        extension=place.extension, kind=place.kind, aggregate_key=place.key, scope=place.scope
    )


def _made(place: Address, content: Any, index: Any) -> tuple[Aggregate, bool]:
    at_us = clock.now_us()
    try:
        with transaction.atomic():
            made = Aggregate.objects.create(
                extension=place.extension,
                kind=place.kind,
                aggregate_key=place.key,
                scope=place.scope,
                session=_session_of(place.scope),
                content=content,
                index_data=index,
                created_us=at_us,
                updated_us=at_us,
            )
    except IntegrityError:  # PostgreSQL: somebody else made it at this very moment
        raise Stale("Somebody else made this in the meantime. Read it and repeat the change.") from None
    return made, True


def _session_of(scope: str) -> Session | None:
    """The session that a scope lies in, which takes the document along when it goes.

    Raises:
        Invalid: there is no such session, version, run or model call.
        Conflict: the session was deleted.
    """
    found = _SCOPE.fullmatch(scope)
    if found is None:
        return None
    session: Session | None
    if found["session"] is not None:
        session = Session.objects.filter(id=found["session"]).first()
    elif found["state"] is not None:
        state = SessionState.objects.filter(session__id=found["state"], version=int(found["version"]))
        session = one.session if (one := state.select_related("session").first()) else None
    elif found["run"] is not None:
        run = Run.objects.filter(key=int(found["run"])).select_related("session").first()
        session = run.session if run else None
    else:
        call = Iteration.objects.filter(key=int(found["iteration"])).select_related("session").first()
        session = call.session if call else None
    if session is None:
        raise Invalid(f"There is no {scope.partition(':')[0]} of {scope}.", field="scope")
    if session.deleted_at is not None:
        raise Conflict(f"Session {session.id} was deleted; its id is not used again.", code="deleted_session")
    return session
