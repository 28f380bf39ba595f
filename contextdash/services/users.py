"""People: made, given a role, a password, an end."""

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from contextdash.actor import SYSTEM, Actor
from contextdash.errors import Conflict, Forbidden, Invalid
from contextdash.fields import optional_word, word
from contextdash.models import User
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
def create_user(*, username: str, role: str, actor: Actor, first_name: str = "", last_name: str = "") -> User:
    """A person without a password: a link signs them in (``services.signin.make_link``).

    Raises:
        Forbidden: the actor is no owner.
        Invalid: the name is empty, too long or has characters that a name may not have; no such role.
        Conflict: somebody has that name.
    """
    _owners_only(actor)
    user = _create(username, role, actor)
    user.first_name = optional_word(first_name, "first_name", chars=USERNAME_CHARS) or ""
    user.last_name = optional_word(last_name, "last_name", chars=USERNAME_CHARS) or ""
    user.save(update_fields=["first_name", "last_name"])
    return user


@write
def change_role(*, user: User, role: str, actor: Actor, reason: str = "") -> User:
    """Django's own flags, which its admin reads, follow the role.

    Raises:
        Conflict: nobody would be left who manages.
    """
    _owners_only(actor)
    role = _role(role)
    if role != user.role:
        if user.role == Role.OWNER:
            _another_owner_than(user)
        _record(user, "role", user.role, role, actor, reason)
        _set_role(user, role)
        user.save(update_fields=["role", "is_staff", "is_superuser"])
        tokens.forget_lookups()
    return user


@write
def set_active(*, user: User, active: bool, actor: Actor, reason: str = "") -> User:
    """An inactive person cannot sign in, and neither their sessions nor their tokens work any more.

    Raises:
        Conflict: nobody would be left who manages.
    """
    _owners_only(actor)
    if active != user.is_active:
        if not active and user.role == Role.OWNER:
            _another_owner_than(user)
        _record(user, "is_active", user.is_active, active, actor, reason)
        user.is_active = active
        user.save(update_fields=["is_active"])
        tokens.forget_lookups()
    return user


@write
def change_profile(*, user: User, time_zone: str, theme: str, actor: Actor) -> User:
    """What people set for themselves, viewers too.

    Raises:
        Invalid: no such zone or theme.
    """
    import zoneinfo

    if time_zone and time_zone not in zoneinfo.available_timezones():
        raise Invalid("time_zone must be a name such as Europe/Berlin, or empty.", field="time_zone")
    if theme not in Theme.values:
        raise Invalid(f"theme must be one of {', '.join(Theme.values)}.", field="theme")
    user.time_zone, user.theme = time_zone, theme
    user.save(update_fields=["time_zone", "theme"])
    return user


@write
def set_password(*, user: User, password: str, actor: Actor) -> User:
    """A password beside the links; an empty one takes it away again.

    Raises:
        Forbidden: the actor is neither that person nor an owner.
        Invalid: it is too short, too common or only digits.
    """
    if actor.user != user:
        _owners_only(actor)
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
    _set_role(user, _role(role))
    user.set_unusable_password()
    user.save()
    _record(user, "created", None, user.role, actor)
    return user


def _set_role(user: User, role: Role) -> None:
    user.role = role
    user.is_staff = user.is_superuser = role == Role.OWNER


def _role(text: str) -> Role:
    if text not in Role.values:
        raise Invalid(f"role must be one of {', '.join(Role.values)}.", field="role")
    return Role(text)


def _owners_only(actor: Actor) -> None:
    if actor != SYSTEM and (actor.user is None or not actor.user.is_owner):
        raise Forbidden("Only an owner manages people.")


def _another_owner_than(user: User) -> None:
    if not User.objects.filter(role=Role.OWNER, is_active=True).exclude(pk=user.pk).exists():
        raise Conflict("This is the last owner. Make somebody else an owner first.", code="last_owner")


def _record(user: User, field: str, old: object, new: object, actor: Actor, reason: str = "") -> None:
    record(noun="users", row_id=user.pk, field=field, old=old, new=new, actor=actor, reason=reason)
