"""The team's memory from a shell: inbox, plans, decisions, mistakes and what became of them; stand-up."""

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from contextdash.cli.kit import Commands, Run, command

if TYPE_CHECKING:
    from contextdash.client_memory import Memory


def add_commands(commands: Commands) -> None:
    _add_handoffs(commands)
    _add_plans(commands)
    _add_decisions(commands)
    _add_mistakes(commands)
    made = _verb(commands, "standup", standup, "Who does what and what holds it up, as Markdown.")
    made.add_argument("--window", metavar="LENGTH", help="how far back: 24h (default), 3d; at most 31d")
    made.add_argument("--from", dest="begin", metavar="TIME", help="2026-11-30 or 2026-11-30T09:00")
    made.add_argument("--to", dest="end", metavar="TIME")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--shape", choices=["people", "workflow", "digest"], default="people")


def _add_handoffs(commands: Commands) -> None:
    made = _verb(commands, "inbox", inbox, "Hand-offs that wait, newest first.")
    made.add_argument("--target", metavar="AGENT", help="only for this agent or person")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--stream", action="store_true", help="an answer in the next session counts too")
    made = _verb(commands, "ack", acknowledge, "Acknowledge hand-offs.")
    made.add_argument("numbers", nargs="+", type=_number)
    made.add_argument("--reason", default="", help="kept in the history")
    made = _verb(commands, "inject", inject, "The newest messages as text for an agent's context.")
    made.add_argument("--agent", help="only what this agent wrote")
    made.add_argument("--limit", type=int, default=20)


def _add_plans(commands: Commands) -> None:
    made = _verb(commands, "plans", plans, "Plans, newest first.")
    made.add_argument("--path")
    made.add_argument("--status", help="proposed, approved, in_progress, done or superseded")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--limit", type=int, default=20)
    made = _verb(commands, "plan-status", plan_status, "Say how a plan stands.")
    made.add_argument("number", type=_number)
    made.add_argument("status", help="proposed, approved, in_progress, done or superseded")
    made.add_argument("--reason", default="", help="kept in the history")
    made = _verb(commands, "plan-diff", plan_diff, "What changed since the version before, or another.")
    made.add_argument("number", type=_number)
    made.add_argument("--against", type=int, metavar="VERSION")


def _add_decisions(commands: Commands) -> None:
    made = _verb(commands, "decisions", decisions, "The decision log, newest first.")
    made.add_argument("--topic")
    made.add_argument("--status", help="stands, conflict or superseded")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--limit", type=int, default=20)
    made = _verb(commands, "supersede", supersede, "A later decision takes the place of an earlier one.")
    made.add_argument("earlier", type=_number)
    made.add_argument("later", type=_number)
    made.add_argument("--reason", default="", help="kept in the history")
    made = _verb(commands, "conflict", conflict, "Say that decisions contradict each other.")
    made.add_argument("numbers", nargs="+", type=_number)
    made.add_argument("--reason", default="", help="kept in the history")
    made = _verb(commands, "settle", settle, "Keep one of decisions that contradict each other.")
    made.add_argument("keep", type=_number)
    made.add_argument("others", nargs="+", type=_number)
    made.add_argument("--reason", required=True, help="kept in the history")
    made = _verb(commands, "export", export, "Decisions as Markdown ADRs, printed.")
    made.add_argument("number", nargs="?", type=_number, help="only this one")
    made.add_argument("--topic")
    made.add_argument("--project", metavar="SLUG")
    made = _verb(commands, "link", link, "Link a finding to the decision that it led to.")
    made.add_argument("finding", type=_number)
    made.add_argument("decision", type=_number)


def _add_mistakes(commands: Commands) -> None:
    made = _verb(commands, "mistakes", mistakes, "Mistakes, newest first.")
    made.add_argument("--category")
    made.add_argument("--without-lesson", action="store_true")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--limit", type=int, default=20)
    made = _verb(commands, "lesson", lesson, "A mistake's lesson as a Markdown file, printed; or write it.")
    made.add_argument("number", type=_number)
    made.add_argument("--write", metavar="TEXT", help="the lesson, or - for standard input")
    made.add_argument("--file", help="where the lesson is kept")
    made.add_argument("--reason", default="", help="kept in the history")


def standup(args: argparse.Namespace) -> None:
    answer = _memory(args).standup(
        **{"from": args.begin, "to": args.end},
        window=args.window,
        project=args.project,
        shape=args.shape,
        session=args.session,
    )
    _print(args, answer, answer["markdown"].rstrip())


