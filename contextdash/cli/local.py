"""Commands that work on the database directly, beside a running server: tokens, backup, doctor."""

import argparse
from typing import TYPE_CHECKING

from contextdash.cli.kit import Commands, command, table, with_database
from contextdash.cli.people import person_named

if TYPE_CHECKING:
    from contextdash.models import Token

SCOPES = ("ingest", "read", "write", "admin")


def add_commands(commands: Commands) -> None:
    _add_token(commands)
    doctor = command(commands, "doctor", examine, "Say what is wrong here, and how to mend it.")
    doctor.add_argument("--mend", action="store_true", help="do what can be done without asking")


def _add_token(commands: Commands) -> None:
    token = command(commands, "token", list_tokens, "Tokens of programs.").add_subparsers(
        metavar="COMMAND", required=True
    )
    create = command(token, "create", create_token, "Make a token; its secret is the last line printed.")
    create.add_argument("--name", required=True, help="what it is for, such as: hooks on my laptop")
    create.add_argument("--scope", required=True, choices=SCOPES, help="what it may do")
    create.add_argument("--user", help="whose it is; without it the first owner's")
    command(token, "list", list_tokens, "All tokens, newest first.")
    revoke = command(token, "revoke", revoke_token, "End a token within five seconds.")
    revoke.add_argument("token", help="its number or its visible beginning")
    revoke.add_argument("--reason", default="", help="for the history")


def create_token(args: argparse.Namespace) -> None:
    with_database()
    from contextdash.actor import SYSTEM
    from contextdash.services import tokens

    token, secret = tokens.create_token(
        owner=person_named(args.user), name=args.name, scope=args.scope, actor=SYSTEM
    )
    print(f"Token {token.pk} ({token.scope}) of {token.owner}. It is shown only now:")
    print(secret)


def list_tokens(args: argparse.Namespace) -> None:
    with_database()
    from contextdash.models import Token

    rows = [
        (str(one.pk), one.prefix + "…", one.scope, one.owner.username, one.name, _state(one))
        for one in Token.objects.select_related("owner")
    ]
    table(("no", "begins", "scope", "owner", "name", "state"), rows, "No tokens yet.")


def revoke_token(args: argparse.Namespace) -> None:
    with_database()
    from contextdash.actor import SYSTEM
    from contextdash.errors import NotFound
    from contextdash.models import Token
    from contextdash.services import tokens

    text: str = args.token
    named = Token.objects.filter(pk=int(text)) if text.isdecimal() and len(text) < 18 else None
    found = list(named or Token.objects.filter(prefix=text[:12], revoked_at=None))
    if len(found) != 1:
        raise NotFound(f"{len(found) or 'No'} tokens are called {text}. See: contextdash token list")
    tokens.revoke_token(token=found[0], actor=SYSTEM, reason=args.reason)
    print(
        f"Revoked {found[0].name} ({found[0].prefix}…). A server believes it for at most five seconds more."
    )


def examine(args: argparse.Namespace) -> int:
    with_database(migrated=False)
    from contextdash.cli.doctor import examine as findings_of

    return findings_of(mend=args.mend)


def _state(token: "Token") -> str:
    if token.revoked_at:
        return f"revoked {token.revoked_at:%Y-%m-%d}"
    return f"used {token.last_used_at:%Y-%m-%d}" if token.last_used_at else "never used"
