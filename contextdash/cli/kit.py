"""What commands share."""

import argparse
import os
from collections.abc import Callable, Iterable, Sequence

type Commands = argparse._SubParsersAction[argparse.ArgumentParser]
type Run = Callable[[argparse.Namespace], int | None]


def command(commands: Commands, name: str, run: Run, help: str) -> argparse.ArgumentParser:  # noqa: A002
    """Add a command; ``help`` is its line in the list and the head of its own help."""
    made: argparse.ArgumentParser = commands.add_parser(name, help=help, description=help)
    made.set_defaults(run=run)
    return made


def with_django() -> None:
    """Make the database usable in this process; what it makes on disk is nobody else's to read."""
    os.umask(0o077)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextdash.settings")
    import django

    django.setup()


def own_url() -> str:
    """Where the server is, as people's browsers name it.

    CONTEXTDASH_URL says it, else HOST and PORT when one is set, else what the server left behind.
    """
    from contextdash.address import left_url
    from contextdash.serving import address_url

    told = os.environ.get("HOST") or os.environ.get("PORT")
    return (os.environ.get("CONTEXTDASH_URL") or (address_url() if told else left_url())).rstrip("/")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], empty: str) -> None:
    """Print rows below their head in columns, or the one line ``empty``."""
    lines = [head, *rows]
    if len(lines) == 1:
        print(empty)
        return
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
