"""``contextdash connect CLIENT``: an agent's hooks report here, in one command."""

import argparse
import os
from pathlib import Path

from contextdash.address import left_url
from contextdash.connect import install, probe
from contextdash.connect.clients import CLIENTS, Target
from contextdash.connect.edits import CannotEdit, Edit, read_json

HTTP_LOSES = (
    "With --http nothing is kept while the server is away, host and repository are not told, and\n"
    "CONTEXTDASH_TOKEN must be set in the environment that starts Claude Code. SessionStart stays a command."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", choices=CLIENTS)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for every project of this user (the default)")
    where.add_argument("--project", metavar="DIR", type=Path, help="for the project in DIR only")
    parser.add_argument("--http", action="store_true", help="claude-code: let it post by itself")
    known = left_url().replace("%", "%%")  # argparse reads the text as a format
    parser.add_argument("--url", help=f"the server's address (default {known}, or what is known)")
    parser.add_argument("--token", help="a token with the scope ingest or write")
    parser.add_argument("--exclude", metavar="DIR", action="append", default=[], help="a folder to leave out")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--remove", action="store_true", help="take the hooks out again")


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0, or 1 with a line that says why nothing was changed."""
    try:
        edits = [edit for edit in plan(arguments) if edit.changes]
    except CannotEdit as error:
        print(error)
        return 1
    if not edits:
        print("Nothing to change: it is so already.")
        return 0
    if arguments.dry_run:
        print("\n".join(_masked(edit) for edit in edits))
        print("Nothing was changed.")
        return 0
    # All of it before the first word: whoever reads the output may stop listening.
    done = [_apply(edit) for edit in edits]
    print("\n".join(done))
    print(_next_step(arguments))
    return 0


def _apply(edit: Edit) -> str:
    backup = edit.apply()
    if edit.path == install.config_file():
        edit.path.chmod(0o600)
    told = f"{'Wrote' if edit.new is not None else 'Removed'} {edit.path}"
    return told if backup is None else f"{told}\n  before: {backup}"


def plan(arguments: argparse.Namespace) -> list[Edit]:
    """Every edit that the command would make.

    Raises:
        CannotEdit: a file that must not be touched.
    """
    client = CLIENTS[arguments.client]
    if arguments.http and arguments.client != "claude-code":
        raise CannotEdit(f"{arguments.client} has no http hooks; leave out --http.")
    _, config = read_json(install.config_file())
    url = arguments.url or os.environ.get("CONTEXTDASH_URL") or str(config.get("url") or left_url())
    target = Target(
        home=Path.home(),
        project=arguments.project.expanduser().resolve() if arguments.project else None,
        command=install.hook_command(),
        url=url.rstrip("/"),
        http=arguments.http,
    )
    edits = client.edits(target, arguments.remove)
    if arguments.remove:
        return edits
    token = arguments.token or os.environ.get("CONTEXTDASH_TOKEN") or ""
    return [
        install.hook_edit(),
        install.config_edit(url=target.url, token=token, exclude=arguments.exclude),
        *edits,
    ]


def _next_step(arguments: argparse.Namespace) -> str:
    if arguments.remove:
        return f"{arguments.client} no longer reports here."
    lines = [CLIENTS[arguments.client].after]
    if arguments.http:
        lines.append(HTTP_LOSES)
    config = read_json(install.config_file())[1]
    token = os.environ.get("CONTEXTDASH_TOKEN") or str(config.get("token") or "")
    trouble = probe.trouble(url=str(config.get("url")), token=token, client=arguments.client)
    lines.append(trouble or "The server answers and takes what is delivered.")
    return "\n".join(lines)


def _masked(edit: Edit) -> str:
    """The edit as a diff without the token, since people paste what a dry run prints.

    A hook client that is new is only named: its lines would bury those that matter.
    """
    if edit.old is None and edit.new is not None and edit.path == install.hook_file():
        return f"New: {edit.path} ({len(edit.new.splitlines())} lines, the hook client)"
    token = str(read_json(install.config_file())[1].get("token") or "") if edit.old else ""
    text = edit.diff()
    for line in text.splitlines():
        name, _, value = line.partition('"token": ')
        if value:
            text = text.replace(line, f'{name}"token": "…"')
    return text.replace(token, "…") if token else text
