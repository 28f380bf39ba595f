"""Commands of the machines that agents run on: connect an agent, hand over what a hook got, its spool."""

import argparse

from contextdash.cli import connect, spool
from contextdash.cli.kit import Commands, command


def add_commands(commands: Commands) -> None:
    connect.add_arguments(
        command(commands, "connect", connect.run, "Make an agent's hooks report here, or stop it.")
    )
    spool.add_arguments(
        command(commands, "spool", spool.run, "What hooks on this machine could not deliver.")
    )
    made = command(
        commands, "hook", hook, "Hand standard input, a hook's payload, to the server; always exits 0."
    )
    made.add_argument("client", help="such as claude-code")
    made.add_argument("event", nargs="?", help="where the payload does not name it")


def hook(args: argparse.Namespace) -> int:
    from contextdash import hook_client

    return hook_client.main([args.client, *([args.event] if args.event else [])])
