"""The board from a shell: ``contextdash backlog add``, ``claim``, ``move`` and the rest."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from contextdash.cli.kit import Commands, Run, command

if TYPE_CHECKING:
    from contextdash.client import Client, Row


def add_commands(commands: Commands) -> None:
    group = commands.add_parser("backlog", help="Stories: add, list, show, claim, move, tick, comment, link.")
    verbs = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    made = _verb(verbs, "add", add, "Write a story into the backlog; prints its number.")
    made.add_argument("story", help="or - for standard input")
    made.add_argument("--criteria", default="", metavar="TEXT", help="acceptance criteria, or -")
    made.add_argument("--agent", help="who is to do it")
    made.add_argument("--priority", type=int, default=3, help="1 high to 5 low (default 3)")
    made = _verb(verbs, "list", show_list, "Stories as on the board.")
    made.add_argument("--status", help="todo, in_progress, review, blocked, done or other")
    made.add_argument("--agent", help="who it is assigned to; - for nobody")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--limit", type=int, default=20)
    made = _verb(verbs, "show", show, "One story with its criteria and what it lacks.")
    made.add_argument("number", type=_number)
    made = _verb(verbs, "claim", claim, "Take the next ready story; exit 1 when nothing is ready.")
    made.add_argument("--agent", required=True, help="who takes it")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--label")
    made = _verb(verbs, "move", move, "Move a story to a column, or beside another story.")
    made.add_argument("number", type=_number)
    made.add_argument("status", nargs="?", help="todo, in_progress, review, blocked or done")
    made.add_argument("--after", type=_number, metavar="NUMBER", help="right after this story")
    made.add_argument("--before", type=_number, metavar="NUMBER", help="right before this story")
    made.add_argument("--version", type=int, help="refuse when the story has changed since")
    made.add_argument("--reason", default="", help="kept in the history")
    _add_talk(verbs)


def _add_talk(verbs: Commands) -> None:
    made = _verb(verbs, "tick", tick, "Say that a criterion is met.")
    made.add_argument("number", type=_number)
    made.add_argument("position", type=int, nargs="+", help="1 for the first criterion, as show counts")
    made.add_argument("--undo", action="store_true", help="say that it is not met after all")
    made.add_argument("--agent", help="who says so")
    made = _verb(verbs, "comment", comment, "Comment on a story.")
    made.add_argument("number", type=_number)
    made.add_argument("text", help="or - for standard input")
    made.add_argument("--agent", help="who says it")
    made = _verb(verbs, "link", link, "Link a story to the current session, or to something else.")
    made.add_argument("number", type=_number)
    made.add_argument("kind", nargs="?", default="session", help="session, decision, finding, plan or diff")
    made.add_argument("ref", nargs="?", help="its id, number or SHA-256; without it the current session")


def add(args: argparse.Namespace) -> None:
    row = _client(args).backlog(
        story=_text(args.story),
        acceptance_criteria=_text(args.criteria),
        agent=args.agent,
        priority=args.priority,
    )
    _print(args, row, str(row["id"]))


def show_list(args: argparse.Namespace) -> None:
    rows = _client(args).stories.find(
        status=args.status, agent=args.agent, project=args.project, limit=args.limit
    )
    _print(args, rows, "\n".join(_line(row) for row in rows) or "No story.")


def show(args: argparse.Namespace) -> None:
    row = _client(args).stories.one(args.number)
    _print(args, row, _whole(row))


def claim(args: argparse.Namespace) -> None:
    stories = _client(args).stories
    row = stories.claim(agent=args.agent, project=args.project, label=args.label)
    _print(args, row, _whole(row))


def move(args: argparse.Namespace) -> None:
    row = _client(args).stories.move(
        args.number,
        args.status,
        after=args.after,
        before=args.before,
        version=args.version,
        reason=args.reason,
    )
    _print(args, row, f"S-{row['id']} {row['status']}, place {row['index']}")


def tick(args: argparse.Namespace) -> int:
    """Exit 1 when the story has no such criterion."""
    stories = _client(args).stories
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
    _print(args, rows, "\n".join(_criterion(row) for row in rows))
    return 0


def comment(args: argparse.Namespace) -> None:
    row = _client(args).stories.comment(args.number, _text(args.text), agent=args.agent)
    _print(args, row, str(row["id"]))


def link(args: argparse.Namespace) -> None:
    row = _client(args).stories.link(args.number, args.kind, args.ref)
    _print(args, row, f"{row['kind']} {row['ref']}")


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


def _number(text: str) -> int:
    """``214`` or ``S-214``."""
    return int(text.upper().removeprefix("S-"))


def _verb(commands: Commands, name: str, run: Run, help: str) -> argparse.ArgumentParser:  # noqa: A002
    made = command(commands, name, run, help)
    made.add_argument("--session", metavar="ID", help="whose it is; without it the environment's")
    made.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    return made


def _client(args: argparse.Namespace) -> "Client":
    from contextdash.client import Client

    return Client(session=args.session)


def _text(value: str) -> str:
    return sys.stdin.read() if value == "-" else value


def _print(args: argparse.Namespace, answer: Any, line: str) -> None:
    print(json.dumps(answer, ensure_ascii=False, indent=2) if args.json else line)
