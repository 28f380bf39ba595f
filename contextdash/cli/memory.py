"""The team's memory from a shell: inbox, plans, decisions, mistakes and what became of them; stand-up."""

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from contextdash.cli.kit import Commands, add_reason, client_of, first_words, number, show, text_of, verb

if TYPE_CHECKING:
    from contextdash.client_memory import Memory


def add_commands(commands: Commands) -> None:
    _add_handoffs(commands)
    _add_plans(commands)
    _add_decisions(commands)
    _add_mistakes(commands)
    made = verb(commands, "correct", correct, "Correct fields of what was written down; prints its version.")
    made.add_argument("noun", choices=["message", "plan", "decision", "mistake", "finding"])
    made.add_argument("number", type=number)
    made.add_argument("fields", nargs="+", metavar="FIELD=VALUE", help="a value may be - for standard input")
    add_reason(made)
    made = verb(commands, "standup", standup, "Who does what and what holds it up, as Markdown.")
    made.add_argument("--window", metavar="LENGTH", help="how far back: 24h (default), 3d; at most 31d")
    made.add_argument("--from", dest="begin", metavar="TIME", help="2026-11-30 or 2026-11-30T09:00")
    made.add_argument("--to", dest="end", metavar="TIME")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--shape", choices=["people", "workflow", "digest"], default="people")


def _add_handoffs(commands: Commands) -> None:
    made = verb(commands, "inbox", inbox, "Hand-offs that wait, newest first.")
    made.add_argument("--target", metavar="AGENT", help="only for this agent or person")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--stream", action="store_true", help="an answer in the next session counts too")
    made = verb(commands, "ack", acknowledge, "Acknowledge hand-offs.")
    made.add_argument("numbers", nargs="+", type=number)
    made.add_argument("--undo", action="store_true", help="they wait again")
    add_reason(made)
    made = verb(commands, "inject", inject, "The newest messages as text for an agent's context.")
    made.add_argument("--agent", help="only what this agent wrote")
    made.add_argument("--limit", type=int, default=20)


def _add_plans(commands: Commands) -> None:
    made = verb(commands, "plans", plans, "Plans, newest first.")
    made.add_argument("--path")
    made.add_argument("--status", help="proposed, approved, in_progress, done or superseded")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--limit", type=int, default=20)
    made = verb(commands, "plan-status", plan_status, "Say how a plan stands.")
    made.add_argument("number", type=number)
    made.add_argument("status", help="proposed, approved, in_progress, done or superseded")
    add_reason(made)
    made = verb(commands, "plan-diff", plan_diff, "What changed since the version before, or another.")
    made.add_argument("number", type=number)
    made.add_argument("--against", type=int, metavar="VERSION")


def _add_decisions(commands: Commands) -> None:
    made = verb(commands, "decisions", decisions, "The decision log, newest first.")
    made.add_argument("--topic")
    made.add_argument("--status", help="stands, conflict or superseded")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--limit", type=int, default=20)
    made = verb(commands, "supersede", supersede, "A later decision takes the place of an earlier one.")
    made.add_argument("earlier", type=number)
    made.add_argument("later", type=number)
    add_reason(made)
    made = verb(commands, "conflict", conflict, "Say that decisions contradict each other.")
    made.add_argument("numbers", nargs="+", type=number)
    add_reason(made)
    made = verb(commands, "settle", settle, "Keep one of decisions that contradict each other.")
    made.add_argument("keep", type=number)
    made.add_argument("others", nargs="+", type=number)
    add_reason(made, required=True)
    made = verb(commands, "export", export, "Decisions as Markdown ADRs, printed.")
    made.add_argument("number", nargs="?", type=number, help="only this one")
    made.add_argument("--topic")
    made.add_argument("--project", metavar="SLUG")
    made = verb(
        commands, "all-stand", all_stand, "Say that decisions do not contradict each other after all."
    )
    made.add_argument("numbers", nargs="+", type=number)
    add_reason(made, required=True)
    for name, run, told in (
        ("link", link, "Link a finding to the decision that it led to."),
        ("unlink", unlink, "Cut a finding from a decision."),
    ):
        made = verb(commands, name, run, told)
        made.add_argument("finding", type=number)
        made.add_argument("decision", type=number)
        add_reason(made)


def _add_mistakes(commands: Commands) -> None:
    made = verb(commands, "mistakes", mistakes, "Mistakes, newest first.")
    made.add_argument("--category")
    made.add_argument("--without-lesson", action="store_true")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--limit", type=int, default=20)
    made = verb(commands, "lesson", lesson, "A mistake's lesson as a Markdown file, printed; or write it.")
    made.add_argument("number", type=number)
    made.add_argument("--write", metavar="TEXT", help="the lesson, or - for standard input")
    made.add_argument("--file", help="where the lesson is kept")
    add_reason(made)


def standup(args: argparse.Namespace) -> None:
    answer = _memory(args).standup(
        **{"from": args.begin, "to": args.end},
        window=args.window,
        project=args.project,
        shape=args.shape,
        session=args.session,
    )
    show(args, answer, answer["markdown"].rstrip())


