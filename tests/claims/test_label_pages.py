"""Labels on the pages: chips, filter, the form that replaces them."""

import re

import pytest
from django.test import Client

from contextdash.actor import SYSTEM
from sessions_app.models import Session
from sessions_app.services.labels import labels_of
from sessions_app.services.sessions import change_session
from tests import factories

pytestmark = pytest.mark.django_db

HOSTILE = '<img src=x onerror="alert(1)">\u202e'


def labelled(session_id: str, *labels: str) -> Session:
    return change_session(
        session=factories.session(session_id, title=f"Title {session_id}"),
        values={"labels": labels},
        actor=SYSTEM,
    )


def listed(page: Client, address: str) -> list[str]:
    return re.findall(r'title="(Title [^"]*)"', page.get(address).text)


def test_chips_lead_to_the_list_of_their_label_and_the_filter_takes_several(page):
    labelled("a", "bug", "storage", "许可", "fourth")
    labelled("b", "bug")
    labelled("c")
    text = page.get("/sessions/").text
    assert text.count('href="?label=bug"') == 2
    assert 'href="?label=%E8%AE%B8%E5%8F%AF"' in text
    assert "fourth" in text
    assert sorted(listed(page, "/sessions/?label=bug")) == ["Title a", "Title b"]
    assert listed(page, "/sessions/?label=bug&label=storage") == ["Title a"]
    none = page.get("/sessions/?label=other").text
    assert "No session fits" in none
    assert "label other" in none
    assert 'name="label" value="bug" checked' in page.get("/sessions/?label=bug").text


def test_the_menu_replaces_them_at_the_version_that_was_seen(page, viewer):
    session = labelled("a", "bug")
    text = page.get("/sessions/a/").text
    assert "Labels…" in text
    assert 'href="/sessions/?label=bug"' in text
    assert re.search(r'<textarea[^>]*name="labels"[^>]*>bug\n</textarea>', text)
    form = {"labels": "storage\r\n\r\n  two   words \r\nstorage", "version": session.metadata_version}
    assert page.post("/sessions/a/labels/", form).status_code == 302
    assert labels_of(session) == ["storage", "two words"]
    late = page.post("/sessions/a/labels/", {**form, "labels": "other"})
    assert late.status_code == 412
    assert page.post("/sessions/a/labels/", {"labels": "x" * 129}).status_code == 422
    assert labels_of(session) == ["storage", "two words"]
    reader = Client()
    reader.force_login(viewer)
    assert "Labels…" not in reader.get("/sessions/a/").text
    assert reader.post("/sessions/a/labels/", form).status_code == 403


def test_a_label_is_shown_as_text(page):
    labelled("a", HOSTILE)
    for address in ("/sessions/", "/sessions/a/", "/sessions/?label=" + HOSTILE):
        text = page.get(address).text
        assert "<img src" not in text
        assert "[U+202E]" in text
