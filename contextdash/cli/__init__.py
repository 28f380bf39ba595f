"""The ``contextdash`` command.

The writers' verbs are called by agents many times a session, so nothing here imports Django: commands that
need it do so when they run.
"""

import argparse
import sys
from importlib import import_module

from contextdash import __version__

MODULES = {
    "serve": ("serve", "migrate"),
    "people": ("signin-link", "user"),
    "local": ("token", "doctor"),
    "keeping": ("backup", "restore", "session-export", "purge"),
    "hooks": ("connect", "spool", "hook"),
    "verbs": (
        *("ensure", "close", "message", "recent", "plan", "decision", "mistake"),
        *("review", "fresh", "hook-event"),
    ),
    "memory": (
        *("inbox", "ack", "inject", "plans", "plan-status", "plan-diff"),
        *("decisions", "supersede", "conflict", "settle", "all-stand", "export", "link", "unlink"),
        *("mistakes", "lesson", "correct", "standup"),
    ),
    "board": ("backlog", "sprint"),
    "sessions": ("session", "session-label", "project"),
    "importing": ("import", "watch"),
    "gate": ("gate",),
    "findings": ("findings", "resolve", "dismiss", "reopen", "sarif-import", "sarif-export"),
}
"""Which module of this package has which commands: only that of the command asked for is loaded."""


def main(argv: list[str] | None = None) -> int:
    """Run a command; its exit code: 0, 1 when it was refused, 2 when it was not understood."""
    words = sys.argv[1:] if argv is None else argv
    args = parser(words[0] if words else "").parse_args(words)
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
        print(f"contextdash: {_told(error)}", file=sys.stderr)
        return 1
    return code or 0


def parser(asked: str = "") -> argparse.ArgumentParser:
    """The parser of the command asked for; of all of them for any other word."""
    made = argparse.ArgumentParser(
        prog="contextdash", description="The flight recorder and working memory of a team's coding agents."
    )
    made.add_argument("--version", action="version", version=f"contextdash {__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    having = [module for module, names in MODULES.items() if asked in names]
    for module in having or MODULES:
        import_module(f"contextdash.cli.{module}").add_commands(commands)
    return made


def _told(error: Exception) -> str:
    """Its text, without the number and the quotes that Python puts around a file's name."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


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