def inbox(args: argparse.Namespace) -> None:
    box = _memory(args).inbox(target=args.target, project=args.project, stream=args.stream)
    rows = [
        f"{row['id']} {row['agent_name']} to {row['target']}: {first_words(row['content'])}"
        for row in box["items"]
    ]
    if box["hidden"]:
        rows.append(f"and {box['hidden']} older")
    show(args, box, "\n".join(rows) or "No hand-off waits.")


def acknowledge(args: argparse.Namespace) -> None:
    memory = _memory(args)
    rows = [memory.acknowledge(each, undo=args.undo, reason=args.reason) for each in args.numbers]
    lines = [
        f"{row['id']} acknowledged {row['acknowledged_at']}"
        if row["acknowledged_at"]
        else f"{row['id']} waits"
        for row in rows
    ]
    show(args, rows, "\n".join(lines))


def inject(args: argparse.Namespace) -> None:
    print(_memory(args).inject(agent=args.agent, limit=args.limit), end="")


def plans(args: argparse.Namespace) -> None:
    rows = _memory(args).plans(
        path=args.path, status=args.status, project=args.project, limit=args.limit, session=args.session
    )
    show(args, rows, _lines(rows, lambda row: f"{row['path']} version {row['number']}: {row['title']}"))


def plan_status(args: argparse.Namespace) -> None:
    row = _memory(args).plan_status(args.number, args.status, reason=args.reason)
    show(args, row, f"{row['id']} {row['status']}")


def plan_diff(args: argparse.Namespace) -> None:
    print(_memory(args).plan_diff(args.number, args.against), end="")


def decisions(args: argparse.Namespace) -> None:
    rows = _memory(args).decisions(
        topic=args.topic, status=args.status, project=args.project, limit=args.limit, session=args.session
    )
    show(args, rows, _lines(rows, lambda row: f"{row['topic']}: {first_words(row['choice'])}", prefix="D-"))


def supersede(args: argparse.Namespace) -> None:
    row = _memory(args).supersede(args.earlier, args.later, reason=args.reason)
    show(args, row, f"D-{row['id']} {row['status']} by D-{row['superseded_by']}")


def conflict(args: argparse.Namespace) -> None:
    memory = _memory(args)
    rows = [memory.decision_status(each, "conflict", reason=args.reason) for each in args.numbers]
    show(args, rows, "\n".join(f"D-{row['id']} {row['status']}" for row in rows))


def settle(args: argparse.Namespace) -> None:
    rows = _memory(args).settle(args.keep, args.others, reason=args.reason)
    show(args, rows, "\n".join(f"D-{row['id']} {row['status']}" for row in rows))


def export(args: argparse.Namespace) -> None:
    memory = _memory(args)
    if args.number is not None:
        print(memory.decision_record(args.number), end="")
    else:
        told = {"topic": args.topic, "project": args.project, "session": args.session}
        print(memory.export_decisions(**told), end="")


def all_stand(args: argparse.Namespace) -> None:
    memory = _memory(args)
    rows = [memory.decision_status(each, "stands", reason=args.reason) for each in args.numbers]
    show(args, rows, "\n".join(f"D-{row['id']} {row['status']}" for row in rows))


def link(args: argparse.Namespace) -> None:
    row = _memory(args).link_finding(args.finding, args.decision, reason=args.reason)
    show(args, row, f"R-{args.finding} D-{args.decision}")


def unlink(args: argparse.Namespace) -> None:
    _memory(args).unlink_finding(args.finding, args.decision, reason=args.reason)
    show(args, {}, f"R-{args.finding} and D-{args.decision} are not linked any more")


def correct(args: argparse.Namespace) -> int:
    """Exit 2 where something is not field=value."""
    pairs = [text.partition("=") for text in args.fields]
    if any(not equals for _, equals, _ in pairs):
        print('contextdash: name each field as field=value, such as choice="two files".', file=sys.stderr)
        return 2
    values: dict[str, Any] = {name: text_of(value) for name, _, value in pairs}
    row = _memory(args).correct(args.noun, args.number, reason=args.reason, **values)
    show(args, row, f"{args.noun} {row['id']} version {row['version']}")
    return 0


def mistakes(args: argparse.Namespace) -> None:
    rows = _memory(args).mistakes(
        category=args.category,
        without_lesson="true" if args.without_lesson else None,
        project=args.project,
        limit=args.limit,
        session=args.session,
    )
    show(
        args, rows, _lines(rows, lambda row: f"{row['category']}: {first_words(row['summary'])}", prefix="M-")
    )


def lesson(args: argparse.Namespace) -> None:
    memory = _memory(args)
    if args.write is None:
        print(memory.lesson(args.number), end="")
        return
    row = memory.write_lesson(args.number, text_of(args.write), file=args.file, reason=args.reason)
    show(args, row, str(row["lesson_file"]))


def _lines(rows: "list[dict[str, Any]]", told: Callable[[dict[str, Any]], str], prefix: str = "") -> str:
    lines = []
    for row in rows:
        status = f" {row['status']}" if "status" in row else ""
        lines.append(f"{prefix}{row['id']}{status} {told(row)}")
    return "\n".join(lines) or "There is none."


def _memory(args: argparse.Namespace) -> "Memory":
    return client_of(args).memory
