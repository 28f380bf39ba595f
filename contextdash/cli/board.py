"""The board from a shell: ``contextdash backlog add``, ``claim``, ``move`` and the rest."""

import argparse
import sys
from typing import TYPE_CHECKING

from contextdash.cli import sprints
from contextdash.cli.kit import Commands, add_reason, client_of, given, number, text_of, verb
from contextdash.cli.kit import show as show_row

if TYPE_CHECKING:
    from contextdash.client import Row


def add_commands(commands: Commands) -> None:
    group = commands.add_parser(
        "backlog", help="Stories: add, list, show, edit, claim, move, tick, comment, link and more."
    )
    verbs = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    made = verb(verbs, "add", add, "Write a story into the backlog; prints its number.")
    made.add_argument("story", help="or - for standard input")
    made.add_argument("--criteria", default="", metavar="TEXT", help="acceptance criteria, or -")
    made.add_argument("--agent", help="who is to do it")
    made.add_argument("--priority", type=int, default=3, help="1 high to 5 low (default 3)")
    made = verb(verbs, "list", show_list, "Stories as on the board.")
    made.add_argument("--status", help="todo, in_progress, review, blocked, done or other")
    made.add_argument("--agent", help="who it is assigned to; - for nobody")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--limit", type=int, default=20)
    made = verb(verbs, "show", show, "One story with its criteria and what it lacks.")
    made.add_argument("number", type=number)
    made = verb(verbs, "claim", claim, "Take the next ready story; exit 1 when nothing is ready.")
    made.add_argument("--agent", required=True, help="who takes it")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--label")
    made = verb(verbs, "move", move, "Move a story to a column, or beside another story.")
    made.add_argument("number", type=number)
    made.add_argument("status", nargs="?", help="todo, in_progress, review, blocked or done")
    made.add_argument("--after", type=number, metavar="NUMBER", help="right after this story")
    made.add_argument("--before", type=number, metavar="NUMBER", help="right before this story")
    made.add_argument("--version", type=int, help="refuse when the story has changed since")
    add_reason(made)
    _add_edits(verbs)
    _add_talk(verbs)
    sprints.add_commands(commands)


def _add_edits(verbs: Commands) -> None:
    made = verb(verbs, "edit", edit, "Change a story, or several.")
    made.add_argument("number", type=number, nargs="+")
    made.add_argument("--story", metavar="TEXT", help="or - for standard input")
    made.add_argument(
        "--criteria", dest="acceptance_criteria", metavar="TEXT", help="acceptance criteria, or -"
    )
    made.add_argument("--agent", dest="assigned_agent", help="who is to do it; - for nobody")
    made.add_argument("--priority", type=int, help="1 high to 5 low")
    made.add_argument("--estimate", type=int, metavar="POINTS")
    made.add_argument("--labels", metavar="A,B", help="in the place of all that it has")
    made.add_argument("--sprint", dest="sprint_id", metavar="NUMBER", help="or none")
    made.add_argument("--epic", dest="epic_id", metavar="NUMBER", help="the story above, or none")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--version", type=int, help="refuse when the story has changed since")
    add_reason(made)
    made = verb(verbs, "delete", delete, "Take stories off the board.")
    made.add_argument("number", type=number, nargs="+")
    add_reason(made)
    made = verb(verbs, "restore", restore, "Bring deleted stories back.")
    made.add_argument("number", type=number, nargs="+")
    for name, run, told in (
        ("wait", wait, "Say that a story waits for another."),
        ("unwait", unwait, "It waits for that one no longer."),
    ):
        made = verb(verbs, name, run, told)
        made.add_argument("number", type=number)
        made.add_argument("other", type=number)
        add_reason(made)
    made = verb(verbs, "limits", limits, "How many stories each column should hold; or set one.")
    made.add_argument("column", nargs="?", help="todo, in_progress, review or blocked")
    made.add_argument("stories", nargs="?", help="a number, or none")
    made.add_argument("--project", metavar="SLUG", help="of this project; else of all")
    add_reason(made)


def _add_talk(verbs: Commands) -> None:
    made = verb(verbs, "tick", tick, "Say that a criterion is met.")
    made.add_argument("number", type=number)
    made.add_argument("position", type=int, nargs="+", help="1 for the first criterion, as show counts")
    made.add_argument("--undo", action="store_true", help="say that it is not met after all")
    made.add_argument("--agent", help="who says so")
    made = verb(verbs, "comment", comment, "Comment on a story.")
    made.add_argument("number", type=number)
    made.add_argument("text", help="or - for standard input")
    made.add_argument("--agent", help="who says it")
    made = verb(verbs, "link", link, "Link a story to the current session, or to something else.")
    made.add_argument("number", type=number)
    made.add_argument("kind", nargs="?", default="session", help="session, decision, finding, plan or diff")
    made.add_argument("ref", nargs="?", help="its id, number or SHA-256; without it the current session")
    made = verb(verbs, "unlink", unlink, "Take a link of a story away.")
    made.add_argument("number", type=number)
    made.add_argument("link", type=int, help="its number, as show --json tells")
    add_reason(made)


def add(args: argparse.Namespace) -> None:
    row = client_of(args).backlog(
        story=text_of(args.story),
        acceptance_criteria=text_of(args.criteria),
        agent=args.agent,
        priority=args.priority,
    )
    show_row(args, row, str(row["id"]))


