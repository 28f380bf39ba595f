"""The pieces that every connected agent shares: the hook client's file, the user's address and token."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from contextdash import hook_client
from contextdash.connect.edits import CannotEdit, Edit, is_tracked, read, read_json


def config_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "contextdash" / "client.json"


def hook_file() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "contextdash" / "hook.py"


def hook_command() -> list[str]:
    """What runs the hook client: a copy in the user's data folder, which outlives this installation.

    The interpreter is the one on PATH where that is new enough; a virtual environment's may be gone tomorrow.
    """
    # -I and -S: nothing of the agent's own environment is imported, and the start is faster.
    return [_python(), "-I", "-S", str(hook_file())]


def _python() -> str:
    found = shutil.which("python3")
    if found is None:
        return sys.executable
    # A version manager's shim is a shell script that costs more than the hook itself: ask for what it runs.
    ask = "import sys; print(sys.executable if sys.version_info >= (3, 8) else '')"
    done = subprocess.run([found, "-I", "-S", "-c", ask], capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() or sys.executable


def hook_edit() -> Edit:
    path = hook_file()
    return Edit(path, read(path), Path(hook_client.__file__).read_text(encoding="utf-8"))


def config_edit(*, url: str, token: str, exclude: list[str]) -> Edit:
    """The user's own file with address, token and folders to leave out; what is not given stays.

    Raises:
        CannotEdit: git tracks the file, so a token in it would be published.
    """
    path = config_file()
    old, config = read_json(path)
    if url:
        config["url"] = url
    if token:
        if is_tracked(path):
            raise CannotEdit(
                f"git tracks {path}, so no token is written into it. "
                "Take it out of version control, or set CONTEXTDASH_TOKEN instead."
            )
        config["token"] = token
    known = config.get("exclude")
    folders = [
        *(known if isinstance(known, list) else []),
        *(str(Path(folder).expanduser().resolve()) for folder in exclude),
    ]
    if folders:
        config["exclude"] = sorted(set(folders))
    return Edit(path, old, json.dumps(config, indent=2) + "\n")
