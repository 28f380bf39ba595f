"""Signing in: by a link that works once, or by a password where one is set."""

import hashlib
import secrets
import threading
from collections import defaultdict
from datetime import timedelta
from time import monotonic

from django.contrib.auth import authenticate

from contextdash import clock
from contextdash.actor import Actor
from contextdash.errors import Refused
from contextdash.models import SigninLink, User
from contextdash.services.changing import record
from contextdash.writer import write

LINK_LIFETIME = timedelta(minutes=15)
INVITE_LIFETIME = timedelta(days=2)
"""Of a link that an owner makes for somebody else, who may read it tomorrow."""
TRIES = 5
"""Wrong passwords for one name before it must wait."""
TRIES_SECONDS = 600.0
TRIES_NAMES = 1000


class SigninRefused(Refused):
    status = 403
    code = "signin_refused"


class TooManyTries(Refused):
    status = 429
    code = "too_many_tries"


@write
def make_link(*, user: User, actor: Actor, lifetime: timedelta = LINK_LIFETIME) -> tuple[SigninLink, str]:
    """A link and its secret, which is shown once and kept nowhere. Links that nobody used are forgotten."""
    now = clock.now()
    SigninLink.objects.filter(expires_at__lt=now, used_at=None).delete()
    secret = secrets.token_urlsafe(32)
    link = SigninLink.objects.create(
        user=user, digest=_digest(secret), created_at=now, expires_at=now + lifetime
    )
    record(noun="users", row_id=user.pk, field="signin_link", old=None, new="made", actor=actor)
    return link, secret


@write
def use_link(*, secret: str) -> User:
    """The person whom the link signs in. Of two who use it at once one is let in.

    Raises:
        SigninRefused: unknown, used, too old, or the person is not active any more.
    """
    now = clock.now()
    links = SigninLink.objects.filter(digest=_digest(secret), expires_at__gt=now).select_related("user")
    link = links.first()
    # Without a join: only the conditions on the row itself are looked at again by who waited for its lock.
    used = link is not None and SigninLink.objects.filter(pk=link.pk, used_at=None).update(used_at=now)
    if link is None or not used or not link.user.is_active:
        raise SigninRefused(
            "This link does not sign anyone in (any more): each works once and for a limited time. "
            "Ask an owner for another, or make one where the server runs: contextdash signin-link"
        )
    return link.user


def check_password(*, username: str, password: str) -> User:
    """The person of that name and password.

    Raises:
        SigninRefused: name and password do not belong together.
        TooManyTries: wrong too often; not even the right one is looked at.
    """
    name = username.casefold()[:150]
    if _failures.left(name) == 0:
        raise TooManyTries("Too many wrong passwords. Wait ten minutes, or ask for a link.")
    user = authenticate(username=username, password=password)
    if not isinstance(user, User):
        _failures.add(name)
        left = _failures.left(name)
        tries = "one try is" if left == 1 else f"{left or 'no'} tries are"
        raise SigninRefused(f"That name and password do not match; {tries} left in the next ten minutes.")
    _failures.forget(name)
    return user


class _Failures:
    """Wrong passwords by name, in this process: one process serves a database."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = defaultdict(list)
        self._lock = threading.Lock()

    def left(self, name: str) -> int:
        since = monotonic() - TRIES_SECONDS
        with self._lock:
            recent = [at for at in self._times.get(name, ()) if at > since]
        return max(0, TRIES - len(recent))

    def add(self, name: str) -> None:
        now = monotonic()
        with self._lock:
            if len(self._times) >= TRIES_NAMES:
                self._times.clear()  # a guesser of names fills it; each name keeps its own slow hash
            self._times[name] = [*self._times[name], now][-TRIES:]

    def forget(self, name: str) -> None:
        with self._lock:
            self._times.pop(name, None)


_failures = _Failures()


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
