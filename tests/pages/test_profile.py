import pytest
from django.test import Client

from contextdash.models import User

pytestmark = pytest.mark.django_db


def text_of(response) -> str:
    return response.content.decode()


def test_name_zone_and_theme_are_kept(page: Client, member: User):
    values = {"display_name": "Mia Wang", "time_zone": "Europe/Berlin", "theme": "dark"}
    page.post("/profile/", values)
    member.refresh_from_db()
    assert (member.get_full_name(), member.time_zone, member.theme) == tuple(values.values())
    body = text_of(page.get("/profile/"))
    assert 'data-theme="dark"' in body
    assert "Your profile is saved." in body


def test_an_unknown_zone_is_refused_and_the_rest_stays_filled_in(page: Client, member: User):
    answer = page.post("/profile/", {"display_name": "Mia", "time_zone": "Mars/Base", "theme": "dark"})
    assert answer.status_code == 422
    assert 'value="Mia"' in text_of(answer)
    member.refresh_from_db()
    assert member.theme == "system"


def test_the_system_theme_leaves_the_choice_to_the_browser(page: Client):
    assert "data-theme" not in text_of(page.get("/profile/"))


def test_the_menu_sets_the_theme_and_returns(page: Client, member: User):
    answer = page.post("/profile/theme/", {"theme": "light", "next": "/connect/?client=codex"})
    assert answer["Location"] == "/connect/?client=codex"
    member.refresh_from_db()
    assert member.theme == "light"


def test_the_menu_does_not_lead_to_another_site(page: Client):
    answer = page.post("/profile/theme/", {"theme": "light", "next": "//evil.example/"})
    assert answer["Location"] == "/"


def test_a_password_is_set_and_this_browser_stays_signed_in(page: Client, member: User):
    page.post("/profile/password/", {"password": "a long enough phrase"})
    member.refresh_from_db()
    assert member.check_password("a long enough phrase")
    assert page.get("/profile/").status_code == 200


def test_a_poor_password_is_refused_with_the_reason(page: Client, member: User):
    answer = page.post("/profile/password/", {"password": "12345"})
    assert answer.status_code == 422
    assert "too short" in text_of(answer)
    member.refresh_from_db()
    assert not member.has_usable_password()


def test_a_viewer_sets_their_own_theme(viewer: User):
    client = Client()
    client.force_login(viewer)
    client.post("/profile/theme/", {"theme": "dark", "next": "/"})
    viewer.refresh_from_db()
    assert viewer.theme == "dark"
