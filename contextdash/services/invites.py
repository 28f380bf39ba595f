"""Letting people in: somebody new, or a link for somebody who is known."""

from contextdash.actor import Actor
from contextdash.errors import Conflict
from contextdash.models import SigninLink, User
from contextdash.services.signin import INVITE_LIFETIME, make_link
from contextdash.services.users import create_user, owners_only
from contextdash.writer import write


@write
def invite(*, username: str, role: str, actor: Actor) -> tuple[User, str]:
    """A new person, and the secret of the link that signs them in: once, within INVITE_LIFETIME.

    Raises:
        Forbidden, Invalid, Conflict: as ``users.create_user``.
    """
    user = create_user(username=username, role=role, actor=actor)
    return user, make_link(user=user, actor=actor, lifetime=INVITE_LIFETIME)[1]


@write
def link_for(*, user: User, actor: Actor) -> str:
    """The secret of a link for somebody who is known; it takes the place of those that they have not used.

    Raises:
        Forbidden: the actor is no owner.
        Conflict: the person is not active.
    """
    owners_only(actor)
    if not user.is_active:
        raise Conflict(f"{user} is not active. Reactivate them first.", code="inactive")
    SigninLink.objects.filter(user=user, used_at=None).delete()
    return make_link(user=user, actor=actor, lifetime=INVITE_LIFETIME)[1]
