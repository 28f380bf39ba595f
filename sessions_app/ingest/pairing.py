"""Turns and calls of clients that give them no ids in their hooks, though they do in their transcripts.

What is alike in one session (the same prompt; the same tool, asked for the same) is paired in order: the
first that hooks told is the first that the transcript tells. A row is renamed to the transcript's id when it
tells of it, so that whatever names it by that id finds it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from django.db.models import Q

from contextdash.ids import digest16
from sessions_app.ingest.observation import Observation
from sessions_app.ingest.rows import SessionRow
from sessions_app.models import Counterpart
from sessions_app.vocabulary import EventKind, Source

if TYPE_CHECKING:
    from sessions_app.ingest.state import State

CLIENTS = frozenset({"gemini", "copilot"})
RESULTS = frozenset({EventKind.TOOL_END, EventKind.TOOL_FAILED, EventKind.TOOL_DENIED})
PROMPT_US = 120 * 1_000_000
"""How far apart two sources may date one prompt."""
CALL_BEFORE_US = 600 * 1_000_000
CALL_AFTER_US = 10 * 1_000_000
"""How long before the transcript's time, and after the end that it tells, a hook may date a call's begin."""
ANSWERED_US = 24 * 3600 * 1_000_000
"""How long a call may have waited for a person before it ran."""


class Pairings:
    """The counterparts of what a batch tells."""

    def __init__(self, batch: Iterable[Observation], sessions: Mapping[str, SessionRow]) -> None:
        self._known: defaultdict[tuple[int, bytes], list[Counterpart]] = defaultdict(list)
        self._told_calls: dict[tuple[int, str], Counterpart] = {}
        paired = [seen for seen in batch if _is_paired(seen)]
        wanted: defaultdict[int, list[Observation]] = defaultdict(list)
        for seen in paired:
            if (row := sessions.get(seen.session_id)) is not None:
                wanted[row.key].append(seen)
        for session, told in wanted.items():
            alike = Q(about__in={_about(seen) for seen in told})
            named = Q(row_id__in={seen.call_id for seen in told if seen.call_id and seen.kind in RESULTS})
            for one in Counterpart.objects.filter(alike | named, session_id=session).order_by("key"):
                self._add(one)
        self._changed: dict[int, Counterpart] = {}

    def ids(self, noun: str) -> Iterable[tuple[int, str]]:
        """The turns or calls that may be meant: key of the session, id of the row."""
        for (session, _), found in self._known.items():
            yield from ((session, one.row_id) for one in found if one.noun == noun)

    def resolve(self, state: "State", session: SessionRow, seen: Observation) -> None:
        """Give the observation the id of the row that it tells of, or the row the observation's id."""
        if not _is_paired(seen):
            return
        known = self._known[session.key, _about(seen)]
        if seen.source == Source.TRANSCRIPT:
            self._told(state, session, seen, known)
        else:
            self._hooked(session, seen, known)

    def write_back(self) -> None:
        fresh = [one for one in self._changed.values() if one.key is None]
        stored = [one for one in self._changed.values() if one.key is not None]
        if fresh:
            Counterpart.objects.bulk_create(fresh)
        if stored:
            Counterpart.objects.bulk_update(stored, ["row_id", "at_us", "until_us", "told", "began", "ended"])

    def _told(
        self, state: "State", session: SessionRow, seen: Observation, known: Sequence[Counterpart]
    ) -> None:
        own_id = seen.call_id or seen.turn_id
        if seen.kind in RESULTS:
            self._answered(session, seen)
            return
        one = next((one for one in known if not one.told and _may_be_told(one, seen)), None)
        if one is None:
            one = self._new(session, seen, own_id)
        else:
            _rename(state, session, one, own_id)
        one.told, one.at_us = True, seen.at_us
        self._told_calls[session.key, own_id] = one
        self._change(one)

    def _answered(self, session: SessionRow, seen: Observation) -> None:
        """The transcript tells how a call ended, which it told of before."""
        one = self._told_calls.get((session.key, seen.call_id))
        if one is not None:
            one.until_us = max(one.at_us, seen.at_us)
            self._change(one)

    def _hooked(self, session: SessionRow, seen: Observation, known: Sequence[Counterpart]) -> None:
        one: Counterpart | None
        if seen.kind in RESULTS:
            open_ = [one for one in known if not one.ended]
            one = next((one for one in open_ if one.began), open_[0] if open_ else None)
        else:
            fits = (one for one in known if not one.told or _may_be_hooked(one, seen))
            one = next((one for one in fits if not one.began), None)
        if one is None:
            one = self._new(session, seen, _minted(seen))
        if seen.kind in RESULTS:
            one.ended = True
        else:
            one.began = True
        if one.noun == Counterpart.TURN:
            seen.turn_id = one.row_id
        else:
            seen.call_id = one.row_id
        self._change(one)

    def _new(self, session: SessionRow, seen: Observation, row_id: str) -> Counterpart:
        noun = Counterpart.TURN if seen.kind == EventKind.PROMPT else Counterpart.CALL
        one = Counterpart(
            session_id=session.key, noun=noun, about=_about(seen), row_id=row_id, at_us=seen.at_us
        )
        self._add(one)
        return one

    def _add(self, one: Counterpart) -> None:
        self._known[one.session_id, bytes(one.about)].append(one)
        if one.told:
            self._told_calls[one.session_id, one.row_id] = one

    def _change(self, one: Counterpart) -> None:
        self._changed[id(one)] = one


def _is_paired(seen: Observation) -> bool:
    named = seen.source in (Source.HOOK, Source.TRANSCRIPT) and seen.client in CLIENTS
    return named and (seen.kind in RESULTS or seen.kind in (EventKind.PROMPT, EventKind.TOOL_START))


def _about(seen: Observation) -> bytes:
    """What pieces of one turn or call have in common, whoever tells of them."""
    if seen.kind == EventKind.PROMPT:
        return digest16(b"prompt", seen.prompt.strip().encode("utf-8", "replace"))
    return digest16(b"call", seen.tool.encode(), seen.summary.encode(), b"%d" % seen.input_size)


def _minted(seen: Observation) -> str:
    if seen.kind == EventKind.PROMPT:
        return digest16(b"turn", seen.identity).hex()
    return seen.identity.hex()


def _may_be_told(one: Counterpart, seen: Observation) -> bool:
    """Whether what hooks told may be what the transcript tells now."""
    if one.noun == Counterpart.TURN:
        return abs(one.at_us - seen.at_us) <= PROMPT_US
    return -CALL_BEFORE_US <= one.at_us - seen.at_us <= ANSWERED_US


def _may_be_hooked(one: Counterpart, seen: Observation) -> bool:
    """Whether what the transcript told may be what a hook tells now."""
    if one.noun == Counterpart.TURN:
        return abs(one.at_us - seen.at_us) <= PROMPT_US
    until_us = one.at_us + ANSWERED_US if one.until_us is None else one.until_us + CALL_AFTER_US
    return one.at_us - CALL_BEFORE_US <= seen.at_us <= until_us


def _rename(state: "State", session: SessionRow, one: Counterpart, own_id: str) -> None:
    before, one.row_id = one.row_id, own_id
    if one.noun == Counterpart.TURN:
        state.rename_turn(session, before, own_id)
    else:
        state.rename_call(session, before, own_id)
