import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client

from contextdash.errors import Refused
from contextdash.models import User
from contextdash.services import tokens
from contextdash.writer import writer
from tests import factories


@pytest.fixture(autouse=True)
def _fresh_token_lookups() -> None:
    tokens.forget_lookups()


@pytest.fixture(autouse=True, scope="session")
def _right_database(request: pytest.FixtureRequest) -> None:
    wanted = request.config.getoption("--database")
    assert connection.vendor == wanted, f"asked for {wanted}, running on {connection.vendor}"


@pytest.fixture
def owner(db: None) -> User:
    return factories.user("owner", username="olga")


@pytest.fixture
def member(db: None) -> User:
    return factories.user("member", username="mia")


@pytest.fixture
def viewer(db: None) -> User:
    return factories.user("viewer", username="vic")


@pytest.fixture
def page(member: User) -> Client:
    """A signed-in member's browser, without one."""
    client = Client()
    client.force_login(member)
    return client


class Api:
    """A program with a token: ``api.post("decisions", topic=…)``; paths are below /api/v1/."""

    def __init__(self, secret: str) -> None:
        self.client = Client()
        self.headers = {"Authorization": f"Bearer {secret}"}

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/api/v1/{path}", query, headers=self.headers)

    def post(self, path: str, body: Any = None, headers: dict[str, str] | None = None, **fields: Any) -> Any:
        return self.client.post(
            f"/api/v1/{path}",
            json.dumps(fields if body is None else body),
            content_type="application/json",
            headers={**self.headers, **(headers or {})},
        )

    def patch(self, path: str, headers: dict[str, str] | None = None, **fields: Any) -> Any:
        return self.client.patch(
            f"/api/v1/{path}",
            json.dumps(fields),
            content_type="application/json",
            headers={**self.headers, **(headers or {})},
        )


@pytest.fixture
def api(member: User) -> Api:
    return Api(factories.token("write", member)[1])


@pytest.fixture
def make_api() -> Any:
    """``make_api("read")``: a program with a token of that scope."""
    return lambda scope, who=None: Api(factories.token(scope, who)[1])


@pytest.fixture(params=["the one writer", "each for itself"])
def each_way_of_writing(request: pytest.FixtureRequest) -> Iterator[None]:
    """As the server writes, and as commands beside it do."""
    if request.param == "the one writer" and connection.vendor == "sqlite":
        writer.start()
        yield
        writer.stop()
    else:
        yield


@pytest.fixture
def together() -> Iterator[Callable[..., list[Any]]]:
    """Run functions at the same moment; their results or refusals in order."""

    def attempt(function: Callable[[], Any]) -> Any:
        try:
            return function()
        except Refused as refusal:
            return refusal
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=8) as pool:
        yield lambda *functions: list(pool.map(attempt, functions))
