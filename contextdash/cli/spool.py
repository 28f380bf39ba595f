"""``contextdash spool``: what this machine's hooks could not deliver yet."""

import argparse
import time
from pathlib import Path

from contextdash.address import left_url
from contextdash.connect import probe
from contextdash.hook_client import Config, Spool

FLUSH_SECONDS = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["status", "flush"])


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0 when nothing is left waiting, else 1."""
    spool = Spool()
    if arguments.action == "flush":
        config = Config(left_url())
        counts = spool.flush(config, time.monotonic() + FLUSH_SECONDS)
        print(
            f"Delivered {counts['delivered']}, refused {counts['refused']}, still waiting {counts['left']}."
        )
        if counts["left"]:
            print(probe.trouble(url=config.url, token=config.token, client="claude-code"))
        return 0 if counts["left"] == 0 else 1
    waiting = spool.names()
    print(f"Spool: {spool.folder}")
    if not waiting:
        print("Nothing waits.")
    else:
        size = sum((Path(spool.folder) / name).stat().st_size for name in waiting)
        oldest = int(waiting[0].split("-")[0]) / 1_000_000
        print(f"{len(waiting)} wait, {size:,} bytes, the oldest since {time.ctime(oldest)}.")
        print("Deliver them now: contextdash spool flush")
    refused = len(list(Path(spool.folder).glob("*.refused")))
    if refused:
        print(f"{refused} were refused by the server and are kept there as .refused files.")
    dropped = Path(spool.folder) / "dropped"
    if dropped.exists():
        print(f"{dropped.read_text()} were dropped because the spool was full.")
    return 0 if not waiting else 1
