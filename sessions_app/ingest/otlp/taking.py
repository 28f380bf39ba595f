"""What is gathered of one request before it is stored: events, and what else each of them tells."""

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextdash.clock import parse_us
from contextdash.ids import digest16
from contextdash.limits import NAME_CHARS, OTLP_UNKNOWN_BYTES, OTLP_UNKNOWN_RECORDS
from sessions_app.importers.gathering import IterationSeen, Whose
from sessions_app.ingest.observation import Delivery, Observation
from sessions_app.ingest.observing import masked_payload
from sessions_app.ingest.reading import encode
from sessions_app.services.hook_buckets import Counts
from sessions_app.vocabulary import Source

PRIVATE = frozenset(
    {
        "user.id",
        "user.email",
        "user.account_uuid",
        "user.account_id",
        "organization.id",
        "enduser.id",
    }
)
"""Attributes that say who a person is: nothing here needs them, so they are not kept."""

_NOT_NAME = re.compile(r"[^a-z0-9._-]+")
_OLDEST_US = parse_us("2020-01-01T00:00:00Z") or 0


@dataclass(frozen=True, slots=True)
class CodeSeen:
    """A number that goes into the counts of its session."""

    column: str
    number: int


@dataclass(frozen=True, slots=True)
class Piece:
    """One event and what is stored with it, if it is new."""

    observation: Observation
    label: str
    """What it is counted as; empty for what goes with another."""
    iteration: IterationSeen | None = None
    code: CodeSeen | None = None


class Taker:
    """Collects for one request."""

    def __init__(self, delivery: Delivery) -> None:
        self.delivery = delivery
        self.pieces: list[Piece] = []
        self.counts = Counts()
        self.refused: list[str] = []
        """Why records were not taken, one text for each."""
        self._unknown = 0

    def take(
        self,
        seen: Observation,
        label: str,
        *,
        iteration: IterationSeen | None = None,
        code: CodeSeen | None = None,
    ) -> None:
        """An event is complete. ``label`` is one of a few: what is sent must not make rows without end."""
        self.pieces.append(Piece(seen, label, iteration, code))

    def count(self, service: str, name: str, field: str = "accepted") -> None:
        """For the Hooks page: a record of which nothing is stored."""
        client = f"{client_of(service)[:30]} telemetry"
        self.counts.add(self.delivery.received_us, client, name, field)

    def refuse(self, service: str, name: str, why: str) -> None:
        self.count(service, name, "refused")
        self.refused.append(why)

    def at_us(self, nanos: int) -> int:
        """A record's time as far as it can be believed."""
        us = nanos // 1000
        received_us = self.delivery.received_us
        return min(us, received_us) if us >= _OLDEST_US else received_us

    def observe(
        self,
        who: Whose,
        service: str,
        own_id: tuple[str, ...],
        *,
        name: str,
        kind: str,
        at_us: int,
        body: Mapping[str, Any],
        **told: Any,
    ) -> Observation:
        """An event; ``own_id`` makes it recognisable when it is sent again.

        ``body`` is kept with it, as ``shown_attributes`` made it.
        """
        seen = Observation(client=client_of(service), name=name[:NAME_CHARS], delivery=self.delivery)
        seen.source, seen.kind = Source.OTLP, kind
        seen.root_id, seen.session_id, seen.external_id = who.root_id, who.session_id, who.external_id
        seen.agent_id, seen.agent_name = who.agent_id, who.agent_name
        seen.identity = digest16(b"otlp", *(part.encode("utf-8", "replace") for part in own_id))
        plain = encode(body)
        seen.content = digest16(plain)
        seen.payload_size, seen.payload = len(plain), zlib.compress(plain, 1)
        seen.occurred_us = seen.at_us = at_us
        for field_name, value in told.items():
            setattr(seen, field_name, value)
        return seen

    def may_keep_unknown(self, body: Mapping[str, Any]) -> bool:
        """Whether a record that nobody knows is stored: small ones, and not too many of a request."""
        if self._unknown >= OTLP_UNKNOWN_RECORDS or len(encode(body)) > OTLP_UNKNOWN_BYTES:
            return False
        self._unknown += 1
        return True


def shown_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as they may be stored and shown: masked, without what says who a person is."""
    kept = {name: value for name, value in attributes.items() if name not in PRIVATE}
    return masked_payload(kept, encode(kept))[1]


def client_of(service: str) -> str:
    """The name of a client, made of the name of its service."""
    return _NOT_NAME.sub("-", service.lower()[:200]).strip("-")[:40] or "otlp"