def inbox(args: argparse.Namespace) -> None:
    box = _memory(args).inbox(target=args.target, project=args.project, stream=args.stream)
    rows = [
        f"{row['id']} {row['agent_name']} to {row['target']}: {_line(row['content'])}" for row in box["items"]
    ]
    if box["hidden"]:
        rows.append(f"and {box['hidden']} older")
    _print(args, box, "\n".join(rows) or "No hand-off waits.")


def acknowledge(args: argparse.Namespace) -> None:
    memory = _memory(args)
    rows = [memory.acknowledge(number, reason=args.reason) for number in args.numbers]
    _print(args, rows, "\n".join(f"{row['id']} acknowledged {row['acknowledged_at']}" for row in rows))


def inject(args: argparse.Namespace) -> None:
    print(_memory(args).inject(agent=args.agent, limit=args.limit), end="")


def plans(args: argparse.Namespace) -> None:
    rows = _memory(args).plans(
        path=args.path, status=args.status, project=args.project, limit=args.limit, session=args.session
    )
    _print(args, rows, _lines(rows, lambda row: f"{row['path']} version {row['number']}: {row['title']}"))


def plan_status(args: argparse.Namespace) -> None:
    row = _memory(args).plan_status(args.number, args.status, reason=args.reason)
    _print(args, row, f"{row['id']} {row['status']}")


def plan_diff(args: argparse.Namespace) -> None:
    print(_memory(args).plan_diff(args.number, args.against), end="")


def decisions(args: argparse.Namespace) -> None:
    rows = _memory(args).decisions(
        topic=args.topic, status=args.status, project=args.project, limit=args.limit, session=args.session
    )
    _print(args, rows, _lines(rows, lambda row: f"{row['topic']}: {_line(row['choice'])}", prefix="D-"))


def supersede(args: argparse.Namespace) -> None:
    row = _memory(args).supersede(args.earlier, args.later, reason=args.reason)
    _print(args, row, f"D-{row['id']} {row['status']} by D-{row['superseded_by']}")


def conflict(args: argparse.Namespace) -> None:
    memory = _memory(args)
    rows = [memory.decision_status(number, "conflict", reason=args.reason) for number in args.numbers]
    _print(args, rows, "\n".join(f"D-{row['id']} {row['status']}" for row in rows))


def settle(args: argparse.Namespace) -> None:
    rows = _memory(args).settle(args.keep, args.others, reason=args.reason)
    _print(args, rows, "\n".join(f"D-{row['id']} {row['status']}" for row in rows))


def export(args: argparse.Namespace) -> None:
    memory = _memory(args)
    if args.number is not None:
        print(memory.decision_record(args.number), end="")
    else:
        told = {"topic": args.topic, "project": args.project, "session": args.session}
        print(memory.export_decisions(**told), end="")


def link(args: argparse.Namespace) -> None:
    row = _memory(args).link_finding(args.finding, args.decision)
    _print(args, row, f"R-{args.finding} D-{args.decision}")


def mistakes(args: argparse.Namespace) -> None:
    rows = _memory(args).mistakes(
        category=args.category,
        without_lesson="true" if args.without_lesson else None,
        project=args.project,
        limit=args.limit,
        session=args.session,
    )
    _print(args, rows, _lines(rows, lambda row: f"{row['category']}: {_line(row['summary'])}", prefix="M-"))


def lesson(args: argparse.Namespace) -> None:
    memory = _memory(args)
    if args.write is None:
        print(memory.lesson(args.number), end="")
        return
    text = sys.stdin.read() if args.write == "-" else args.write
    row = memory.write_lesson(args.number, text, file=args.file, reason=args.reason)
    _print(args, row, str(row["lesson_file"]))


def _lines(rows: "list[dict[str, Any]]", told: Callable[[dict[str, Any]], str], prefix: str = "") -> str:
    lines = []
    for row in rows:
        status = f" {row['status']}" if "status" in row else ""
        lines.append(f"{prefix}{row['id']}{status} {told(row)}")
    return "\n".join(lines) or "There is none."


def _line(text: str) -> str:
    """The first words of a text, on one line."""
    folded = " ".join(text[:1200].split())
    return folded if len(folded) <= 120 else folded[:119] + "…"


def _number(text: str) -> int:
    """``118``, ``D-118``, ``M-118``…"""
    return int(text.upper().lstrip("DMRPS").removeprefix("-"))


def _verb(commands: Commands, name: str, run: Run, help: str) -> argparse.ArgumentParser:  # noqa: A002
    made = command(commands, name, run, help)
    made.add_argument("--session", metavar="ID", help="whose it is; without it the environment's")
    made.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    return made


def _memory(args: argparse.Namespace) -> "Memory":
    from contextdash.client import Client

    return Client(session=args.session).memory


def _print(args: argparse.Namespace, answer: Any, line: str) -> None:
    print(json.dumps(answer, ensure_ascii=False, indent=2) if args.json else line)
