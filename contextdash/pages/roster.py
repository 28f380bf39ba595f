"""Who is in the team: with role, when they were last seen, and the tokens of their programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from contextdash import clock
from contextdash.errors import NotFound
from contextdash.models import SigninLink, Token, User
from contextdash.models.user import Role
from sessions_app.queries.seen import last_looks

LISTED = 500
TOKENS = 100


@dataclass(frozen=True, slots=True)
class Member:
    user: User
    tokens: int
    """How many work."""
    last_seen: datetime | None
    """They signed in or looked at sessions; None when they never came."""
    invited: bool
    """A link waits for them, and they have never signed in."""


def members() -> Sequence[Member]:
    """Active ones first, by name."""
    live = Count("tokens", filter=Q(tokens__revoked_at=None))
    rows = User.objects.annotate(live_tokens=live).order_by("-is_active", "username")[:LISTED]
    looks = last_looks()
    waiting = set(_usable_links().values_list("user_id", flat=True))
    return [
        Member(
            user=user,
            tokens=user.live_tokens,
            last_seen=_later(user.last_login, looks.get(user.pk)),
            invited=user.last_login is None and user.pk in waiting,
        )
        for user in rows
    ]


def person_of_number(pk: int) -> User:
    """
    Raises:
        NotFound: there is nobody.
    """
    found = User.objects.filter(pk=pk).first() if pk < 2**63 else None
    if found is None:
        raise NotFound("There is no such person.")
    return found


def is_last_owner(user: User) -> bool:
    """Nobody else manages, so the role and the person must stay."""
    if not (user.is_owner and user.is_active):
        return False
    return not User.objects.filter(role=Role.OWNER, is_active=True).exclude(pk=user.pk).exists()


def live_tokens(user: User) -> Sequence[Token]:
    return list(Token.objects.filter(owner=user, revoked_at=None)[:TOKENS])


def waiting_link(user: User) -> SigninLink | None:
    """The newest link of theirs that still works."""
    return _usable_links().filter(user=user).order_by("-expires_at").first()


def last_seen(user: User) -> datetime | None:
    return _later(user.last_login, last_looks().get(user.pk))


def _usable_links() -> QuerySet[SigninLink]:
    return SigninLink.objects.filter(used_at=None, expires_at__gt=clock.now())


def _later(signed_in: datetime | None, looked_us: int | None) -> datetime | None:
    moments = [signed_in, None if looked_us is None else clock.from_us(looked_us)]
    return max((moment for moment in moments if moment is not None), default=None)
