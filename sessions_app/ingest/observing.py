"""From the bytes of a delivery to an Observation: decoded, recognised, masked, compressed."""

import re
import zlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import msgspec

from contextdash.cleaning import clean, cut_and_tell, one_line
from contextdash.clock import parse_us
from contextdash.decoding import decode_json
from contextdash.errors import Malformed, NotFound
from contextdash.ids import child_session_id, digest16, session_id
from contextdash.limits import HOOK_TEXT_BYTES, NAME_CHARS, SAME_BYTES_SECONDS
from contextdash.redaction import mask
from sessions_app.ingest import claude_code, codex, copilot, cursor, gemini, generic, opencode
from sessions_app.ingest.observation import Delivery, Observation
from sessions_app.ingest.reading import Ids, encode

CLIENTS: dict[str, ModuleType] = {
    "claude-code": claude_code,
    "codex": codex,
    "copilot": copilot,
    "cursor": cursor,
    "gemini": gemini,
    "opencode": opencode,
}
"""One module per client: ``event_name(body)``, ``ids(body)``, ``own_id(body, name)``, ``read(seen, body)``.

Only ``read`` sees the masked body; the others name and recognise what was sent.
"""

BELIEVED_AGE_US = 30 * 86_400 * 1_000_000
"""How old a spooled delivery may be; an older time is a wrong clock."""

_CLIENT = re.compile(r"[a-z0-9._-]{1,40}")
_SAME_BYTES_US = SAME_BYTES_SECONDS * 1_000_000
_decode = msgspec.json.Decoder().decode


def known_client(client: str) -> str:
    """The client's name where it can be one.

    Raises:
        NotFound: it cannot.
    """
    if not _CLIENT.fullmatch(client):
        raise NotFound("A client's name is 1 to 40 of a-z, 0-9, dot, underscore and hyphen.")
    return client


def delivery_of(facts: Mapping[str, object], *, received_us: int, owner_id: int | None) -> Delivery:
    """What the hook client tells besides the body: delivery_id, captured_at, host, root, remote, branch."""

    def fact(name: str) -> str:
        value = facts.get(name)
        return mask(clean(value)) if isinstance(value, str) and value else ""

    return Delivery(
        received_us=received_us,
        captured_us=parse_us(facts.get("captured_at")),
        delivery_id=fact("delivery_id"),
        host=one_line(fact("host"), 255),
        root=fact("root"),
        remote=fact("remote"),
        branch=one_line(fact("branch"), 255),
        owner_id=owner_id,
    )


def observe(raw: bytes, *, client: str, delivery: Delivery, event: str = "") -> Observation:
    """What one body means. ``event`` is the name in the address, for clients that tell it nowhere else.

    Raises:
        Malformed: the body cannot be read, is no object, or names no event.
    """
    sent = decode_json(raw)
    if not isinstance(sent, dict):
        raise Malformed("The body must be a JSON object.")
    reader: Any = CLIENTS.get(client, generic)
    name = one_line(reader.event_name(sent) or clean(event), NAME_CHARS)
    if not name:
        raise Malformed("The body names no event (hook_event_name), nor does the address.")
    seen = Observation(client=client, name=name, delivery=delivery)
    _name_session(seen, reader.ids(sent))
    canonical = encode(sent)
    _recognise(seen, reader.own_id(sent, name), canonical)
    plain, shown = masked_payload(sent, canonical)
    reader.read(seen, shown)
    seen.payload_size = len(plain)
    seen.payload = zlib.compress(plain, 1)
    _date(seen)
    return seen


def _name_session(seen: Observation, ids: Ids) -> None:
    if not ids.session.strip():
        return
    seen.root_id, external_id = session_id(ids.session)
    if external_id:
        seen.external_id = mask(external_id)
    seen.agent_id = ids.agent[:NAME_CHARS]
    seen.session_id = child_session_id(seen.root_id, seen.agent_id) if seen.agent_id else seen.root_id
    seen.turn_id = _short_id(ids.turn)
    seen.call_id = _short_id(ids.call)
    if ids.parent.strip():
        seen.parent_id = session_id(ids.parent)[0]


def _short_id(raw: str) -> str:
    """An id as long as its column; a longer one by its digest."""
    return raw if len(raw) <= NAME_CHARS else "x" + digest16(raw.encode()).hex()


def _recognise(seen: Observation, own_id: str, canonical: bytes) -> None:
    """Identity and content, of what was sent and before anything is masked or cut."""
    seen.content = digest16(canonical)
    client, session, name = seen.client.encode(), seen.root_id.encode(), seen.name.encode()
    if own_id:
        seen.identity = digest16(b"id", client, session, name, seen.agent_id.encode(), own_id.encode())
    elif seen.delivery.delivery_id:
        seen.identity = digest16(b"delivery", client, seen.delivery.delivery_id.encode())
    else:
        slot = seen.delivery.received_us // _SAME_BYTES_US
        seen.identity = digest16(b"bytes", client, name, seen.content, b"%d" % slot)
        seen.earlier_identity = digest16(b"bytes", client, name, seen.content, b"%d" % (slot - 1))


def masked_payload(sent: dict[str, Any], canonical: bytes) -> tuple[bytes, dict[str, Any]]:
    """The payload as stored, and its value: masked, with over-long texts cut."""
    plain = mask(canonical.decode()).encode()
    shown = sent
    if plain != canonical:
        try:
            shown = _decode(plain)
        except msgspec.DecodeError:  # a mark fell across a border of the JSON: mask each text by itself
            shown = each_text(sent, mask)
            plain = encode(shown)
    if len(plain) > HOOK_TEXT_BYTES:
        shown = each_text(shown, _cut)
        plain = encode(shown)
    return plain, shown


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """The value with every text in it, keys too, changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [each_text(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): each_text(item, change) for key, item in value.items()}
    return value


def _cut(long: str) -> str:
    return cut_and_tell(long, HOOK_TEXT_BYTES) if len(long) > HOOK_TEXT_BYTES // 4 else long


def _date(seen: Observation) -> None:
    received = seen.delivery.received_us
    captured = seen.clock_us if seen.delivery.captured_us is None else seen.delivery.captured_us
    seen.occurred_us = seen.at_us = received
    if captured is not None:
        seen.occurred_us = captured
        if received - BELIEVED_AGE_US <= captured <= received:
            seen.at_us = captured
