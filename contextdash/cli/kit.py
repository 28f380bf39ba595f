"""What commands share."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextdash.client import Client

type Commands = argparse._SubParsersAction[argparse.ArgumentParser]
type Run = Callable[[argparse.Namespace], int | None]


def command(commands: Commands, name: str, run: Run, help: str) -> argparse.ArgumentParser:  # noqa: A002
    """Add a command; ``help`` is its line in the list and the head of its own help."""
    made: argparse.ArgumentParser = commands.add_parser(name, help=help, description=help)
    made.set_defaults(run=run)
    return made


def verb(commands: Commands, name: str, run: Run, help: str) -> argparse.ArgumentParser:  # noqa: A002
    """A command that speaks to the server by HTTP, for a session, as ``client_of`` and ``show`` expect it."""
    made = command(commands, name, run, help)
    made.add_argument("--session", metavar="ID", help="whose it is; without it the environment's")
    made.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    return made


def add_reason(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    parser.add_argument("--reason", default="", required=required, help="kept in the history")


def client_of(args: argparse.Namespace) -> "Client":
    from contextdash.client import Client

    return Client(session=args.session)


def show(args: argparse.Namespace, answer: Any, line: str) -> None:
    """The answer as JSON where that was asked for, else the line."""
    print(json.dumps(answer, ensure_ascii=False, indent=2) if args.json else line)


def text_of(value: str) -> str:
    """``-`` stands for standard input."""
    return sys.stdin.read() if value == "-" else value


def first_words(text: str) -> str:
    """The first words of a text, on one line."""
    folded = " ".join(text[:1200].split())
    return folded if len(folded) <= 120 else folded[:119] + "…"


def number(text: str) -> int:
    """``118``, ``D-118``, ``M-118``, ``S-118``…"""
    return int(text.upper().lstrip("DMRPS").removeprefix("-"))


def given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Those options that were told."""
    return {name: value for name in names if (value := getattr(args, name)) is not None}


def with_django() -> None:
    """Make the database usable in this process; what it makes on disk is nobody else's to read."""
    os.umask(0o077)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextdash.settings")
    import django

    django.setup()


def with_database(*, migrated: bool = True) -> None:
    """As ``with_django``, where there is a database already: a command beside the server makes none.

    Without ``migrated`` its tables may still be missing: the doctor puts them there.

    Raises:
        NotFound: no server ever ran here.
    """
    with_django()
    from django.db import connection

    from contextdash.db import database_file
    from contextdash.errors import NotFound

    file = database_file()
    missing = file is not None and not file.exists()
    if missing or (migrated and "users" not in connection.introspection.table_names()):
        where = f"{file}" if file is not None else "DATABASE_URL"
        raise NotFound(
            f"There is no database of contextdash at {where} yet. The first start of the server makes it "
            "(contextdash serve); CONTEXTDASH_DATA or DATABASE_URL names another."
        )


def own_url() -> str:
    """Where the server is, as people's browsers name it.

    CONTEXTDASH_URL says it, else HOST and PORT when one is set, else what the server left behind.
    """
    from contextdash.address import left_url
    from contextdash.serving import address_url

    told = os.environ.get("HOST") or os.environ.get("PORT")
    return (os.environ.get("CONTEXTDASH_URL") or (address_url() if told else left_url())).rstrip("/")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], empty: str) -> None:
    """Print rows below their head in columns, or the one line ``empty``."""
    lines = [head, *rows]
    if len(lines) == 1:
        print(empty)
        return
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
