"""The frame around every page, and the pages of errors."""

import re

import pytest
from django.test import Client

from contextdash.actor import SYSTEM
from sessions_app.services.projects import create_project
from tests import factories
from tests.seed import seed_demo
from tests.teller import HOSTILE

pytestmark = pytest.mark.django_db


def text_of(response) -> str:
    return response.content.decode()


@pytest.mark.parametrize("path", ["/", "/connect/", "/profile/", "/signin/", "/nowhere/"])
def test_pages_hold_no_inline_script_or_style(page: Client, path: str):
    seed_demo()
    client = Client() if path == "/signin/" else page
    body = text_of(client.get(path))
    assert not re.search(r"<style|<[^>]+\s(style|on\w+)=|=\"javascript:", body)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", body))


def test_the_place_is_marked(page: Client):
    body = text_of(page.get("/connect/"))
    assert len(re.findall(r'href="/connect/"[^>]*aria-current="page"', body)) == 2  # navigation, and "More"
    assert '<a class="skip" href="#main">' in body


def test_the_project_goes_along_in_links_and_search(page: Client):
    create_project(name="Parcel Router", actor=SYSTEM)
    body = text_of(page.get("/connect/?project=parcel-router"))
    assert 'href="/board/?project=parcel-router"' in body
    assert '<input type="hidden" name="project" value="parcel-router">' in body
    assert "· Parcel Router · contextdash</title>" in body


def test_an_unknown_project_breaks_nothing(page: Client):
    assert page.get("/?project=" + "%3Cscript%3E" * 50).status_code == 200


def test_a_hostile_project_name_is_text(page: Client):
    project = create_project(name=HOSTILE, actor=SYSTEM)
    body = text_of(page.get(f"/?project={project.slug}"))
    assert "<script>alert" not in body


def test_freshness_is_quiet_then_live(page: Client):
    assert "nothing has arrived yet" in text_of(page.get("/freshness/"))
    factories.session("s", activity="working")
    body = text_of(page.get("/freshness/"))
    assert ">Live<" in body
    assert '<span hidden data-count-of="sessions">1</span>' in body


def test_freshness_answers_nothing_when_nothing_is_new(page: Client):
    version = re.search(r'data-version="([^"]+)"', text_of(page.get("/freshness/")))[1]
    assert page.get("/freshness/", {"v": version}).status_code == 204


def test_the_frame_costs_few_queries(page: Client, django_assert_max_num_queries):
    seed_demo()
    with django_assert_max_num_queries(13):  # the browser session and the person among them
        page.get("/profile/")


def test_an_unknown_address_is_told_in_words(page: Client):
    answer = page.get("/nowhere/")
    assert answer.status_code == 404
    assert "There is nothing here" in text_of(answer)


def test_a_refusal_is_a_page_with_what_to_do(viewer):
    client = Client()
    client.force_login(viewer)
    answer = client.post("/connect/tokens/", {"name": "x", "scope": "read"})
    assert answer.status_code == 403
    assert "Viewers change nothing. Ask an owner" in text_of(answer)


def test_a_refusal_to_htmx_is_one_line_for_a_toast(viewer):
    client = Client()
    client.force_login(viewer)
    answer = client.post("/connect/tokens/", {"name": "x"}, headers={"HX-Request": "true"})
    assert answer.status_code == 403
    assert answer["Content-Type"].startswith("text/plain")


def test_a_form_without_its_token_is_told_in_words(member):
    client = Client(enforce_csrf_checks=True)
    client.force_login(member)
    answer = client.post("/profile/theme/", {"theme": "dark"})
    assert answer.status_code == 403
    assert "This form is too old" in text_of(answer)
