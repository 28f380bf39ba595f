"""Where the server of this machine is, for its commands: standard library only, since verbs ask it too."""

import os
from pathlib import Path

from contextdash.hook_client import DEFAULT_URL

_FILE = "address"


def data_dir() -> Path:
    """Where the database and the secret key live: the XDG data folder unless CONTEXTDASH_DATA names one."""
    named = os.environ.get("CONTEXTDASH_DATA")
    if named:
        return Path(named).expanduser()
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "contextdash"


def leave(url: str) -> None:
    """Write down where the server is. The file stays when it stops: it will most likely be there again."""
    file = data_dir() / _FILE
    beside = file.with_name(f"{_FILE}.{os.getpid()}")
    beside.write_text(f"{url}\n", encoding="utf-8")
    beside.replace(file)


def left_url() -> str:
    """The address that the last start of the server left in the data folder, else the default one."""
    try:
        url = (data_dir() / _FILE).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return DEFAULT_URL
    return url if url.startswith(("http://", "https://")) else DEFAULT_URL
