"""What is told of a session from a shell: its labels."""

import argparse

from contextdash.cli.kit import Commands, command


def add_commands(commands: Commands) -> None:
    made = command(commands, "session-label", label, "Replace the labels of a session; alone it prints them.")
    made.add_argument("labels", nargs="*", metavar="LABEL", help="all that it has from now on, in order")
    made.add_argument("--none", action="store_true", help="take all of them away")
    made.add_argument("--session", metavar="ID", help="whose they are; without it the environment's")
    made.add_argument("--reason", default="", help="kept in the history")


def label(args: argparse.Namespace) -> None:
    from contextdash.client import Client

    sessions = Client(session=args.session).sessions
    if args.labels or args.none:
        row = sessions.label([] if args.none else args.labels, reason=args.reason)
    else:
        row = sessions.one()
    for one in row["labels"]:
        print(one)
