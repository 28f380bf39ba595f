"""Commands that copy, put back, hand out and erase, on the database directly: beside a running server too."""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from contextdash.cli.kit import Commands, command, with_database, with_django

if TYPE_CHECKING:
    from sessions_app.models import Purge

ROOT = Path(__file__).resolve().parent.parent.parent


def add_commands(commands: Commands) -> None:
    copy = command(commands, "backup", backup, "Copy the SQLite database, beside a running server too.")
    copy.add_argument("file", type=Path)
    put_back = command(commands, "restore", restore, "Put a backup in place; the server must be stopped.")
    put_back.add_argument("file", type=Path)
    hand_out = command(commands, "session-export", export, "Write a session and its subagents out.")
    hand_out.add_argument("session", help="an id, the beginning of one, or latest")
    hand_out.add_argument("--format", choices=("md", "json"), default="md", help="md without it")
    hand_out.add_argument("--output", type=Path, help="a new file; without it the text is printed")
    erase = command(commands, "purge", purge, "Erase what a session's events hold, its subagents' too.")
    erase.add_argument("session", help="its whole id; a deleted one as well")
    erase.add_argument("--reason", required=True, help="kept with who and when, for good")


def backup(args: argparse.Namespace) -> None:
    with_database()
    from contextdash.services import backup as service

    copy = service.backup(args.file)
    print(f"Wrote {copy.path}: {copy.size:,} bytes, checked.")
    print(_rows(copy.counts))


def restore(args: argparse.Namespace) -> None:
    with_django()
    from contextdash import clock
    from contextdash.services import backup as service

    service.refuse_while_served()
    copy = service.inspect(args.file)
    part = service.prepare_copy(args.file)
    try:
        _migrate(part)
        replaced = service.put_in_place(part, expected=copy.counts, at=clock.now())
    finally:
        service.discard(part)
    print(f"{replaced.restored.path} is now the copy of {args.file}, checked.")
    print(_rows(replaced.restored.counts))
    if replaced.kept is not None:
        print(f"What was there before is kept as {replaced.kept}.")


def export(args: argparse.Namespace) -> None:
    with_database()
    from sessions_app.export.answer import chunks
    from sessions_app.queries.sessions_api import find_session

    pieces = chunks(find_session(args.session), args.format)
    if args.output is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    # x: a file that is there stays. 0600: it holds what agents read and wrote.
    with open(args.output, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        for piece in pieces:
            file.write(piece)
    print(f"Wrote {args.output}: {args.output.stat().st_size:,} bytes.")


def purge(args: argparse.Namespace) -> None:
    with_database()
    from contextdash.actor import SYSTEM
    from sessions_app.queries.sessions_api import any_session
    from sessions_app.services.purging import purge_session

    session = any_session(args.session)
    done = purge_session(session=session, actor=SYSTEM, reason=args.reason, tell=_tell)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    noun = "event" if done.events_deleted == 1 else "events"
    print(f"Erased for good: {done.events_deleted:,} {noun} of {session.id}. Turns and summaries stay.")


def _tell(purge: "Purge") -> None:
    if sys.stderr.isatty():
        print(f"\r{purge.events_deleted:,} events erased", end="", file=sys.stderr, flush=True)


def _migrate(part: Path) -> None:
    """In a process of its own, whose database is the copy."""
    kept = {name: value for name, value in os.environ.items() if name != "CONTEXTDASH_DB_FILE"}
    migrate = "from contextdash.cli import main; raise SystemExit(main(['migrate']))"
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", migrate],
        cwd=ROOT,
        env={**kept, "CONTEXTDASH_DB": str(part.resolve())},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        from contextdash.services.backup import BackupFailed

        raise BackupFailed("The copy could not be migrated to this version. Nothing was changed.")


def _rows(counts: Mapping[str, int]) -> str:
    told = {"reviews": "findings", "sprint_backlog": "stories", "users": "people"}
    return (
        "It holds " + ", ".join(f"{count:,} {told.get(name, name)}" for name, count in counts.items()) + "."
    )
