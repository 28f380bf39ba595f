"""``contextdash sprint …``: sprints planned, started and closed from a shell."""

import argparse
from typing import TYPE_CHECKING

from contextdash.cli.kit import Commands, add_reason, client_of, given, show, verb

if TYPE_CHECKING:
    from contextdash.client import Row


def add_commands(commands: Commands) -> None:
    group = commands.add_parser("sprint", help="Sprints: add, list, show, edit, start, close.")
    verbs = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    made = verb(verbs, "add", add, "Plan a sprint; prints its number.")
    made.add_argument("name")
    made.add_argument("--project", metavar="SLUG")
    _add_fields(made)
    made = verb(verbs, "list", find, "Sprints, newest first.")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--state", help="planned, active or closed")
    made.add_argument("--limit", type=int, default=20)
    made = verb(verbs, "show", one, "One sprint and what is left of it.")
    made.add_argument("number", type=int)
    made = verb(verbs, "edit", edit, "Change a sprint.")
    made.add_argument("number", type=int)
    made.add_argument("--name")
    _add_fields(made)
    made.add_argument("--version", type=int, help="refuse when it has changed since")
    add_reason(made)
    made = verb(verbs, "start", start, "Start a sprint.")
    made.add_argument("number", type=int)
    add_reason(made)
    made = verb(verbs, "close", close, "Close a sprint; its unfinished stories go to another or to none.")
    made.add_argument("number", type=int)
    made.add_argument("--move-to", type=int, metavar="NUMBER", help="the sprint that takes them")
    add_reason(made)


def _add_fields(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--goal", metavar="TEXT")
    parser.add_argument("--starts", dest="starts_on", metavar="DATE", help="such as 2026-12-01")
    parser.add_argument("--ends", dest="ends_on", metavar="DATE")


def add(args: argparse.Namespace) -> None:
    row = client_of(args).sprints.add(args.name, **given(args, "project", "goal", "starts_on", "ends_on"))
    show(args, row, str(row["id"]))


def find(args: argparse.Namespace) -> None:
    rows = client_of(args).sprints.find(**given(args, "project", "state", "limit"))
    show(args, rows, "\n".join(_line(row) for row in rows) or "No sprint.")


def one(args: argparse.Namespace) -> None:
    row = client_of(args).sprints.one(args.number)
    days = row["burndown"]["days"]
    left = f"\n{days[-1]['left']} of {days[-1]['scope']} {row['burndown']['unit']} left" if days else ""
    show(args, row, _line(row) + left)


def edit(args: argparse.Namespace) -> None:
    values = given(args, "name", "goal", "starts_on", "ends_on")
    row = client_of(args).sprints.change(args.number, seen=args.version, reason=args.reason, **values)
    show(args, row, _line(row))


def start(args: argparse.Namespace) -> None:
    row = client_of(args).sprints.start(args.number, reason=args.reason)
    show(args, row, _line(row))


def close(args: argparse.Namespace) -> None:
    row = client_of(args).sprints.close(args.number, move_to=args.move_to, reason=args.reason)
    show(args, row, f"{_line(row)}, {row['carried']} unfinished moved on")


def _line(row: "Row") -> str:
    days = (
        f" {row['starts_on'] or '?'} to {row['ends_on'] or '?'}" if row["starts_on"] or row["ends_on"] else ""
    )
    return f"{row['id']} {row['state']}{days} v{row['version']}: {row['name']}"
