"""What a reader of transcripts gathers before it is stored: observations, model calls, facts."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from contextdash.cleaning import clean, cut_and_tell
from contextdash.ids import child_session_id, digest16, session_id
from contextdash.limits import HOOK_TEXT_BYTES, NAME_CHARS
from contextdash.redaction import mask
from sessions_app.ingest.files import FileSeen, files_of
from sessions_app.ingest.observation import Delivery, Observation
from sessions_app.ingest.observing import masked_payload
from sessions_app.ingest.reading import encode
from sessions_app.pricing import Usage
from sessions_app.vocabulary import Source


@dataclass(slots=True)
class IterationSeen:
    """One model call as far as its records tell; merged with what is known of it. Times in µs, UTC."""

    identity: bytes
    session_id: str
    root_id: str
    agent_id: str
    at_us: int
    ended_us: int
    turn_id: str = ""
    response_id: str = ""
    request_id: str = ""
    provider: str = ""
    model: str = ""
    speed: str = ""
    stop_reason: str = ""
    thinking: str = ""
    prose: str = ""
    call_ids: list[str] = field(default_factory=list)
    usage: Usage | None = None
    assumed: str = ""
    told_micro: int | None = None
    """What the client reckons that it cost, in micro-dollars."""
    source: str = Source.TRANSCRIPT
    duration_us: int | None = None
    purpose: str = ""
    """What the client made the call for, where it tells."""
    whole: bool = False
    """The record tells the call as it is now: it takes the place of what was known, text for text."""

    def merge(self, other: "IterationSeen") -> None:
        """Take in another record of the same call: the usage with the most output holds, texts add up."""
        self.at_us, self.ended_us = min(self.at_us, other.at_us), max(self.ended_us, other.ended_us)
        if other.usage is not None and (
            other.whole or self.usage is None or other.usage.output > self.usage.output
        ):
            self.usage, self.assumed = other.usage, other.assumed
            self.model, self.speed = other.model or self.model, other.speed or self.speed
        self.stop_reason = other.stop_reason or self.stop_reason
        self.request_id = self.request_id or other.request_id
        self.thinking = joined(self.thinking, other.thinking, whole=other.whole)
        self.prose = joined(self.prose, other.prose, whole=other.whole)
        self.told_micro = self.told_micro if other.told_micro is None else other.told_micro
        self.whole = self.whole or other.whole
        self.call_ids += [one for one in other.call_ids if one not in self.call_ids]
        # Telemetry tells of one call in several records; one of them names the subagent, another the turn.
        if other.agent_id and not self.agent_id:
            self.agent_id, self.session_id = other.agent_id, other.session_id
        self.turn_id, self.purpose = self.turn_id or other.turn_id, self.purpose or other.purpose
        self.duration_us = longer(self.duration_us, other.duration_us)


def longer(one: int | None, other: int | None) -> int | None:
    return max((took for took in (one, other) if took is not None), default=None)


def joined(known: str, more: str, *, whole: bool = False) -> str:
    """Both texts; a text that is there already, or the beginning of the other, is not said twice.

    ``whole``: the second is all that there is to say.
    """
    if not more or (more in known and not whole):
        return known
    return more if whole or more.startswith(known) else f"{known}\n\n{more}"


@dataclass(slots=True)
class Gathered:
    """What is stored in one turn of the writer."""

    observations: list[Observation] = field(default_factory=list)
    iterations: dict[bytes, IterationSeen] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.observations) + len(self.iterations)


@dataclass(frozen=True, slots=True)
class Whose:
    """The session that a record belongs to: the root's id, and the subagent's in it."""

    root_id: str
    session_id: str
    external_id: str = ""
    agent_id: str = ""
    agent_name: str = ""


def whose(raw_session: str, agent_id: str = "", agent_name: str = "") -> Whose:
    root_id, external_id = session_id(raw_session)
    agent_id = agent_id[:NAME_CHARS]
    own_id = child_session_id(root_id, agent_id) if agent_id else root_id
    return Whose(root_id, own_id, mask(external_id) if external_id else "", agent_id, agent_name)


class Gatherer:
    """Collects for one file; a reader of a client's records calls it."""

    def __init__(self, client: str, delivery: Delivery) -> None:
        self.client = client
        self.delivery = delivery
        self.gathered = Gathered()

    def take(self) -> Gathered:
        """What was gathered since the last time."""
        taken, self.gathered = self.gathered, Gathered()
        return taken

    def on_branch(self, branch: str) -> None:
        """What follows happens on this branch."""
        if branch != self.delivery.branch:
            self.delivery = replace(self.delivery, branch=mask(clean(branch))[:255])

    def observe(
        self,
        who: Whose,
        own_id: str,
        *,
        name: str,
        kind: str,
        at_us: int,
        body: Mapping[str, Any] | None = None,
        **told: Any,
    ) -> Observation:
        """An event. ``own_id`` makes it recognisable wherever it is copied to; ``body`` is kept with it."""
        payload = dict(body or {})
        canonical = encode(payload)
        plain, _ = masked_payload(payload, canonical)
        seen = Observation(
            client=self.client,
            name=name[:NAME_CHARS],
            delivery=self.delivery,
            source=Source.TRANSCRIPT,
            kind=kind,
            root_id=who.root_id,
            session_id=who.session_id,
            external_id=who.external_id,
            agent_id=who.agent_id,
            agent_name=told.pop("agent_name", who.agent_name),
            identity=digest16(b"transcript", self.client.encode(), own_id.encode("utf-8", "replace")),
            content=digest16(canonical),
            payload=zlib.compress(plain, 1),
            payload_size=len(plain),
            occurred_us=at_us,
            at_us=min(at_us, self.delivery.received_us),
            **told,
        )
        self.gathered.observations.append(seen)
        return seen

    def iterate(self, seen: IterationSeen) -> None:
        """A piece of a model call."""
        seen.at_us = min(seen.at_us, self.delivery.received_us)
        seen.ended_us = min(seen.ended_us, self.delivery.received_us)
        known = self.gathered.iterations.setdefault(seen.identity, seen)
        if known is not seen:
            known.merge(seen)


def touched(tool: str, given: Any) -> tuple[FileSeen, ...]:
    """The files of a call, their names as they are stored."""
    return tuple(FileSeen(shown(one.path), one.action) for one in files_of(tool, given))


def shown(text: str) -> str:
    """A text as it is stored: clean, masked, and cut where it is longer than a hook's may be."""
    text = mask(clean(text))
    return cut_and_tell(text, HOOK_TEXT_BYTES) if len(text) > HOOK_TEXT_BYTES // 4 else text
