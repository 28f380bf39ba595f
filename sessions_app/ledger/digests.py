"""The digests that ledger clients name their streams, prefixes and boundaries by."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sessions_app.ledger.canonical import canonical

SEGMENT = "runtime_prefix_segment_v1"
BOUNDARY = "runtime_boundary_cursor_v1"
_PREFIX = b"maka.runtime-prefix.v1"
_MANIFEST = b"maka.runtime-boundary-manifest.v1"


@dataclass(frozen=True, slots=True)
class Identity:
    """The four names of a run in its client's words."""

    session: str
    invocation: str
    run: str
    turn: str

    def as_dict(self) -> dict[str, str]:
        return {
            "invocationId": self.invocation,
            "runId": self.run,
            "sessionId": self.session,
            "turnId": self.turn,
        }


def prefix_digest(identity: Identity, events: Iterable[tuple[int, str]]) -> str:
    """``sha256:…`` of a run up to an event: its names, then each event's seq and canonical text, in order."""
    made = hashlib.sha256(_measured(_PREFIX) + _measured(canonical(identity.as_dict()).encode()))
    for seq, text in events:
        made.update(seq.to_bytes(8, "big"))
        made.update(_measured(text.encode()))
    return f"sha256:{made.hexdigest()}"


def boundary_digest(boundary: Mapping[str, Any]) -> str:
    """``sha256:…`` of the manifest that says where a continuation begins: its protocol and its segments."""
    manifest = {"protocol": boundary.get("protocol"), "segments": boundary.get("segments")}
    made = hashlib.sha256(_measured(_MANIFEST) + _measured(canonical(manifest).encode()))
    return f"sha256:{made.hexdigest()}"


def boundary_of(identity: Identity, *, last_seq: int, last_event_id: str, prefix: str) -> dict[str, Any]:
    """The manifest of a boundary that is the end of one run."""
    segment = {
        "identity": identity.as_dict(),
        "position": {"eventCount": last_seq, "lastEventId": last_event_id, "lastEventSeq": last_seq},
        "prefixDigest": prefix,
        "protocol": SEGMENT,
    }
    made: dict[str, Any] = {"protocol": BOUNDARY, "segments": [segment]}
    return {"manifestDigest": boundary_digest(made), **made}


def stream_name(envelope: Mapping[str, Any]) -> str:
    """What an event's stream is called within its run: ``text:provider:…``, ``thinking:provider:…``,
    ``tool:call:…``; empty where it belongs to none.
    """
    content, refs = envelope.get("content"), envelope.get("refs")
    if not isinstance(refs, dict):
        return ""
    kind = content.get("kind") if isinstance(content, dict) else None
    provider = refs.get("providerEventId")
    if kind in ("text", "thinking"):
        return f"{kind}:provider:{provider}" if isinstance(provider, str) and provider else ""
    call = refs.get("toolCallId")
    if kind in (None, "function_response") and isinstance(call, str) and call:
        return f"tool:call:{call}"
    return ""


def stream_key(envelope: Mapping[str, Any]) -> str:
    """The 64 hex digits that name an event's stream everywhere; empty where it belongs to none."""
    name = stream_name(envelope)
    if not name:
        return ""
    ids = [envelope.get(field) for field in ("sessionId", "invocationId", "runId", "turnId")]
    parts = [name, *ids, envelope.get("branch"), envelope.get("role"), envelope.get("author")]
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def _measured(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big") + part
