"""``contextdash import``: the history that clients keep on this machine, into the dashboard."""

import argparse
import gc
import os
import sys
from pathlib import Path
from time import sleep

from contextdash.cli.kit import Commands, command, with_database

BAR = 30


def add_commands(commands: Commands) -> None:
    made = command(commands, "import", run, "Read transcripts into the dashboard; again reads what is new.")
    made.add_argument("paths", nargs="*", metavar="FILE|DIR", help="transcripts, or folders of them")
    made.add_argument("--all", action="store_true", help="everything that the clients on this machine keep")
    made = command(commands, "watch", watch, "Read transcripts as they grow, until it is stopped (Ctrl+C).")
    made.add_argument(
        "paths", nargs="*", metavar="DIR", help="folders; without one those of all clients here"
    )
    made.add_argument("--every", type=float, default=2.0, metavar="SECONDS", help="how often to look")


def run(args: argparse.Namespace) -> int:
    with_database()
    from sessions_app.importers import finding
    from sessions_app.importers.files import Place, Result, import_file
    from sessions_app.importers.stamps import stamp_of

    _leave_alone_what_is_loaded()
    roots = [Path(path) for path in args.paths]
    if args.all:
        roots += finding.standard_folders(os.environ, Path.home())
    if not roots:
        print("Name a file or folder, or say --all." if not args.all else "No client has transcripts here.")
        return 0 if args.all else 2
    found = finding.find(roots)
    sizes = [stamp_of(one.path).size for one in found]
    bar = _Bar(sum(sizes), len(found))
    results: list[Result] = []
    failed = 0
    for number, (one, size) in enumerate(zip(found, sizes, strict=True), 1):
        bar.file(number, one.path.name)
        try:
            results.append(import_file(one.path, place=Place.here(), progress=bar.bytes))
        except OSError as error:
            failed += 1
            print(f"contextdash: {one.path}: {error.strerror}", file=sys.stderr)
        bar.done(size)
    bar.clear()
    read = [result for result in results if not result.unchanged]
    skipped = sum(result.skipped for result in results)
    events = sum(result.events for result in results)
    same = len(results) - len(read)
    print(f"{len(found)} transcripts: {len(read)} read, {same} unchanged, {events} new events.")
    if skipped:
        print(f"{skipped} lines could not be used; the page /imports/ shows them with their files.")
    return 1 if failed else 0


def watch(args: argparse.Namespace) -> int:
    with_database()
    from sessions_app.importers.following import Follower

    _leave_alone_what_is_loaded()
    follower = Follower([Path(path) for path in args.paths], os.environ, Path.home())
    while True:
        for path, events in follower.look():
            print(f"{events} new events in {path}", flush=True)
        for problem in follower.problems():
            print(f"contextdash: {problem}", file=sys.stderr, flush=True)
        sleep(max(0.1, args.every))


def _leave_alone_what_is_loaded() -> None:
    """What is loaded by now stays: full collections that look through it took an eighth of an import."""
    gc.collect()
    gc.freeze()


class _Bar:
    """A line that says how far it is; only for people who watch."""

    def __init__(self, total: int, files: int) -> None:
        self._total = max(total, 1)
        self._files = files
        self._before = 0
        self._label = ""
        self._watched = sys.stderr.isatty()

    def file(self, number: int, name: str) -> None:
        self._label = f"{number}/{self._files} {name[:40]}"
        self.bytes(0)

    def bytes(self, read: int) -> None:
        if self._watched:
            part = min(1.0, (self._before + read) / self._total)
            full = "█" * int(part * BAR)
            print(f"\r\x1b[K{full:░<{BAR}} {part:4.0%} {self._label}", end="", file=sys.stderr, flush=True)

    def done(self, size: int) -> None:
        self._before += size

    def clear(self) -> None:
        if self._watched:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
