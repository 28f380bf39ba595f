"""docs/acts.md: every act has its page, its endpoint, its verb and its method, and no act is left out."""

import argparse
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest
from django.contrib import admin
from django.test import Client as Browser

from contextdash.adminkit import Corrections
from contextdash.cli import parser
from contextdash.client import Client
from tests.api.test_docs import routes
from tests.core.test_access import OF_ONESELF, PAGES, PUBLIC, address

ACTS = (Path(__file__).parent.parent.parent / "docs" / "acts.md").read_text(encoding="utf-8")
ROWS = [
    [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[2:6]]
    for line in ACTS.splitlines()
    if line.startswith("| ") and "`" in line
]
NAMES = [line.split("|")[1].strip() for line in ACTS.splitlines() if line.startswith("| ") and "`" in line]
PROGRAMS = re.findall(
    r"`([a-z-]+)`", ACTS.partition("all\nthat begins with")[2].partition(" or ends with")[0]
)
PROGRAMS_OF_SESSIONS = re.findall(
    r"`([a-z-]+)`", ACTS.partition("or ends with")[2].partition("below `sessions`")[0]
)
ONLY_PEOPLE = re.findall(r"`([a-z/]+)`", ACTS.partition("pages below")[2].partition(", the sign-in")[0])

CORRECTED = {model.__name__ for model, of in admin.site._registry.items() if isinstance(of, Corrections)}


def column(number: int) -> set[str]:
    return {word for row in ROWS for word in row[number]}


def verbs(of: argparse.ArgumentParser, before: str = "") -> Iterator[str]:
    """Every command with the words that lead to it."""
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield f"{before}{name}"
                yield from verbs(below, f"{before}{name} ")


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_an_act_has_all_its_ways(row):
    pages, endpoints, commands, methods = row
    assert all((pages, endpoints, commands, methods))
    for page in pages:
        if page.startswith("admin "):
            assert page.removeprefix("admin ") in CORRECTED
        else:
            assert page in PAGES
    for endpoint in endpoints:
        assert endpoint.replace(" ", " /api/v1/") in routes()
    assert set(commands) <= set(verbs(parser()))
    for method in methods:
        assert callable(attrgetter(method)(Client(url="http://127.0.0.1:9")))


def test_no_endpoint_that_changes_something_is_left_out():
    told = column(1) | {"POST hook-events", "POST sessions/ensure"}
    changing = {
        route.replace("/api/v1/", "") for route in routes() if not route.startswith(("GET ", "HEAD "))
    }
    left = {
        route
        for route in changing - told
        if (words := route.split(" ")[1].split("/"))[0] not in PROGRAMS
        and not (words[0] == "sessions" and words[-1] in PROGRAMS_OF_SESSIONS)
    }
    assert left == set(), "add a line to docs/acts.md, with a page, a verb and a method of the client"


def test_no_page_that_changes_something_is_left_out(viewer):
    """A page that changes something refuses a viewer."""
    browser = Browser()
    browser.force_login(viewer)
    told = column(0)
    left = set()
    for route in PAGES:
        of_people = route in PUBLIC or route.startswith((*OF_ONESELF, *ONLY_PEOPLE))
        if not of_people and browser.post(address(route)).status_code == 403 and route not in told:
            left.add(route)
    assert left == set(), "add a line to docs/acts.md, with an endpoint, a verb and a method of the client"
