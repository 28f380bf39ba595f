"""Who is in the team: invited, given a role, sent away, let in again. Directly on the database."""

import argparse
from typing import TYPE_CHECKING

from contextdash.cli.kit import Commands, command, own_url, table, with_database

if TYPE_CHECKING:
    from contextdash.models import User

ROLES = ("owner", "member", "viewer")


def add_commands(commands: Commands) -> None:
    link = command(commands, "signin-link", signin_link, "Print a link that signs a person in, once.")
    link.add_argument("--user", help="whose; without it the first owner's")
    people = command(commands, "user", list_users, "People.").add_subparsers(metavar="COMMAND", required=True)
    command(people, "list", list_users, "Names, roles and when they last signed in.")
    made = command(
        people, "invite", invite, "Make a person; the last line is a link that signs them in, once."
    )
    made.add_argument("name")
    made.add_argument("--role", required=True, choices=ROLES)
    made = command(people, "role", change_role, "Give a person another role.")
    made.add_argument("name")
    made.add_argument("role", choices=ROLES)
    made.add_argument("--reason", default="", help="for the history")
    made = command(people, "remove", remove, "Deactivate a person: signed out, and their tokens stop.")
    made.add_argument("name")
    made.add_argument("--reason", default="", help="for the history")
    made = command(people, "restore", restore, "Reactivate a person who was removed.")
    made.add_argument("name")
    made.add_argument("--reason", default="", help="for the history")


def signin_link(args: argparse.Namespace) -> None:
    with_database()
    from contextdash.actor import SYSTEM
    from contextdash.services.signin import make_link

    user = person_named(args.user)
    _, secret = make_link(user=user, actor=SYSTEM)
    print(f"Signs in {user}, once, within 15 minutes:")
    print(f"{own_url()}/signin/{secret}/")


def list_users(args: argparse.Namespace) -> None:
    with_database()
    from contextdash.models import User

    rows = [
        (
            one.username,
            one.role if one.is_active else "inactive",
            f"{one.last_login:%Y-%m-%d %H:%M} UTC" if one.last_login else "never",
        )
        for one in User.objects.all()
    ]
    table(("name", "role", "last signed in"), rows, "Nobody yet: the first start makes the first owner.")


def invite(args: argparse.Namespace) -> None:
    with_database()
    from contextdash.actor import SYSTEM
    from contextdash.services import invites
    from contextdash.services.signin import INVITE_LIFETIME

    user, secret = invites.invite(username=args.name, role=args.role, actor=SYSTEM)
    hours = round(INVITE_LIFETIME.total_seconds() / 3600)
    print(f"{user} is {_a(user.role)}. This link signs them in once, within {hours} hours:")
    print(f"{own_url()}/signin/{secret}/")


def change_role(args: argparse.Namespace) -> None:
    user = _changed(args, role=args.role)
    print(f"{user} is {_a(user.role)} now.")


def remove(args: argparse.Namespace) -> None:
    user = _changed(args, is_active=False)
    print(
        f"{user} is not active any more. A server believes their tokens for at most five seconds more. "
        f"What they did stays; to let them in again: contextdash user restore {user}"
    )


def restore(args: argparse.Namespace) -> None:
    user = _changed(args, is_active=True)
    print(f"{user} is {_a(user.role)} again. A link: contextdash signin-link --user {user}")


def _changed(args: argparse.Namespace, **values: object) -> "User":
    with_database()
    from contextdash.actor import SYSTEM
    from contextdash.services.users import change_user

    user = person_named(args.name, any_state=True)
    return change_user(user=user, values=values, actor=SYSTEM, reason=args.reason)


def _a(role: str) -> str:
    return f"an {role}" if role == "owner" else f"a {role}"


def person_named(name: str | None, *, any_state: bool = False) -> "User":
    """The person of that name, else the first owner, who is made when there is nobody yet."""
    from contextdash.errors import NotFound
    from contextdash.models import User
    from contextdash.models.user import Role
    from contextdash.services.users import first_owner

    if name is None:
        owners = User.objects.filter(role=Role.OWNER, is_active=True).order_by("pk")
        found = owners.first() or first_owner()
    else:
        known = User.objects.filter(username=name)
        found = (known if any_state else known.filter(is_active=True)).first()
    if found is None:
        raise NotFound(f"Nobody is called {name}. See: contextdash user list")
    return found
