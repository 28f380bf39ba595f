"""A real Chromium against a live server: ``page`` is signed in by a link; an error of a script fails a test.

Debian's Chromium or any other that is on the PATH; without one the tests are skipped and say so, and in CI
they fail, since a skip nobody reads is a test nobody has.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page

from contextdash.actor import SYSTEM
from contextdash.models import User
from contextdash.services.signin import make_link
from tests import factories

# Playwright's event loop runs in the thread of the tests, where Django then suspects coroutines.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE_MS = 10_000
"""How long an expectation may take on a busy machine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    chromium = next((path for name in NAMES if (path := shutil.which(name))), None)
    if chromium is None:
        missing = "No Chromium was found, so the browser tests cannot run (install the package chromium)."
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    # No sandbox: as root, as in CI, Chromium has none; the pages are our own.
    return {"executable_path": chromium, "args": ["--no-sandbox", "--disable-dev-shm-usage"]}


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, Any]:
    return {
        "viewport": {"width": 1440, "height": 900},
        "locale": "en-GB",
        "timezone_id": "Europe/Berlin",
        "reduced_motion": "reduce",
    }


@pytest.fixture
def server(live_server: Any) -> str:
    return str(live_server.url)


@pytest.fixture
def owner(transactional_db: None) -> User:
    return factories.user("owner", username="olga")


@pytest.fixture
def errors() -> list[str]:
    """What the pages' scripts complained of; a test that provokes a refusal empties it."""
    return []


@pytest.fixture
def stranger(context: BrowserContext, errors: list[str]) -> Iterator[Page]:
    """A browser that nobody has signed in."""
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: _note(message, errors))
    yield page
    assert errors == []


def _note(message: ConsoleMessage, errors: list[str]) -> None:
    if message.type == "error":
        errors.append(f"{message.text} ({message.location.get('url', '')})")


@pytest.fixture
def sign_in(server: str) -> Callable[[Page, User], None]:
    def sign_in(page: Page, user: User) -> None:
        _, secret = make_link(user=user, actor=SYSTEM)
        page.goto(f"{server}/signin/{secret}/")

    return sign_in


@pytest.fixture
def page(stranger: Page, sign_in: Callable[[Page, User], None], owner: User) -> Page:
    """The owner's browser, at Today."""
    sign_in(stranger, owner)
    return stranger
