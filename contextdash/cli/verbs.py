"""What agents write and read from a shell, over HTTP: one command for each helper of the older system.

A text argument may be ``-``: then it is read from standard input.
"""

import argparse
from typing import TYPE_CHECKING

from contextdash.cli.kit import Commands, client_of, show, text_of, verb

if TYPE_CHECKING:
    from contextdash.client import Row


def add_commands(commands: Commands) -> None:
    _add_session_verbs(commands)
    _add_memory_verbs(commands)
    _add_review_verbs(commands)
    made = verb(commands, "hook-event", hook_event, "Report how a hook script ended; prints its number.")
    made.add_argument("hook", help="the script's name")
    made.add_argument("event", help="what it ran for, such as PreToolUse")
    made.add_argument("outcome", help="ok, warn, fail or skip")
    made.add_argument("--ms", type=int, default=0, help="how long it took, in milliseconds")
    made.add_argument("--payload", metavar="JSON", help="what it wants to be known")


def _add_session_verbs(commands: Commands) -> None:
    made = verb(commands, "ensure", ensure, "Find or make the session; prints its id.")
    made.add_argument("session_id", nargs="?", help="without it the environment's, else a new one")
    made.add_argument("--request", metavar="TEXT", help="what the person asked for")
    made.add_argument("--branch", help="else the branch of this folder")
    made.add_argument("--agent", help="the agent's role")
    made.add_argument("--project", metavar="SLUG")
    made = verb(commands, "close", close, "End the session; closing twice keeps the first end.")
    made.add_argument("--status", default="closed", help="closed (default) or errored")
    made.add_argument("--reason", default="")


def _add_memory_verbs(commands: Commands) -> None:
    made = verb(commands, "message", message, "Write a message; prints its number.")
    made.add_argument("content")
    made.add_argument("--agent", required=True, help="who writes")
    made.add_argument("--role", required=True, help="request, response, handoff or finding")
    made.add_argument("--target", metavar="AGENT", help="whom it is for")
    made = verb(commands, "recent", recent, "The newest messages of the session, oldest first.")
    made.add_argument("--limit", type=int, default=20)
    made.add_argument("--agent", help="only what this agent wrote")
    made = verb(commands, "plan", plan, "Keep a version of a plan; prints its number.")
    made.add_argument("path", help="the plan's file, or its name with --body")
    made.add_argument("--body", metavar="TEXT", help="the plan itself, instead of the file's content")
    made.add_argument("--title")
    made.add_argument("--agent", help="who made it; else the session's agent or the token's name")
    made.add_argument("--status", help="proposed, approved, in_progress, done or superseded")
    made = verb(commands, "decision", decision, "Log a decision; prints its number.")
    made.add_argument("topic")
    made.add_argument("choice")
    made.add_argument("rationale", nargs="?", default="")
    made.add_argument("--agent", help="who decided; else the session's agent or the token's name")
    made.add_argument("--supersedes", type=int, metavar="NUMBER", help="the decision that this one replaces")
    made = verb(commands, "mistake", mistake, "Write down what went wrong; prints its number.")
    made.add_argument("summary")
    made.add_argument("--agent", required=True, help="who made it")
    made.add_argument("--category", default="other", help="build, test, review, dispatch, hook, …")
    made.add_argument("--cause", metavar="TEXT", help="the root cause")
    made.add_argument("--fix", metavar="TEXT")
    made.add_argument("--lesson", metavar="FILE", help="where the lesson is written")


def _add_review_verbs(commands: Commands) -> None:
    made = verb(commands, "review", review, "Log a finding; prints its number.")
    made.add_argument("target", help="path, path:line or a reference")
    made.add_argument("severity", help="Critical, High, Medium, Low or Info")
    made.add_argument("finding")
    made.add_argument("--fix", metavar="TEXT", help="what is suggested")
    made.add_argument("--agent", help="the reviewer")
    made.add_argument("--diff-hash", metavar="SHA256")
    made = verb(commands, "fresh", fresh, "Exit 0 when this diff was reviewed lately, else 1.")
    made.add_argument("diff_hash", metavar="SHA256")
    made.add_argument("--window", help="how lately: 90s, 30m, 2h, 7d; else what the server is set to (2h)")


def ensure(args: argparse.Namespace) -> None:
    row = client_of(args).ensure(
        args.session_id,
        user_request=_text(args.request),
        branch=args.branch,
        agent_name=args.agent,
        project=args.project,
    )
    _print(args, row, str(row["id"]))


def close(args: argparse.Namespace) -> None:
    row = client_of(args).close(status=args.status, reason=args.reason)
    _print(args, row, f"{row['id']} {row['status']}")


def message(args: argparse.Namespace) -> None:
    content = _text(args.content) or ""
    row = client_of(args).message(agent=args.agent, role=args.role, content=content, target=args.target)
    _print(args, row)


def recent(args: argparse.Namespace) -> None:
    rows = client_of(args).recent(limit=args.limit, agent=args.agent)
    if args.json:
        _print(args, rows)
        return
    for row in rows:
        target = f" to {row['target']}" if row["target"] else ""
        print(f"[{row['ts'][:19]}Z] {row['agent_name']} ({row['role']}{target})\n{row['content']}\n")


def plan(args: argparse.Namespace) -> None:
    body = _text(args.body)
    if body is None:
        with open(args.path, encoding="utf-8", errors="replace") as file:
            body = file.read()
    row = client_of(args).plan(
        path=args.path, body=body, title=args.title, created_by=args.agent, status=args.status
    )
    _print(args, row)


def decision(args: argparse.Namespace) -> None:
    row = client_of(args).decision(
        topic=args.topic,
        choice=args.choice,
        rationale=_text(args.rationale) or "",
        agent=args.agent,
        supersedes=args.supersedes,
    )
    _print(args, row)


def mistake(args: argparse.Namespace) -> None:
    row = client_of(args).mistake(
        agent=args.agent,
        summary=_text(args.summary) or "",
        category=args.category,
        root_cause=args.cause,
        fix=args.fix,
        lesson_file=args.lesson,
    )
    _print(args, row)


def review(args: argparse.Namespace) -> None:
    row = client_of(args).review(
        target=args.target,
        severity=args.severity,
        finding=_text(args.finding) or "",
        suggested_fix=args.fix,
        reviewer=args.agent,
        diff_hash=args.diff_hash,
    )
    _print(args, row)


def fresh(args: argparse.Namespace) -> int:
    found = client_of(args).fresh(args.diff_hash, window=args.window)
    if found is None:
        print(f"Not reviewed within {args.window}." if args.window else "Not reviewed lately.")
        return 1
    _print(args, found, f"Reviewed {found['ts']} by {found['reviewer_agent']}.")
    return 0


def hook_event(args: argparse.Namespace) -> None:
    row = client_of(args).hook_event(
        hook=args.hook,
        event=args.event,
        outcome=args.outcome,
        duration_ms=args.ms,
        payload=_text(args.payload),
    )
    _print(args, row)


def _text(value: str | None) -> str | None:
    return None if value is None else text_of(value)


def _print(args: argparse.Namespace, answer: "Row | list[Row]", line: str | None = None) -> None:
    show(args, answer, str(answer["id"]) if line is None and isinstance(answer, dict) else str(line))
