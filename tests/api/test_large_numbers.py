"""Numbers that no database holds, in addresses and bodies: refused or not found, at every endpoint."""

import json
from typing import Any

import pytest

from contextdash.api import api as described
from tests import factories
from tests.conftest import Api

pytestmark = pytest.mark.django_db

HUGE = (10**30, 2**63, -(10**30))
SCHEMA = described.get_openapi_schema()


def operations() -> list[Any]:
    return [
        pytest.param(method, path, told, id=f"{method.upper()} {path}")
        for path, methods in SCHEMA["paths"].items()
        for method, told in methods.items()
    ]


def is_number(schema: dict[str, Any]) -> bool:
    return "integer" in [one.get("type") for one in (schema, *schema.get("anyOf", ()))]


@pytest.mark.parametrize(("method", "path", "told"), operations())
def test_no_number_is_too_large_to_be_answered(api, method, path, told):
    factories.session("s-1")
    for number in HUGE:
        address, asked = path, []
        for one in told.get("parameters", ()):
            value = number if is_number(one["schema"]) else "s-1"
            if one["in"] == "path":
                address = address.replace(f"{{{one['name']}}}", str(value))
            elif is_number(one["schema"]) or one.get("required"):
                asked.append(f"{one['name']}={value}")
        answer = send(api, method, f"{address}?{'&'.join(asked)}", {})
        assert answer.status_code < 500


def send(api: Api, method: str, address: str, body: dict[str, Any]) -> Any:
    raw = json.dumps(body)
    return api.client.generic(
        method.upper(), address, raw, content_type="application/json", headers=api.headers
    )


def bodies() -> list[Any]:
    found = []
    for path, methods in SCHEMA["paths"].items():
        for method, told in methods.items():
            content = told.get("requestBody", {}).get("content", {}).get("application/json", {})
            schema = content.get("schema", {})
            name = schema.get("$ref", "").rpartition("/")[2]
            fields = SCHEMA["components"]["schemas"].get(name, {}).get("properties", {})
            if any(is_number(one) for one in fields.values()):
                found.append(pytest.param(method, path, name, id=f"{method.upper()} {path}"))
    return found


@pytest.mark.parametrize(("method", "path", "name"), bodies())
def test_no_number_in_a_body_is_too_large_to_be_answered(api, method, path, name):
    factories.session("s-1")
    schema = SCHEMA["components"]["schemas"][name]
    fields = schema["properties"]
    needed = {field: sample(field, fields[field]) for field in schema.get("required", ())}
    for field in (field for field, told in fields.items() if is_number(told)):
        for number in HUGE:
            answer = send(api, method, path.replace("{session_id}", "s-1"), {**needed, field: number})
            assert answer.status_code < 500, (field, number)


def sample(field: str, told: dict[str, Any]) -> Any:
    if is_number(told):
        return 1
    return [] if told.get("type") == "array" else "s-1" if field.endswith("session_id") else "x"
