"""The ``contextdash`` command.

The writers' verbs are called by agents many times a session, so nothing here imports Django: commands that
need it do so when they run.
"""

import argparse
import sys

from contextdash import __version__
from contextdash.cli import local, serve, verbs


def main(argv: list[str] | None = None) -> int:
    """Run a command; its exit code: 0, 1 when it was refused, 2 when it was not understood."""
    args = parser().parse_args(argv)
    try:
        code: int | None = args.run(args)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has seen enough
        return 1
    except Exception as error:
        if not _is_plain(error):
            raise
        print(f"contextdash: {error}", file=sys.stderr)
        return 1
    return code or 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="contextdash", description="The flight recorder and working memory of a team's coding agents."
    )
    made.add_argument("--version", action="version", version=f"contextdash {__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (serve, local, verbs):
        module.add_commands(commands)
    return made


def _is_plain(error: Exception) -> bool:
    """Whether the text of an error says all that a person needs; any other shows its trace."""
    from contextdash.client import ApiError

    if isinstance(error, ApiError | OSError):
        return True
    if "django" not in sys.modules:
        return False
    from django.core.exceptions import ImproperlyConfigured
    from django.db import DatabaseError

    from contextdash.errors import Refused

    return isinstance(error, ImproperlyConfigured | DatabaseError | Refused)
