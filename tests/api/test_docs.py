"""docs/api.md names every endpoint, and every example in it works as it stands."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from backlog_app.models import Criterion, StoryLink
from contextdash import limits
from contextdash.api import api
from sessions_app.models import Event, Iteration, Run, ToolOperation, Turn
from tests import factories
from tests.claims.documented import runs_of_the_examples
from tests.conftest import Api

pytestmark = pytest.mark.django_db

DOCS = (Path(__file__).parent.parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^    (curl .*(?:\n    .+)*)", DOCS, re.MULTILINE)


def routes() -> list[str]:
    paths = api.get_openapi_schema()["paths"]
    return sorted(f"{method.upper()} {path}" for path, methods in paths.items() for method in methods)


@pytest.mark.parametrize("route", routes())
def test_every_endpoint_is_described_with_an_example(route):
    described = DOCS.partition(f"### `{route}`")[2].partition("\n### ")[0]
    assert "curl " in described, f"docs/api.md says nothing of {route}"


def test_nothing_is_described_that_is_not_there():
    described = set(re.findall(r"^### `(\w+ /api/v1/[^`]+)`", DOCS, re.MULTILINE))
    hooks = {route for route in described if "/hooks/" in route}
    assert described - hooks == set(routes())


def test_the_examples_work_from_top_to_bottom(owner):
    caller = factories.token("admin", owner)[1]
    for session in ("s-1", "old-1", "old-2"):
        Api(caller).post("sessions/ensure", session_id=session)
    runs_of_the_examples()
    other = Api(caller).post("backlog", story="Another story", acceptance_criteria="- [ ] it is").json()["id"]
    made: dict[str, Any] = {}
    failures = []
    for example in EXAMPLES:
        answer = run(filled(example, caller, other, made))
        collection = re.search(r"/api/v1/([a-z-]+)\"", example)
        if "-X POST" in example and collection and answer.status_code == 201:
            made[collection[1]] = answer.json().get("id")
        if answer.status_code >= 300:
            failures.append((example, answer.status_code, answer.content[:300]))
    assert failures == []
    assert len(EXAMPLES) >= len(routes())


def filled(example: str, token: str, other: int, made: dict[str, Any]) -> str:
    """The example with the variables of a shell, and the ids that its own rows have got."""
    values = {
        "CONTEXTDASH_URL": "",
        "CONTEXTDASH_TOKEN": token,
        "OTHER": other,
        "ORDINAL": first(Event.objects.filter(session__id="s-1"), "ordinal"),
        "TURN": first(Turn.objects.filter(session__id="s-1"), "key"),
        "OPENED": first(Turn.objects.filter(session__id="s-3"), "key"),
        "RUN": first(Run.objects.filter(session__id="s-3"), "key"),
        "CALL": first(Iteration.objects.filter(session__id="s-3"), "key"),
        "OPERATION": first(ToolOperation.objects.filter(run__session__id="s-3"), "key"),
        "CRITERION": first(Criterion.objects.filter(story_id=made.get("backlog")), "id"),
        "DECISION": made.get("decisions"),
        "LINK": first(StoryLink.objects.filter(story_id=made.get("backlog")), "id"),
    }
    text = example.replace("\n    ", "\n").replace("\\\n", " ")
    for name, value in values.items():
        text = text.replace(f"${name}", str(value))
    for collection, row_id in made.items():
        text = re.sub(rf"(/{collection})/1\b", rf"\1/{row_id}", text)
    return text.replace('"ids": [1, 2]', f'"ids": [{made.get("reviews", 1)}]')


def first(rows: Any, field: str) -> Any:
    return rows.values_list(field, flat=True).first()


def run(command: str) -> Any:
    """What this curl command would get."""
    words = iter(shlex.split(command)[1:])
    method, url, headers, data = "GET", "", {}, ""
    form: dict[str, Any] = {}
    for word in words:
        match word:
            case "-X":
                method = next(words)
            case "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            case "-d" | "--data-binary":
                data = next(words)
            case "-F":
                name, _, value = next(words).partition("=")
                form[name] = SimpleUploadedFile(value[1:], b"%PDF-1.7") if value.startswith("@") else value
            case _:
                url = word
    if form:
        return Client().post(url, form, headers=headers)
    return Client().generic(method, url, data, content_type=headers.pop("Content-Type", ""), headers=headers)


@pytest.mark.parametrize(
    "name",
    [
        "BODY_BYTES",
        "DECOMPRESSED_BYTES",
        "JSON_DEPTH",
        "TEXT_BYTES",
        "ATTACHMENT_BYTES",
        "FORK_CALLS",
        "PAGE_ROWS",
        "NDJSON_LINES",
    ],
)
def test_the_limits_are_those_of_the_code(name):
    row = next(line for line in DOCS.splitlines() if line.startswith("|") and f"`{name}`" in line)
    number = int(re.search(r"\| ([\d,]+)", row)[1].replace(",", ""))
    value = getattr(limits, name)
    assert number == (value // limits.MIB if "MiB" in row else value)


def test_the_description_is_for_programs_and_people_who_are_let_in(api, page):
    for answer in (api.get("openapi.json"), page.get("/api/v1/openapi.json")):
        assert answer.status_code == 200
        assert answer.json()["components"]["schemas"]["Error"]["required"] == ["error", "detail"]
    assert page.get("/api/v1/docs").status_code == 200
    assert Client().get("/api/v1/openapi.json").status_code == 401
    asked = Client().get("/api/v1/docs", headers={"Accept": "text/html"})
    assert asked["Location"] == "/signin/?next=/api/v1/docs"
