"""Bearer tokens: made, recognised, revoked."""

import hashlib
import secrets
import threading
from datetime import timedelta
from time import monotonic

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Invalid
from contextdash.fields import word
from contextdash.models import Token, User
from contextdash.models.token import GRANTS
from contextdash.services.changing import record
from contextdash.writer import write

PREFIX = "cdt_"
CACHE_SECONDS = 5.0
"""How long a lookup is believed, and so the longest that a revoked token still works."""
CACHE_TOKENS = 1000
USED_EVERY = timedelta(minutes=1)

_cache: dict[bytes, tuple[float, Token | None]] = {}
_cache_lock = threading.Lock()


@write
def create_token(*, owner: User, name: str, scope: str, actor: Actor) -> tuple[Token, str]:
    """The token and its secret, which is shown once and kept nowhere."""
    if scope not in GRANTS:
        raise Invalid(f"scope must be one of {', '.join(GRANTS)}.", field="scope")
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token.objects.create(
        name=word(name, "name", chars=100),
        prefix=secret[:12],
        digest=_digest(secret),
        scope=scope,
        owner=owner,
        created_at=clock.now(),
    )
    record(noun="tokens", row_id=token.pk, field="created", old=None, new=scope, actor=actor)
    return token, secret


@write
def revoke_token(*, token: Token, actor: Actor, reason: str = "") -> Token:
    """Revoking twice keeps the first time."""
    if token.revoked_at is None:
        token.revoked_at = clock.now()
        token.save(update_fields=["revoked_at"])
        record(
            noun="tokens", row_id=token.pk, field="revoked", old=None, new="yes", actor=actor, reason=reason
        )
    forget_lookups()
    return token


def authenticate(secret: str) -> Token | None:
    """The live token of a secret, looked up at most every CACHE_SECONDS."""
    digest = _digest(secret)
    now = monotonic()
    known = _cache.get(digest)
    if known is not None and known[0] > now:
        return known[1]
    token = (
        Token.objects.select_related("owner")
        .filter(digest=digest, revoked_at=None, owner__is_active=True)
        .first()
    )
    with _cache_lock:
        if len(_cache) >= CACHE_TOKENS:
            _cache.clear()  # a guesser fills it; the next lookups are one SELECT each
        _cache[digest] = (now + CACHE_SECONDS, token)
    if token is not None:
        _mark_used(token)
    return token


def forget_lookups() -> None:
    with _cache_lock:
        _cache.clear()


def _mark_used(token: Token) -> None:
    now = clock.now()
    if token.last_used_at is None or now - token.last_used_at > USED_EVERY:
        token.last_used_at = now
        _save_used(token)


@write
def _save_used(token: Token) -> None:
    token.save(update_fields=["last_used_at"])


def _digest(secret: str) -> bytes:
    # A plain hash is enough: the secret has 256 random bits, so there is nothing to guess slowly.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
