from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Api


@pytest.fixture
def deliver(api: Api) -> Callable[..., None]:
    """A hook of Claude Code for the session "hooked"."""

    def deliver(event: str, **fields: Any) -> None:
        body = {"hook_event_name": event, "session_id": "hooked", "cwd": "/srv/work", **fields}
        answer = api.post("hooks/claude-code", body)
        assert answer.status_code == 204, answer.content

    return deliver
