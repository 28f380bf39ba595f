"""Every form of every page, found by following links as a person would, filled with what nobody expects."""

import re
from collections import deque
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from django.test import Client

from contextdash.models import Change, User
from tests.seed import seed_demo

NOT_FOLLOWED = ("/admin/", "/static/", "/signout/", "/api/")
PAGES = 250
ELSEWHERE = ["https://evil.example/", "/\\evil.example", "javascript:alert(1)", "²"]


@dataclass
class Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)


class Reader(HTMLParser):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.forms: list[Form] = []
        self.open: Form | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "a" and told.get("href", "").startswith("/"):
            self.links.append(told["href"].partition("#")[0])
        elif tag == "form" and told.get("method", "").lower() == "post":
            self.open = Form(told.get("action") or self.path)
            self.forms.append(self.open)
        elif tag in ("input", "textarea", "select", "button") and self.open is not None and told.get("name"):
            self.open.fields.setdefault(told["name"], told.get("value") or "words")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.open = None


def kind(address: str) -> str:
    """Pages and forms of one kind are tried once: numbers and filters make no other kind."""
    return re.sub(r"/[^/]*\d[^/]*(?=/)", "/N", address.partition("?")[0])


@pytest.fixture
def desk(owner: User) -> Client:
    seed_demo(owner)
    client = Client(raise_request_exception=False)
    client.force_login(owner)
    return client


@pytest.fixture
def forms(desk: Client) -> list[Form]:
    found: dict[tuple[str, frozenset[str]], Form] = {}
    tried: set[str] = set()
    todo = deque(["/"])
    while todo and len(tried) < PAGES:
        address = todo.popleft()
        if kind(address) in tried or address.startswith(NOT_FOLLOWED):
            continue
        tried.add(kind(address))
        answer = desk.get(address)
        assert answer.status_code < 400, address
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        reader = Reader(address.partition("?")[0])
        reader.feed(answer.text)
        todo.extend(reader.links)
        for form in reader.forms:
            if not form.action.startswith(NOT_FOLLOWED):
                found.setdefault((kind(form.action), frozenset(form.fields)), form)
    assert len(found) > 30
    return list(found.values())


def test_no_field_of_any_form_breaks_the_server(desk: Client, forms: list[Form]) -> None:
    broken: list[tuple[object, ...]] = []
    for form in forms:
        for name in form.fields:
            for bad in ("a\0b", "9" * 5000):
                answer = desk.post(form.action, {**form.fields, name: bad})
                if answer.status_code >= 500:
                    broken.append((answer.status_code, form.action, name, bad[:5]))
    assert not broken
    assert not Change.objects.filter(reason__contains="9" * 2001).exists()


def test_no_form_sends_a_person_to_another_site(desk: Client, forms: list[Form]) -> None:
    led: list[tuple[object, ...]] = []
    for form in forms:
        for place in ELSEWHERE:
            answer = desk.post(form.action, {**form.fields, "next": place})
            target = answer.headers.get("Location", "/")
            if answer.status_code >= 500 or not re.match(r"[/?](?![/\\])", target + " "):
                led.append((answer.status_code, form.action, place, target))
    assert not led
