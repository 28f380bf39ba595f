"""``contextdash session …`` and ``contextdash project …``: what people do with them on the pages."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from contextdash.cli.kit import Commands, Run, add_reason, client_of, command, first_words, given, show, verb

if TYPE_CHECKING:
    from contextdash.client import Row


def add_commands(commands: Commands) -> None:
    group = commands.add_parser("session", help="Sessions: list, show, rename, pin, archive, delete.")
    verbs = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    made = verb(verbs, "list", find, "Sessions, newest activity first.")
    made.add_argument("--status", help="active, closed, compacted or errored")
    made.add_argument("--agent")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--branch")
    made.add_argument("--label", action="append", help="may be told several times")
    made.add_argument("--text", dest="q", help="in the title or request, or the beginning of an id")
    made.add_argument("--limit", type=int, default=20)
    _of_one(verbs, "show", one, "One session.", reason=False)
    made = _of_one(verbs, "rename", rename, "Give a session a title.")
    made.add_argument("title")
    made = _of_one(verbs, "project", move, "Say whose a session is.")
    made.add_argument("project", metavar="SLUG", help="or none")
    _of_one(verbs, "pin", flag("pinned", True), "Keep a session at the top.")
    _of_one(verbs, "unpin", flag("pinned", False), "Let it sink again.")
    _of_one(verbs, "archive", flag("archived", True), "Take a session out of the list.")
    _of_one(verbs, "unarchive", flag("archived", False), "Put it into the list again.")
    _of_one(verbs, "delete", delete, "Hide a session and its subagents.", required=True)
    _of_one(verbs, "undelete", undelete, "Bring one back within a day, by its whole id.")
    made = command(commands, "session-label", label, "Replace the labels of a session; alone it prints them.")
    made.add_argument("labels", nargs="*", metavar="LABEL", help="all that it has from now on, in order")
    made.add_argument("--none", action="store_true", help="take all of them away")
    made.add_argument("--session", metavar="ID", help="whose they are; without it the environment's")
    add_reason(made)
    _add_projects(commands)


def _add_projects(commands: Commands) -> None:
    group = commands.add_parser("project", help="Projects: list, add, edit, order, archive, delete.")
    verbs = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    verb(verbs, "list", projects, "Projects, in the order that people chose.")
    made = verb(verbs, "add", add_project, "Make a project; prints its slug.")
    made.add_argument("name")
    made.add_argument("--slug", help="its name in addresses; else made of the name")
    _add_fields(made)
    made = verb(verbs, "edit", edit_project, "Change a project.")
    made.add_argument("project", metavar="SLUG")
    made.add_argument("--name")
    made.add_argument("--position", type=int, help="its place in the list")
    _add_fields(made)
    add_reason(made)
    for name, archived, told in (
        ("archive", True, "Take a project out of the lists."),
        ("unarchive", False, "Put it into the lists again."),
    ):
        made = verb(verbs, name, archive_project, told)
        made.add_argument("project", metavar="SLUG")
        made.set_defaults(archived=archived)
        add_reason(made)
    made = verb(verbs, "delete", delete_project, "Delete a project; what is in it stays.")
    made.add_argument("project", metavar="SLUG")
    add_reason(made, required=True)
    made = verb(verbs, "order", order_sessions, "Put sessions of a project first, in this order.")
    made.add_argument("project", metavar="SLUG")
    made.add_argument("ids", nargs="+")
    add_reason(made)


def _add_fields(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--color", help="as #rrggbb")
    parser.add_argument("--root", metavar="DIR", help="sessions that work in or below it are the project's")
    parser.add_argument("--remote", metavar="URL", help="or in clones of this repository")


def _of_one(
    verbs: Commands,
    name: str,
    run: Run,
    help: str,  # noqa: A002
    *,
    reason: bool = True,
    required: bool = False,
) -> argparse.ArgumentParser:
    made = verb(verbs, name, run, help)
    made.add_argument("id", help="or the beginning of one, or latest")
    if reason:
        add_reason(made, required=required)
    return made


def find(args: argparse.Namespace) -> None:
    asked = given(args, "status", "agent", "project", "branch", "label", "q", "limit")
    rows = client_of(args).sessions.find(**asked)
    show(args, rows, "\n".join(_line(row) for row in rows) or "No session.")


def one(args: argparse.Namespace) -> None:
    row = client_of(args).sessions.one(args.id)
    show(args, row, _line(row))


def rename(args: argparse.Namespace) -> None:
    row = client_of(args).sessions.rename(args.id, args.title, reason=args.reason)
    show(args, row, _line(row))


def label(args: argparse.Namespace) -> None:
    sessions = client_of(args).sessions
    if args.labels or args.none:
        row = sessions.label([] if args.none else args.labels, reason=args.reason)
    else:
        row = sessions.one()
    for each in row["labels"]:
        print(each)


def move(args: argparse.Namespace) -> None:
    project = None if args.project == "none" else args.project
    row = client_of(args).sessions.change(args.id, project=project, reason=args.reason)
    show(args, row, f"{row['id']} {row['project'] or 'of no project'}")


def flag(name: str, value: bool) -> Callable[[argparse.Namespace], None]:
    def run(args: argparse.Namespace) -> None:
        row = client_of(args).sessions.change(args.id, reason=args.reason, **{name: value})
        show(args, row, f"{row['id']} is {'' if value else 'not '}{name}")

    return run


def delete(args: argparse.Namespace) -> None:
    sessions = client_of(args).sessions
    row = sessions.one(args.id)
    sessions.delete(row["id"], reason=args.reason)
    show(args, row, f"{row['id']} deleted. For a day: contextdash session undelete {row['id']}")


def undelete(args: argparse.Namespace) -> None:
    row = client_of(args).sessions.undelete(args.id, reason=args.reason)
    show(args, row, _line(row))


def projects(args: argparse.Namespace) -> None:
    rows = client_of(args).projects.find()
    lines = [f"{row['slug']} {first_words(row['name'])}" for row in rows]
    show(args, rows, "\n".join(lines) or "No project.")


def add_project(args: argparse.Namespace) -> None:
    row = client_of(args).projects.add(args.name, **given(args, "slug", "color", "root", "remote"))
    show(args, row, str(row["slug"]))


def edit_project(args: argparse.Namespace) -> None:
    values = given(args, "name", "position", "color", "root", "remote")
    row = client_of(args).projects.change(args.project, reason=args.reason, **values)
    show(args, row, f"{row['slug']} {first_words(row['name'])}")


def archive_project(args: argparse.Namespace) -> None:
    row = client_of(args).projects.change(args.project, archived=args.archived, reason=args.reason)
    show(args, row, f"{row['slug']} is {'' if args.archived else 'not '}archived")


def delete_project(args: argparse.Namespace) -> None:
    client_of(args).projects.delete(args.project, reason=args.reason)
    show(args, {}, f"{args.project} deleted")


def order_sessions(args: argparse.Namespace) -> None:
    ids = client_of(args).projects.order(args.project, args.ids, reason=args.reason)
    show(args, ids, "\n".join(ids))


def _line(row: "Row") -> str:
    title = first_words(row["title"] or row["user_request"] or "")
    return f"{row['id']} {row['status']} {row['agent_name']}: {title}".rstrip(": ")
