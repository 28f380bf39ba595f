"""``store_part``: what was gathered of a file becomes rows, together with how far the file is read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Min

from contextdash import clock
from contextdash.cleaning import one_line
from contextdash.ids import session_id
from sessions_app.importers.gathering import Gathered
from sessions_app.importers.iterations import store_iterations
from sessions_app.ingest import store as ingest
from sessions_app.ingest.observation import Observation, Outcome
from sessions_app.models import Event, ImportSource, Quarantined, Session
from sessions_app.services.resting import RESTS_AFTER_US
from sessions_app.vocabulary import Activity, Source


@dataclass(slots=True)
class Part:
    """A piece of a file: what it told, the lines that could not be used, and the file's row."""

    gathered: Gathered
    source: ImportSource
    session_id: str = ""
    title: str = ""
    skipped: list[Quarantined] = field(default_factory=list)
    anew: bool = False
    """The file is read from its beginning again: what was skipped before is skipped now."""


def store_parts(parts: Sequence[Part]) -> Sequence[int]:
    """Store parts in their order; how many events of each were new. Call it inside a write."""
    return [_store(part) for part in parts]


def _store(part: Part) -> int:
    observations = part.gathered.observations
    outcomes = ingest.store(observations) if observations else []
    if Outcome.DELETED_SESSION in outcomes:
        part.source.error = f"Session {part.session_id} was deleted; its id is not used again."
    accepted = sum(outcome == Outcome.ACCEPTED for outcome in outcomes)
    copied = [seen for seen, out in zip(observations, outcomes, strict=True) if out == Outcome.DUPLICATE]
    if part.source.state.get("forked_from") is None:
        if told := part.source.facts.get("forked_from"):
            _note_told_source(part, told)
        elif copied:
            _note_source(part, copied)
    if part.source.state.get("forked_from") and "own_us" not in part.source.state:
        fresh = [seen for seen, out in zip(observations, outcomes, strict=True) if out == Outcome.ACCEPTED]
        _settle_source(part, copied, fresh)
    store_iterations(part.gathered.iterations, observations)
    if part.session_id:
        _tell_session(part)
    part.source.imported_at = clock.now()
    part.source.save()
    if part.anew:
        Quarantined.objects.filter(import_source=part.source).delete()
    for row in part.skipped:
        row.import_source = part.source
    Quarantined.objects.bulk_create(part.skipped)
    return accepted


def _note_source(part: Part, copied: Iterable[Observation]) -> None:
    """Records that another session of another family had first: this one was forked from it."""
    identities = [seen.identity for seen in copied][:50]
    found = (
        Event.objects.filter(identity__in=identities)
        .exclude(session__id=part.session_id)
        .order_by("key")
        .values_list("session_id", "session__id", "session__parent_id")
        .first()
    )
    part.source.copied += len(identities) if found else 0
    if found is not None and found[2] is None:
        part.source.state["forked_from"] = found[0]
        part.source.facts["forked_from"] = found[1]


def _note_told_source(part: Part, told: str) -> None:
    """The client itself names the session that this one was forked from."""
    key = Session.objects.filter(id=session_id(told)[0]).values_list("key", flat=True).first()
    if key is not None:
        part.source.state |= {"forked_from": key, "own_us": 0}


def _settle_source(part: Part, copied: Sequence[Observation], fresh: Sequence[Observation]) -> None:
    """Which of two that begin alike is the other's source, once both went on: the one that did so first.

    The fork may have been imported before its source. What they share stays with it; only the link is turned.
    """
    state = part.source.state
    state["shared_us"] = max([state.get("shared_us", 0), *(seen.at_us for seen in copied)])
    own_us = min((seen.at_us for seen in fresh if seen.at_us > state["shared_us"]), default=None)
    if own_us is None:
        return
    state["own_us"] = own_us
    other = state["forked_from"]
    later = Event.objects.filter(
        session_id=other, source=Source.TRANSCRIPT, occurred_us__gt=state["shared_us"]
    )
    theirs_us = later.aggregate(first=Min("occurred_us"))["first"]
    own = Session.objects.filter(id=part.session_id, parent=None).first()
    if own is None or theirs_us is None or theirs_us <= own_us:
        return
    Session.objects.filter(key=own.key, forked_from=other).update(forked_from=None)
    Session.objects.filter(key=other, forked_from=None).update(forked_from=own.key)
    state["forked_from"] = 0
    part.source.facts.pop("forked_from", None)


def _tell_session(part: Part) -> None:
    needed = (
        *("parent_id", "forked_from_id", "title", "user_request"),
        *("activity", "activity_since_us", "last_us"),
    )
    session = Session.objects.filter(id=part.session_id, deleted_at=None).only(*needed).first()
    if session is None:
        return
    changed: list[str] = []
    forked_from = part.source.state.get("forked_from")
    own_session = session.parent_id is None and forked_from != session.key
    if forked_from and own_session and session.forked_from_id is None:
        session.forked_from_id = forked_from
        changed.append("forked_from")
    given = part.source.facts.get("title_given", "")
    own = one_line(session.user_request or "", 200)
    # A title that a person gave stays.
    if part.title and session.title != part.title and session.title in ("", own, given):
        session.title = part.title
        changed.append("title")
    if part.title:
        part.source.facts["title_given"] = part.title
    over = session.activity == Activity.ENDED and session.activity_since_us == 0
    if over and session.last_us > clock.now_us() - RESTS_AFTER_US:
        # It was taken for ended, and goes on.
        session.activity, session.ended_at = Activity.IDLE, None
        changed += ["activity", "ended_at"]
    if changed:
        session.save(update_fields=changed)
