"""What endpoints share, piece by piece."""

import gzip
from io import BytesIO

import pytest
from django.test import RequestFactory

from contextdash import limits
from contextdash.actor import SYSTEM, Actor
from contextdash.apikit import (
    NDJSON,
    PatchBody,
    if_match,
    not_valid,
    permit,
    receipt_digest,
    required_if_match,
    take_body,
)
from contextdash.errors import Forbidden, Invalid, Malformed, Refused, Stale, TooLarge, UnsupportedMedia
from contextdash.models.user import Role
from tests import factories

make = RequestFactory()


def request(body: bytes = b"{}", content_type: str = "application/json", **environ):
    return make.generic("POST", "/api/v1/x", body, content_type=content_type, **environ)


@pytest.mark.parametrize("sent", ["3", '"3"', 'W/"3"', " 3 "])
def test_if_match_is_a_version_however_it_is_quoted(sent):
    assert if_match(request(headers={"If-Match": sent})) == 3


@pytest.mark.parametrize("sent", [None, "*"])
def test_without_if_match_any_version_will_do_unless_it_is_required(sent):
    headers = {} if sent is None else {"If-Match": sent}
    assert if_match(request(headers=headers)) is None
    with pytest.raises(Stale, match="metadata_version"):
        required_if_match(request(headers=headers), "metadata_version")


@pytest.mark.parametrize(
    "sent", ["", "x", "-1", "1.5", "9" * 10, '"abc"', "1, 2", "٣".encode().decode("latin-1")]
)
def test_another_if_match_is_refused(sent):
    with pytest.raises(Invalid):
        if_match(request(headers={"If-Match": sent}))


def test_a_body_is_read_once_and_stays_readable():
    asked = request(b'{"a": 1}')
    take_body(asked)
    assert asked.body == b'{"a": 1}'


def test_a_gzipped_body_is_undone():
    asked = request(gzip.compress(b'{"a": 1}'), headers={"Content-Encoding": "gzip"})
    take_body(asked)
    assert asked.body == b'{"a": 1}'


def test_a_get_has_no_body_to_look_at():
    asked = make.generic("GET", "/api/v1/x", b"x", content_type="text/plain")
    take_body(asked)
    assert not hasattr(asked, "_body")


@pytest.mark.parametrize("content_type", ["text/plain", "", "text/json", "application/x-www-form-urlencoded"])
def test_another_media_type_is_refused(content_type):
    with pytest.raises(UnsupportedMedia):
        take_body(request(content_type=content_type))


@pytest.mark.parametrize("content_type", ["application/json", "application/JSON; charset=utf-8"])
def test_json_is_json_in_any_spelling(content_type):
    take_body(request(content_type=content_type))


def test_ndjson_is_taken_where_it_is_named():
    take_body(request(content_type="application/x-ndjson"), NDJSON)
    with pytest.raises(UnsupportedMedia):
        take_body(request(content_type="application/x-ndjson"))


def test_no_body_and_no_type_are_fine():
    asked = request(b"", content_type="")
    take_body(asked)
    assert asked.body == b""


def test_a_body_that_is_announced_too_large_is_refused_unread():
    asked = request(CONTENT_LENGTH=str(limits.BODY_BYTES + 1))
    with pytest.raises(TooLarge, match="BODY_BYTES"):
        take_body(asked)


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "１"])
def test_a_length_that_is_no_number_is_refused(length):
    with pytest.raises(Malformed):
        take_body(request(CONTENT_LENGTH=length))


def test_a_body_shorter_than_announced_is_refused():
    with pytest.raises(Malformed, match="2 of 100"):
        take_body(request(b"{}", CONTENT_LENGTH="100", **{"wsgi.input": BytesIO(b"{}")}))


def test_chunks_are_read_where_the_server_marks_their_end():
    chunked = {"headers": {"Transfer-Encoding": "chunked"}, "CONTENT_LENGTH": ""}
    asked = request(**chunked, **{"wsgi.input": BytesIO(b"{}"), "wsgi.input_terminated": True})
    take_body(asked)
    assert asked.body == b"{}"
    with pytest.raises(Malformed, match="Content-Length"):
        take_body(request(**chunked))


def test_the_first_problem_is_named_by_the_callers_own_field():
    errors = [{"loc": ("body", "payload", "labels", 0), "msg": "Input should be a string"}]
    refused = not_valid(errors)
    assert (refused.field, refused.detail) == ("labels.0", "labels.0: Input should be a string")
    assert not_valid([{"loc": ("body", "payload"), "msg": "no"}]).field is None


def test_a_patch_holds_what_was_sent_and_nothing_else():
    class Patch(PatchBody):
        title: str | None = None
        status: str = ""

    assert Patch.model_validate({"title": None, "reason": "x"}).values() == {"title": None}
    assert Patch.model_validate({}).values() == {}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("scope", "role", "reach"),
    [
        ("ingest", Role.OWNER, {"ingest"}),
        ("read", Role.OWNER, {"read"}),
        ("write", Role.OWNER, {"read", "write", "ingest"}),
        ("admin", Role.OWNER, {"read", "write", "ingest", "admin"}),
        ("admin", Role.MEMBER, {"read", "write", "ingest"}),
        ("admin", Role.VIEWER, {"read", "ingest"}),
        ("write", Role.VIEWER, {"read", "ingest"}),
        (None, Role.OWNER, {"read", "write", "ingest", "admin"}),
        (None, Role.MEMBER, {"read", "write", "ingest"}),
        (None, Role.VIEWER, {"read"}),
    ],
)
def test_scope_and_role_together_say_how_far_one_reaches(scope, role, reach):
    user = factories.user(role)
    token = factories.token(scope, user)[0] if scope else None
    reached = set()
    for wanted in ("ingest", "read", "write", "admin"):
        try:
            permit(Actor(user=user, token=token), wanted)
        except Forbidden:
            continue
        reached.add(wanted)
    assert reached == reach


def test_the_same_key_of_another_caller_or_address_is_another_receipt():
    here, there = request(), make.post("/api/v1/y")
    assert receipt_digest(here, SYSTEM, "k") == receipt_digest(here, SYSTEM, "k")
    assert receipt_digest(here, SYSTEM, "k") != receipt_digest(there, SYSTEM, "k")
    assert receipt_digest(here, SYSTEM, "k") != receipt_digest(here, SYSTEM, "l")


def test_every_refusal_has_a_status_and_a_code():
    kinds = Refused.__subclasses__()
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert {kind.status for kind in kinds} <= {400, 401, 403, 404, 409, 412, 413, 415, 422, 429, 503}
