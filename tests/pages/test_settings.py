"""Settings: who sees what, what is masked and how a text is tried out."""

import pytest
from django.test import Client

from contextdash import clock
from contextdash.models import MaskedCount
from contextdash.redaction import PATTERNS, mask, take_counts, try_out
from contextdash.redaction_examples import EXAMPLES

pytestmark = pytest.mark.django_db

SECRET = "AKIAIOSFODNN7EXAMPLE"


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.kind)
def test_every_kind_has_an_example_that_is_masked_as_that_kind(pattern):
    masked, kinds = try_out(EXAMPLES[pattern.kind])
    assert pattern.kind in kinds
    assert f"[masked: {pattern.kind}]" in masked


def test_the_page_shows_every_kind_how_it_is_stored_and_how_often(page, django_assert_max_num_queries):
    MaskedCount.objects.create(kind="aws-access-key", count=1204, last_at=clock.now())
    with django_assert_max_num_queries(20):
        text = page.get("/settings/redaction/").content.decode()
    assert f"{len(PATTERNS)} kinds" in text
    assert "AWS access key" in text
    assert "[masked: aws-access-key]" in text
    assert "1,204" in text


def test_a_text_is_tried_out_stored_nowhere_and_not_counted(page):
    take_counts()
    answer = page.post("/settings/redaction/", {"text": f"id {SECRET} <script>"})
    text = answer.content.decode()
    assert "id [masked: aws-access-key] &lt;script&gt;" in text
    assert "AWS access key" in text
    assert "no-store" in answer["Cache-Control"]
    assert take_counts() == {}
    assert not MaskedCount.objects.exists()
    quiet = page.post("/settings/redaction/", {"text": "git status"}).content.decode()
    assert "Nothing in it looks like a secret" in quiet


@pytest.mark.parametrize("text", ["", "\0", "\ud83d", "x" * 200_000, "\x1b[31mred"])
def test_odd_texts_are_tried_too(page, text):
    sent = text.encode("utf-8", "surrogatepass")
    answer = page.post(
        "/settings/redaction/",
        b"text=" + b"".join(b"%%%02X" % byte for byte in sent),
        content_type="application/x-www-form-urlencoded",
    )
    assert answer.status_code in (200, 400)
    assert b"\x1b" not in answer.content


def test_redaction_that_is_off_masks_nothing_and_the_page_says_so(page, settings):
    settings.REDACTION = False
    take_counts()
    assert mask(SECRET) == SECRET
    assert take_counts() == {}
    assert "Redaction is off." in page.get("/settings/redaction/").content.decode()


def test_what_is_masked_is_counted_by_kind():
    take_counts()
    mask(f"{SECRET} and {SECRET} and git status")
    mask("nothing")
    assert take_counts() == {"aws-access-key": 2}


def test_viewers_are_refused_members_see_two_pages_owners_three(viewer, member, owner):
    paths = ("/settings/kept/", "/settings/redaction/")
    assert [browser(viewer).get(path).status_code for path in paths] == [403, 403]
    assert "Settings" not in browser(viewer).get("/sessions/").content.decode()
    for person, first, people in ((member, "/settings/kept/", False), (owner, "/people/", True)):
        client = browser(person)
        assert client.get("/settings/")["Location"] == first
        for path in paths:
            text = client.get(path).content.decode()
            assert ('href="/people/"' in text) is people
            assert 'title="Settings" aria-current="page"' in text


def test_posting_without_a_token_of_the_form_is_refused(member):
    client = Client(enforce_csrf_checks=True)
    client.force_login(member)
    assert client.post("/settings/redaction/", {"text": SECRET}).status_code == 403
