"""People: made, given a role, a password, an end."""

import zoneinfo
from collections.abc import Mapping

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from contextdash.actor import SYSTEM, Actor
from contextdash.errors import Conflict, Forbidden, Invalid
from contextdash.fields import word
from contextdash.models import SigninLink, User
from contextdash.models.user import Role, Theme
from contextdash.services import tokens
from contextdash.services.changing import record
from contextdash.writer import write

FIRST_OWNER = "owner"
USERNAME_CHARS = 150


@write
def first_owner() -> User | None:
    """The owner whom the server's own link signs in, made on the first start.

    None once an owner has signed in: from then on owners let people in.
    """
    owners = User.objects.filter(role=Role.OWNER, is_active=True).order_by("pk")
    if owners.exclude(last_login=None).exists():
        return None
    return owners.first() or _create(FIRST_OWNER, Role.OWNER, SYSTEM)


@write
def create_user(*, username: str, role: str, actor: Actor) -> User:
    """A person without a password: a link signs them in (``services.signin.make_link``).

    Raises:
        Forbidden: the actor is no owner.
        Invalid: the name is empty, too long or has characters that a name may not have; no such role.
        Conflict: somebody has that name.
    """
    owners_only(actor)
    return _create(username, role, actor)


@write
def change_user(*, user: User, values: Mapping[str, object], actor: Actor, reason: str = "") -> User:
    """Set role, is_active, first_name, last_name or email of somebody.

    Django's own flags, which its admin reads, follow the role. Who is not active cannot sign in; their
    browser sessions, tokens and unused links work no longer.

    Raises:
        Forbidden: the actor is no owner.
        Invalid: another field is named, or a value is not acceptable.
        Conflict: nobody would be left who manages.
    """
    owners_only(actor)
    user.refresh_from_db()
    checked = _checked(values)
    differing = {name: value for name, value in checked.items() if getattr(user, name) != value}
    manages = user.is_owner and user.is_active
    if manages and (differing.get("role", Role.OWNER) != Role.OWNER or not differing.get("is_active", True)):
        _another_owner_than(user)
    for name, value in differing.items():
        _record(user, name, getattr(user, name), value, actor, reason)
        setattr(user, name, value)
    _follow_role(user)
    user.save(update_fields=[*differing, "is_staff", "is_superuser"])
    if not user.is_active:
        SigninLink.objects.filter(user=user, used_at=None).delete()
    tokens.forget_lookups()
    return user


@write
def change_profile(
    *, user: User, time_zone: str, theme: str, actor: Actor, display_name: str | None = None
) -> User:
    """What people set for themselves, viewers too; without ``display_name`` the name stays.

    Raises:
        Invalid: no such zone or theme.
    """
    if time_zone and time_zone not in zoneinfo.available_timezones():
        raise Invalid("time_zone must be a name such as Europe/Berlin, or empty.", field="time_zone")
    if theme not in Theme.values:
        raise Invalid(f"theme must be one of {', '.join(Theme.values)}.", field="theme")
    user.time_zone, user.theme = time_zone, theme
    if display_name is not None:
        user.first_name = word(display_name, "display_name", chars=USERNAME_CHARS, required=False)
        user.last_name = ""
    user.save(update_fields=["time_zone", "theme", "first_name", "last_name"])
    return user


@write
def set_password(*, user: User, password: str, actor: Actor) -> User:
    """A password beside the links; an empty one takes it away again.

    Raises:
        Forbidden: the actor is neither that person nor an owner.
        Invalid: it is too short, too common or only digits.
    """
    if actor.user != user:
        owners_only(actor)
    if password:
        try:
            validate_password(password, user)
        except ValidationError as error:
            raise Invalid(" ".join(error.messages), field="password") from error
        user.set_password(password)
    else:
        user.set_unusable_password()
    user.save(update_fields=["password"])
    _record(user, "password", None, "set" if password else "removed", actor)
    return user


def _create(username: str, role: str, actor: Actor) -> User:
    name = word(username, "username", chars=USERNAME_CHARS)
    user = User(username=User.normalize_username(name))
    try:
        user.username_validator(user.username)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="username") from error
    if User.objects.filter(username__iexact=user.username).exists():
        raise Conflict(f"There is a person called {user.username} already.", field="username")
    user.role = _role(role)
    _follow_role(user)
    user.set_unusable_password()
    user.save()
    _record(user, "created", None, user.role, actor)
    return user


def _checked(values: Mapping[str, object]) -> dict[str, object]:
    checked: dict[str, object] = {}
    for name, value in values.items():
        if name == "role":
            checked[name] = _role(str(value))
        elif name == "is_active":
            checked[name] = bool(value)
        elif name in ("first_name", "last_name"):
            checked[name] = word(str(value or ""), name, chars=USERNAME_CHARS, required=False)
        elif name == "email":
            checked[name] = word(str(value or ""), name, chars=254, required=False)
        else:
            raise Invalid(f"{name} of a person cannot be changed.", field=name)
    return checked


def _follow_role(user: User) -> None:
    user.is_staff = user.is_superuser = user.role == Role.OWNER


def _role(text: str) -> Role:
    if text not in Role.values:
        raise Invalid(f"role must be one of {', '.join(Role.values)}.", field="role")
    return Role(text)


def owners_only(actor: Actor) -> None:
    """
    Raises:
        Forbidden: the actor is neither an owner nor the server itself.
    """
    if actor != SYSTEM and (actor.user is None or not actor.user.is_owner):
        raise Forbidden("Only an owner manages people.")


def _another_owner_than(user: User) -> None:
    # Locked on PostgreSQL: of two owners who demote each other at once the second is told.
    owners = User.objects.select_for_update().filter(role=Role.OWNER, is_active=True)
    if all(owner.pk == user.pk for owner in owners):
        raise Conflict("This is the last owner. Make somebody else an owner first.", code="last_owner")


def _record(user: User, field: str, old: object, new: object, actor: Actor, reason: str = "") -> None:
    record(noun="users", row_id=user.pk, field=field, old=old, new=new, actor=actor, reason=reason)
