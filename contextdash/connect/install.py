"""The pieces that every connected agent shares: the hook client's file, the user's address and token."""

import json
import os
import shutil
import sys
from pathlib import Path

from contextdash import hook_client
from contextdash.connect.edits import CannotEdit, Edit, is_tracked, read, read_json

MIN_PYTHON = (3, 8)


def config_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "contextdash" / "client.json"


def hook_file() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "contextdash" / "hook.py"


def hook_command() -> list[str]:
    """What runs the hook client: a copy in the user's data folder, which outlives this installation.

    The interpreter is the one on PATH where there is one; a virtual environment's may be gone tomorrow.
    """
    python = shutil.which("python3") or sys.executable
    # -I and -S: nothing of the agent's own environment is imported, and the start is faster.
    return [python, "-I", "-S", str(hook_file())]


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