def show_list(args: argparse.Namespace) -> None:
    rows = client_of(args).stories.find(
        status=args.status, agent=args.agent, project=args.project, limit=args.limit
    )
    show_row(args, rows, "\n".join(_line(row) for row in rows) or "No story.")


def show(args: argparse.Namespace) -> None:
    row = client_of(args).stories.one(args.number)
    show_row(args, row, _whole(row))


def claim(args: argparse.Namespace) -> None:
    stories = client_of(args).stories
    row = stories.claim(agent=args.agent, project=args.project, label=args.label)
    show_row(args, row, _whole(row))


def move(args: argparse.Namespace) -> None:
    row = client_of(args).stories.move(
        args.number,
        args.status,
        after=args.after,
        before=args.before,
        version=args.version,
        reason=args.reason,
    )
    show_row(args, row, f"S-{row['id']} {row['status']}, place {row['index']}")


def tick(args: argparse.Namespace) -> int:
    """Exit 1 when the story has no such criterion."""
    stories = client_of(args).stories
    known = {item["position"]: item["id"] for item in stories.one(args.number)["criteria"]}
    missing = [position for position in args.position if position not in known]
    if missing:
        print(
            f"contextdash: S-{args.number} has criteria 1 to {len(known)}, no {missing[0]}.", file=sys.stderr
        )
        return 1
    rows = [
        stories.tick(args.number, known[position], met=not args.undo, agent=args.agent)
        for position in args.position
    ]
    show_row(args, rows, "\n".join(_criterion(row) for row in rows))
    return 0


def comment(args: argparse.Namespace) -> None:
    row = client_of(args).stories.comment(args.number, text_of(args.text), agent=args.agent)
    show_row(args, row, str(row["id"]))


def link(args: argparse.Namespace) -> None:
    row = client_of(args).stories.link(args.number, args.kind, args.ref)
    show_row(args, row, f"{row['kind']} {row['ref']}")


def unlink(args: argparse.Namespace) -> None:
    client_of(args).stories.unlink(args.number, args.link, reason=args.reason)
    show_row(args, {}, f"S-{args.number} has no link {args.link} any more")


def edit(args: argparse.Namespace) -> None:
    values = given(args, *_EDITED)
    for name in ("story", "acceptance_criteria"):
        if name in values:
            values[name] = text_of(values[name])
    if "labels" in values:
        values["labels"] = [label for label in values["labels"].split(",") if label.strip()]
    if values.get("assigned_agent") == "-":
        values["assigned_agent"] = None
    for name in ("sprint_id", "epic_id"):
        if name in values:
            values[name] = None if values[name] == "none" else number(values[name])
    stories = client_of(args).stories
    rows = [stories.change(each, seen=args.version, reason=args.reason, **values) for each in args.number]
    show_row(args, rows, "\n".join(_line(row) for row in rows))


def delete(args: argparse.Namespace) -> None:
    stories = client_of(args).stories
    rows = [stories.delete(each, reason=args.reason) for each in args.number]
    show_row(args, rows, "\n".join(f"S-{row['id']} deleted" for row in rows))


def restore(args: argparse.Namespace) -> None:
    stories = client_of(args).stories
    rows = [stories.restore(each) for each in args.number]
    show_row(args, rows, "\n".join(_line(row) for row in rows))


def wait(args: argparse.Namespace) -> None:
    row = client_of(args).stories.wait_for(args.number, args.other, reason=args.reason)
    show_row(args, row, f"S-{args.number} waits for S-{args.other}")


def unwait(args: argparse.Namespace) -> None:
    client_of(args).stories.wait_no_longer(args.number, args.other, reason=args.reason)
    show_row(args, {}, f"S-{args.number} does not wait for S-{args.other} any more")


def limits(args: argparse.Namespace) -> int:
    """Exit 2 where a column is named without a number."""
    stories = client_of(args).stories
    if args.column:
        if not (args.stories or "").isdecimal() and args.stories != "none":
            print("contextdash: how many stories? A number, or none.", file=sys.stderr)
            return 2
        most = None if args.stories == "none" else int(args.stories)
        stories.limit(args.column, most, project=args.project, reason=args.reason)
    known = stories.limits(args.project)
    show_row(args, dict(known), "\n".join(f"{name} {most or 'no limit'}" for name, most in known.items()))
    return 0


_EDITED = (
    *("story", "acceptance_criteria", "assigned_agent", "priority", "estimate"),
    *("labels", "sprint_id", "epic_id", "project"),
)


def _whole(row: "Row") -> str:
    lines = [_line(row)]
    lines += (
        [_criterion(item) for item in row["criteria"]] if "criteria" in row else [row["acceptance_criteria"]]
    )
    for noun in ("ready", "done"):
        lines += [
            f"not {noun}: {rule['name']}: {rule['why']}" for rule in row.get(noun, ()) if not rule["met"]
        ]
    return "\n".join(line for line in lines if line)


def _line(row: "Row") -> str:
    who = row["assigned_agent"] or "nobody"
    return f"S-{row['id']} {row['status']} P{row['priority']} {who} v{row['version']}: {row['story']}"


def _criterion(item: "Row") -> str:
    return f"{item['position']}. [{'x' if item['met'] else ' '}] {item['text']}"
