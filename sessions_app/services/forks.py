"""A session goes on in a new version: the chain of its states. What was said before stays part of it."""

import re

from django.db.models import F

from contextdash import clock
from contextdash.actor import Actor
from contextdash.cleaning import clean, one_line
from contextdash.errors import Conflict, Invalid
from contextdash.fields import text, word
from contextdash.limits import TITLE_CHARS
from contextdash.redaction import mask
from contextdash.services.changing import change_row
from contextdash.writer import write
from sessions_app.models import Session, SessionState, Workspace

_FORK = re.compile(r"(?P<title>.*?) \(fork(?: (?P<number>\d{1,6}))?\)", re.DOTALL)


@write
def fork_session(
    *,
    session: Session,
    actor: Actor,
    title: str | None = None,
    system_prompt: str | None = None,
    provider: str | None = None,
    model: str | None = None,
    workspace: Workspace | None = None,
    parent_version: int | None = None,
    reason: str = "",
    expected_version: int | None = None,
) -> SessionState:
    """The session's next version, which later turns belong to. What is not told is the parent's.

    The parent is the newest version unless another is named. The version before keeps the title that it had;
    without one told, the session's becomes "… (fork)", then "… (fork 2)".

    Raises:
        Conflict: the session was deleted.
        Invalid: there is no such version, or a value is too long.
        Stale: the session is not at ``expected_version`` any more.
    """
    held = locked(session)
    states = {
        state.version: state for state in SessionState.objects.filter(session=held).select_related("place")
    }
    newest = states[max(states)]
    parent = states.get(newest.version if parent_version is None else parent_version)
    if parent is None:
        raise Invalid(f"This session has no version {parent_version}.", field="parent_version")
    before = held.title if parent is newest else parent.title
    wanted = forked_title(before) if title is None else one_line(mask(clean(title)), TITLE_CHARS)
    SessionState.objects.filter(key=newest.key).update(title=held.title)
    made = SessionState.objects.create(
        session=held,
        version=newest.version + 1,
        parent=parent,
        created_us=clock.now_us(),
        system_prompt=parent.system_prompt
        if system_prompt is None
        else text(system_prompt, "system_prompt", required=False),
        provider=parent.provider
        if provider is None
        else word(provider, "provider", chars=100, required=False),
        model=parent.model if model is None else word(model, "model", required=False),
        place=workspace or parent.place or held.place,
    )
    moved: dict[str, object] = {"title": wanted}
    if workspace is not None:
        moved |= {"place": workspace, "workspace": workspace.root}
    change_row(
        held,
        values=moved,
        actor=actor,
        reason=reason,
        expected_version=expected_version,
        version_field="metadata_version",
        unrecorded=frozenset({"place"}),
        elsewhere={"version": (newest.version, made.version)},
    )
    Session.objects.filter(key=held.key).update(ordinal=F("ordinal") + 1)
    return made


def forked_title(title: str) -> str:
    """What a fork of something with this title is called; without a title it has none either."""
    if not title:
        return ""
    found = _FORK.fullmatch(title)
    base, mark = (found["title"], f" (fork {int(found['number'] or 1) + 1})") if found else (title, " (fork)")
    return one_line(base, TITLE_CHARS - len(mark)) + mark


def locked(session: Session) -> Session:
    """The session as it is now; others wait until this transaction ends.

    Raises:
        Conflict: it was deleted.
    """
    held = Session.objects.select_for_update(of=("self",)).select_related("place").get(key=session.key)
    if held.deleted_at is not None:
        raise Conflict(f"Session {held.id} was deleted; its id is not used again.", code="deleted_session")
    return held
