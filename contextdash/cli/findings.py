"""Findings from a shell: resolved, dismissed, reopened; SARIF logs in and out."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from contextdash.cli.kit import Commands, client_of, command, first_words, given, show, verb

if TYPE_CHECKING:
    from contextdash.client import Client

_STEPS = {"resolve": "resolved", "dismiss": "dismissed", "reopen": "reopened"}


def add_commands(commands: Commands) -> None:
    made = verb(commands, "findings", find, "Findings, newest first.")
    made.add_argument("--state", choices=["open", "resolved", "dismissed", "all"], default="open")
    made.add_argument("--severity", help="Critical, High, Medium, Low, Info or Other")
    made.add_argument("--target", metavar="PATH", help="a file, or a folder with all below it")
    made.add_argument("--diff-hash", metavar="SHA256")
    made.add_argument("--agent", help="the reviewer")
    made.add_argument("--project", metavar="SLUG")
    made.add_argument("--limit", type=int, default=20)
    for name, resolution in _STEPS.items():
        made = command(commands, name, close, f"{name.capitalize()} findings, with the reason.")
        made.add_argument("ids", nargs="+", metavar="NUMBER", help="of a finding: 204 or R-204")
        made.add_argument("--reason", required=True, help="kept in the history")
        made.set_defaults(resolution=resolution)
    made = command(commands, "sarif-import", sarif_import, "Findings from a SARIF 2.1.0 log.")
    made.add_argument("file", help="the log, or - for standard input")
    made.add_argument("--diff-hash", metavar="SHA256", help="the diff of results that name none")
    made.add_argument("--session", metavar="ID", help="whose it is; without it the environment's")
    made = command(commands, "sarif-export", sarif_export, "Findings as a SARIF 2.1.0 log, printed.")
    made.add_argument("--state", choices=["open", "resolved", "dismissed", "all"], default="open")
    made.add_argument("--diff-hash", metavar="SHA256")
    made.add_argument("--project", metavar="SLUG")


def find(args: argparse.Namespace) -> None:
    names = ("state", "severity", "target", "diff_hash", "agent", "project", "session", "limit")
    rows = client_of(args).memory.findings(**given(args, *names))
    lines = [
        f"R-{row['id']} {row['severity']} {row['resolution']} {row['target']}: {first_words(row['finding'])}"
        for row in rows
    ]
    show(args, rows, "\n".join(lines) or "There is none.")


def close(args: argparse.Namespace) -> int:
    """Exit 1 when one of them did not move."""
    from contextdash.client import ApiError

    try:
        ids = [int(text.removeprefix("R-")) for text in args.ids]
    except ValueError:
        raise ApiError(0, "invalid", "A finding is named by its number: 204 or R-204.") from None
    answer = _client(None).close_findings(ids, resolution=args.resolution, reason=args.reason)
    for row in answer["items"]:
        print(f"R-{row['id']} {row['resolution']}")
    for refused in answer["refused"]:
        print(f"contextdash: {refused['detail']}", file=sys.stderr)
    return 1 if answer["refused"] else 0


def sarif_import(args: argparse.Namespace) -> None:
    if args.file == "-":
        log = sys.stdin.buffer.read()
    else:
        with open(args.file, "rb") as file:
            log = file.read()
    answer = _client(args.session).import_sarif(log, diff_hash=args.diff_hash)
    print(f"{len(answer['added'])} imported, {answer['known']} known")


def sarif_export(args: argparse.Namespace) -> None:
    log = _client(None).export_sarif(state=args.state, diff_hash=args.diff_hash, project=args.project)
    print(json.dumps(log, indent=1, ensure_ascii=False))


def _client(session: str | None) -> "Client":
    from contextdash.client import Client

    return Client(session=session)
