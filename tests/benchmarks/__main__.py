"""``make bench`` (``python -m tests.benchmarks``): what contextdash costs on this machine, as one table.

Each server is a real one on a temporary database. Rates vary by a third from run to run on shared cores:
compare what one run says.
"""

import argparse
from collections.abc import Callable

from tests.benchmarks import imports, ledgers, nouns, pages, telemetry, writes
from tests.benchmarks.writes import Row

PARTS: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "raw": lambda args: [writes.raw_sqlite(args.events)],
    "noop": lambda args: [writes.noop("gunicorn", args.events), writes.noop("granian", args.events)],
    "steady": lambda args: writes.steady(args.seconds),
    "saturated": lambda args: writes.saturated(args.events, wanted="≥ 800/s"),
    "granian": lambda args: writes.saturated(args.events, "--granian", wanted="≥ 1,100/s"),
    "batches": lambda args: writes.batched(max(args.events, 20_000)),
    "ledger": lambda args: ledgers.appends(max(args.events, 20_000)),
    "telemetry": lambda args: telemetry.telemetry(args.events),
    "imports": lambda args: imports.imports(),
    "nouns": lambda args: nouns.nouns(100_000),
    "pages": lambda args: pages.pages(10_000 if args.full else 1_000),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="only these parts")
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=30, help="of the steady load")
    parser.add_argument("--full", action="store_true", help="pages on 10,000 sessions and a million events")
    args = parser.parse_args()
    print(f"{'':44} {'measured':>18}   wanted")
    for part in args.parts or PARTS:
        for what, measured, wanted in PARTS[part](args):
            print(f"{what:44} {measured:>18}   {wanted}", flush=True)


if __name__ == "__main__":
    main()
