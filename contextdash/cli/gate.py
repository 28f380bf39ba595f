"""``contextdash gate``: may this diff be committed? As a command and as git's pre-commit hook.

Standard library only, since every commit waits for it. Exit code 0 lets the commit pass, 1 does not.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from contextdash.cli.kit import Commands, command
from contextdash.diffhash import diff_hash

if TYPE_CHECKING:
    from contextdash.client import Client, Row

SKIP_VARIABLE = "CONTEXTDASH_SKIP_GATE"
OVERRIDE = "env-override"
WAIT_SECONDS = 5.0
"""How long a commit waits for the server's answer."""
MARK = "# Written by contextdash gate --install"

_OFF = frozenset({"", "0", "false", "no", "off"})
_SHORT = 12


def add_commands(commands: Commands) -> None:
    made = command(commands, "gate", gate, "Exit 0 when this diff has a fresh review and nothing bad open.")
    made.add_argument("--staged", action="store_true", help="what is staged; else all that differs from HEAD")
    made.add_argument(
        "--window",
        default="",
        help="how long a review is fresh: 30m, 2h, 7d; else what the server is set to (2h)",
    )
    made.add_argument("--strict", action="store_true", help="exit 1 when the server is away")
    made.add_argument("--install", action="store_true", help="make it this repository's pre-commit hook")
    made.add_argument("--session", metavar="ID", help="whose commit it is; without it the environment's")


def gate(args: argparse.Namespace) -> int:
    if args.install:
        return install(args)
    from contextdash.client import ApiError, Client

    skip = OVERRIDE if os.environ.get("CONTEXTDASH_SKIP_GATE", "").strip().lower() not in _OFF else ""
    try:
        raw, files = _diff(staged=args.staged)
    except GitError as error:
        return _say(str(error), 0 if skip else 1)
    client = Client(session=args.session, timeout=WAIT_SECONDS)
    key = diff_hash(raw)
    try:
        answer = client.gate(key, files=files, window=args.window, skip=skip)
    except ApiError as error:
        if skip:
            return _say(f"skipped by {SKIP_VARIABLE}; not recorded: {error.detail}", 0)
        if error.status not in (0, 401, 403) and error.status < 500:
            return _say(error.detail, 1)
        asked = "closed (--strict)" if args.strict else "open"
        return _say(f"{asked}, since it could not be asked: {error.detail}", 1 if args.strict else 0)
    return _say(_words(answer, client), 0 if answer["passes"] else 1)


class GitError(Exception):
    """git could not be asked for the diff."""


def _diff(*, staged: bool) -> tuple[bytes, list[str]]:
    """The diff as git prints it, byte for byte, and the names of its files."""
    which = "--staged" if staged else _head()
    names = _git("diff", which, "--name-only", "-z").split(b"\0")
    return _git("diff", which), [
        os.fsdecode(name).encode("utf-8", "replace").decode() for name in names if name
    ]


def _head() -> str:
    """What all changes are compared with: HEAD, or the empty tree while nothing was committed."""
    try:
        _git("rev-parse", "--quiet", "--verify", "HEAD")
    except GitError:
        # git names it in this repository's own hash; outside of a repository it says so.
        return _git("hash-object", "-t", "tree", os.devnull).decode("ascii").strip()
    return "HEAD"


def _git(*words: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], capture_output=True, check=False)  # noqa: S603, S607
    except OSError as error:
        raise GitError(f"git could not be run: {error}") from None
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(told[0] if told else f"git {words[0]} failed")
    return done.stdout


def _words(answer: "Row", client: "Client") -> str:
    """The answer in one line."""
    key = answer["diff_hash"]
    short = key[:_SHORT]
    page = f"{client.url}/reviews/?{urlencode({'diff': key})}"
    match answer["answer"]:
        case "fresh":
            return f"fresh, {short} was reviewed {answer['reviewed_at'][:16]}Z."
        case "skipped":
            why = {"docs-only": "only documents", "no-staged-files": "an empty diff", OVERRIDE: SKIP_VARIABLE}
            return f"skipped: {why.get(answer['reason'], answer['reason'])}."
        case "blocked":
            return (
                f"blocked, {_counted(answer)} open on {short}. "
                f"Resolve or dismiss them: {page} (or {SKIP_VARIABLE}=1)"
            )
        case "stale":
            return (
                f"stale, {short} was last reviewed {answer['reviewed_at'][:16]}Z, "
                f"more than {answer['window']} ago. "
                f"Review it again with --diff-hash {key} (or {SKIP_VARIABLE}=1)"
            )
    return f"nobody reviewed this diff. Log a review with --diff-hash {key} (or {SKIP_VARIABLE}=1)"


def _counted(answer: "Row") -> str:
    counted = ((answer["critical"], "Critical"), (answer["high"], "High"))
    words = " and ".join(f"{count} {name}" for count, name in counted if count)
    return f"{words} {'is' if answer['critical'] + answer['high'] == 1 else 'are'}"


def _say(text: str, code: int) -> int:
    print(f"contextdash gate: {' '.join(text.split())}", file=sys.stderr)
    return code


# As git's hook


def install(args: argparse.Namespace) -> int:
    """Write the pre-commit hook. A hook that is not ours stays, and the person is told what to add to it."""
    try:
        # git says where hooks are: core.hooksPath and worktrees move them.
        path = Path(os.fsdecode(_git("rev-parse", "--git-path", "hooks").rstrip(b"\n"))) / "pre-commit"
    except GitError as error:
        return _say(str(error), 1)
    window = f" --window {shlex.quote(args.window)}" if args.window else ""
    call = f"gate --staged{window}" + (" --strict" if args.strict else "")
    if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        return _say(f"{path} is another hook and was left alone. Add this line to it: contextdash {call}", 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_script(call, strict=args.strict), encoding="utf-8")
    path.chmod(0o755)
    return _say(f"installed as {path}. {SKIP_VARIABLE}=1 git commit … passes it once, and is recorded.", 0)


def _script(call: str, *, strict: bool) -> str:
    return f"""#!/bin/sh
{MARK}: a commit needs a fresh review of its diff.
gate={shlex.quote(_own_path())}
[ -x "$gate" ] || gate=contextdash
if ! command -v "$gate" >/dev/null 2>&1; then
  echo "contextdash gate: the contextdash command was not found, so nothing was asked." >&2
  exit {1 if strict else 0}
fi
exec "$gate" {call}
"""


def _own_path() -> str:
    """This command's file, so that the hook works without the folder being on PATH."""
    called = Path(sys.argv[0])
    if called.name == "contextdash" and called.is_file():
        return str(called.resolve())
    return shutil.which("contextdash") or "contextdash"
