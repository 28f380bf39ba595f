"""Services of this installation for systemd and launchd, to be put where those look for them."""

import os
import plistlib
import sys
from pathlib import Path

from contextdash.address import data_dir

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "contextdash"
LABEL = "dev.contextdash.server"
SECRET = ("DATABASE_URL", "CONTEXTDASH_SECRET_KEY")
"""Never printed: a file that names them is (``NAME_FILE``)."""
OF_CLIENTS = ("CONTEXTDASH_TOKEN", "CONTEXTDASH_SESSION_ID", "CONTEXTDASH_SPOOL", "CONTEXTDASH_HOOKS")
"""Of the machine where agents work, not of the server."""
STOP_SECONDS = 30


def unit(kind: str) -> str:
    """The text of a service that runs ``contextdash serve`` with the variables that are set now."""
    return _systemd() if kind == "systemd" else _launchd()


def _command() -> list[str]:
    """The installed command, else this Python with the project's code."""
    installed = Path(sys.executable).with_name(NAME)
    if installed.exists():
        return [str(installed), "serve"]
    code = "import sys; from contextdash.cli import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", code, "serve"]


def _environment() -> dict[str, str]:
    """What is set of what the server reads; always the data folder, since a service has another home."""
    wanted = {
        name: value
        for name, value in os.environ.items()
        if (
            name in ("HOST", "PORT", "RETENTION_DAYS", "DATABASE_URL_FILE") or name.startswith("CONTEXTDASH_")
        )
        and name not in (*SECRET, *OF_CLIENTS)
    }
    return {**wanted, "CONTEXTDASH_DATA": str(data_dir().resolve())}


def _left_out() -> list[str]:
    return [name for name in SECRET if os.environ.get(name)]


def _systemd() -> str:
    whole_machine = os.geteuid() == 0
    place = (
        f"/etc/systemd/system/{NAME}.service" if whole_machine else f"~/.config/systemd/user/{NAME}.service"
    )
    control = "systemctl" if whole_machine else "systemctl --user"
    lines = [
        f"# Save as {place}, then: {control} daemon-reload && {control} enable --now {NAME}",
        *(
            f"# {name} is not printed: put it into a file of its own and set {name}_FILE."
            for name in _left_out()
        ),
        "[Unit]",
        "Description=contextdash, flight recorder of coding agents",
        "After=network.target",
        "",
        "[Service]",
        f"WorkingDirectory={_escaped(str(ROOT))}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in sorted(_environment().items())),
        f"ExecStart={' '.join(_quoted(word) for word in _command())}",
        "Restart=on-failure",
        f"TimeoutStopSec={STOP_SECONDS}",
        "NoNewPrivileges=true",
        "",
        "[Install]",
        f"WantedBy={'multi-user.target' if whole_machine else 'default.target'}",
        "",
    ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """As one word of a unit file."""
    escaped = _escaped(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"'


def _escaped(text: str) -> str:
    """A percent sign would begin a specifier, and a line must not end here."""
    return text.replace("%", "%%").replace("\n", " ")


def _launchd() -> str:
    """Save it as ``~/Library/LaunchAgents/<label>.plist``; docs/operations.md says how."""
    service = {
        "Label": LABEL,
        "ProgramArguments": _command(),
        "WorkingDirectory": str(ROOT),
        "EnvironmentVariables": _environment(),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ExitTimeOut": STOP_SECONDS,
        "StandardErrorPath": str(data_dir().resolve() / "server.log"),
    }
    return plistlib.dumps(service).decode()
