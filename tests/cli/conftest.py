import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextdash.cli import main
from contextdash.client import SESSION_VARIABLES
from tests import factories


@pytest.fixture
def agents_shell(live_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The shell of an agent in session s-1, in a folder and a home of its own, with a real server."""
    for name in SESSION_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("CONTEXTDASH_URL", live_server.url)
    monkeypatch.setenv("CONTEXTDASH_TOKEN", factories.token("write")[1])
    monkeypatch.setenv("CONTEXTDASH_SESSION_ID", "s-1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Run a command; its exit code and what it printed."""

    def run(*words: str, stdin: str = "") -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        return main(list(words)), capsys.readouterr().out.strip()

    return run
