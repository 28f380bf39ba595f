"""Identifiers: what a session may be called, and digests that make a delivery recognisable."""

import hashlib
import re
from uuid import uuid4

_SESSION_ID = re.compile(r"[A-Za-z0-9._:@-]{1,128}")
_HEX64 = re.compile(r"[0-9a-f]{64}")


def mint() -> str:
    """A new session id: a UUID v4 as 32 hex digits."""
    return uuid4().hex


def session_id(raw: str) -> tuple[str, str]:
    """(id as stored, external id): the second is the original where it could not be kept, else empty."""
    if _SESSION_ID.fullmatch(raw):
        return raw, ""
    return "x" + hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:31], raw


def child_session_id(parent_id: str, agent_id: str) -> str:
    """The id of a subagent's session, the same from every source that names both."""
    return hashlib.sha256(f"{parent_id}\0{agent_id}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def digest16(*parts: bytes) -> bytes:
    """A 16-byte digest of parts; the lengths are part of it, so that no two lists run into each other."""
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "big"))
        made.update(part)
    return made.digest()


def diff_key(raw: str | None) -> str:
    """A diff hash in the one form that matches (64 lower hex digits), or empty when it is not a hash."""
    text = (raw or "").strip().lower().removeprefix("sha256-").removeprefix("sha256:")
    return text if _HEX64.fullmatch(text) else ""


EMPTY_DIFF = hashlib.sha256(b"").hexdigest()
"""The hash of an empty diff, which no review can answer for."""
