"""Files of sessions: their bytes decide what they are; nothing of them runs, is opened or fetched."""

import base64

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from contextdash import clock, limits, sniffing
from contextdash.actor import SYSTEM
from sessions_app.models import Attachment, AttachmentContent, Purge, Session
from sessions_app.services.attachments import Sent, add_attachment, clean_name
from sessions_app.services.copies import fork_through
from sessions_app.services.ledger import open_turn
from sessions_app.services.purging import drive_on, purge_session

pytestmark = pytest.mark.django_db

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
SVG = b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
HTML = b"  <!DOCTYPE html><html><script>alert(1)</script>"


@pytest.mark.parametrize(
    ("data", "told", "is_what"),
    [
        (PNG, "text/html", "image/png"),
        (b"\xff\xd8\xff\xe0" + b"x" * 20, "", "image/jpeg"),
        (b"GIF89a" + b"x" * 20, "", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 " + b"x" * 20, "", "image/webp"),
        (SVG, "image/png", "image/svg+xml"),
        (HTML, "image/png", "text/html"),
        (b"<p>hi</p>", "text/html", "text/html"),
        (b"%PDF-1.7 ...", "image/png", "application/pdf"),
        (b"a,b\n1,2\n", "text/csv", "text/csv"),
        (b"alert(1)", "text/javascript", "text/plain"),
        (b"BM is no picture", "image/bmp", "text/plain"),
        (b"", "image/png", "application/octet-stream"),
        (b"\0\1\2\3", "image/png", "application/octet-stream"),
        (b"\xff\xfe broken", "text/plain", "application/octet-stream"),
    ],
)
def test_the_type_is_what_the_bytes_say(data, told, is_what):
    assert sniffing.media_type(data, told) == is_what


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("chart.png", "chart.png"),
        ("../../../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\x.txt", "x.txt"),
        ('a\r\nX-Evil: 1.txt"', 'aX-Evil: 1.txt"'),
        ("\u202egnp.exe", "gnp.exe"),
        ("..", ""),
        ("", ""),
        ("x" * 300 + ".png", "x" * 179 + ".png"),
    ],
)
def test_a_name_is_one_without_a_path_or_marks_that_move_text(told, name):
    assert clean_name(told) == name


def post(api, data: bytes | None = PNG, **fields):
    told = {} if data is None else {"data": base64.b64encode(data).decode()}
    return api.post("attachments", {"session_id": "s", **told, **fields})


@pytest.mark.parametrize(
    ("data", "filename", "shown"), [(PNG, "a.png", True), (SVG, "b.svg", False), (HTML, "c.png", False)]
)
def test_pictures_are_shown_and_nothing_else_is(api, page, data, filename, shown):
    made = post(api, data, filename=filename, media_type="image/png").json()
    for answer in (
        api.get(f"attachments/{made['id']}/file"),
        page.get(f"/sessions/s/attachments/{made['id']}/"),
    ):
        assert answer.content == data
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert answer["Content-Disposition"].startswith("inline" if shown else "attachment")
        assert answer["Content-Type"] == ("image/png" if shown else "application/octet-stream")
    panel = page.get("/sessions/s/attachments/").content.decode()
    assert ("<img" in panel) is shown
    assert filename in panel


def test_a_hostile_name_breaks_no_header_and_no_page(api, page):
    made = post(api, filename='x"\r\nSet-Cookie: a=b<script>.png').json()
    answer = page.get(f"/sessions/s/attachments/{made['id']}/")
    assert "Set-Cookie" not in answer.headers
    assert "\n" not in answer["Content-Disposition"]
    assert "<script>.png" not in page.get("/sessions/s/attachments/").content.decode()


def test_a_name_gets_versions_and_a_known_id_is_not_stored_twice(api):
    first = post(api, filename="a.png", attachment_id="one")
    assert (first.status_code, first.json()["version"]) == (201, 1)
    again = post(api, filename="a.png", attachment_id="one")
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    assert post(api, b"other", filename="a.png", attachment_id="one").status_code == 409
    assert post(api, PNG + b"1", filename="dir/a.png").json()["version"] == 2
    assert post(api, PNG, filename="b.png").json()["version"] == 1
    # Equal bytes are kept once.
    assert (Attachment.objects.count(), AttachmentContent.objects.count()) == (3, 2)
    elsewhere = api.post(
        "attachments", {"session_id": "t", "attachment_id": "one", "data": base64.b64encode(PNG).decode()}
    )
    assert elsewhere.status_code == 409


def test_forms_and_keys_that_repeat(api):
    def send(key: str, data: bytes = PNG):
        return api.client.post(
            "/api/v1/attachments/upload",
            {"session_id": "s", "file": SimpleUploadedFile("up.png", data, "text/html")},
            headers={**api.headers, "Idempotency-Key": key},
        )

    made = send("k")
    assert (made.status_code, made.json()["media_type"], made.json()["told_type"]) == (201, "image/png", "")
    assert send("k").json() == made.json()
    assert send("k", b"other").status_code == 409
    assert send("l").json()["version"] == 2
    assert send("m", b"x" * (limits.ATTACHMENT_BYTES + 1)).status_code == 413


def test_nobody_signed_in_by_a_cookie_is_made_to_upload(page):
    answer = page.post(
        "/api/v1/attachments/upload", {"session_id": "s", "file": SimpleUploadedFile("a", b"x")}
    )
    assert answer.status_code == 401


def test_bounds_are_named(api):
    assert post(api, None).json()["field"] == "data"
    assert post(api, PNG, storage_uri="file:///x").json()["field"] == "data"
    assert api.post("attachments", {"session_id": "s", "data": "no base64!"}).status_code == 422
    large = post(api, b"x" * (limits.ATTACHMENT_BYTES + 1))
    assert (large.status_code, "ATTACHMENT_BYTES" in large.json()["detail"]) == (413, True)
    assert post(api, turn_id=99).json()["field"] == "turn_id"
    assert post(api, iteration_id=99).json()["field"] == "iteration_id"
    for _ in range(limits.ATTACHMENTS_OF_MESSAGE):
        add_attachment(session_id="full", sent=Sent(data=b"x"), actor=SYSTEM)
    full = api.post("attachments", {"session_id": "full", "data": ""})
    assert (full.status_code, "ATTACHMENTS_OF_MESSAGE" in full.json()["detail"]) == (422, True)


def test_an_address_is_a_text_that_nobody_opens(api, page, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("never read")
    made = post(api, None, storage_uri=f"file://{secret}", filename="log.txt", size=10).json()
    assert (made["has_bytes"], made["size"], made["storage_uri"]) == (False, 10, f"file://{secret}")
    assert api.get(f"attachments/{made['id']}/file").status_code == 404
    shown = page.get("/sessions/s/attachments/").content.decode()
    assert "Kept elsewhere" in shown
    assert "never read" not in shown
    assert 'href="file:' not in shown


def test_files_for_the_model_alone_are_shown_to_nobody_who_does_not_ask(api, page):
    post(api, b"prompt cache", filename="for-model.txt", audience="model")
    assert api.get("attachments", session="s").json()["items"] == []
    assert len(api.get("attachments", session="s", everyone="true").json()["items"]) == 1
    assert "for-model.txt" not in page.get("/sessions/s/attachments/").content.decode()


def test_secrets_in_texts_are_masked_and_pictures_are_left_as_they_are(api):
    secret = b"ghp_" + b"a1B2" * 9
    text = post(api, b"token " + secret, filename="env.txt").json()
    assert secret not in api.get(f"attachments/{text['id']}/file").content
    assert (
        post(api, b"token " + secret, filename="env.txt", attachment_id=text["attachment_id"]).status_code
        == 200
    )
    picture = post(api, PNG + secret).json()
    assert secret in api.get(f"attachments/{picture['id']}/file").content


def test_a_purge_takes_the_bytes_along_unless_another_session_has_them(owner, api):
    turn, _ = open_turn(session_id="s", actor=SYSTEM)
    post(api, PNG, filename="both.png", turn_id=turn.key)
    post(api, b"only here", filename="own.txt", transcription="said")
    session = Session.objects.get(id="s")
    copy = fork_through(session=session, turn_key=turn.key, actor=SYSTEM)
    purge_session(session=session, actor=SYSTEM, reason="asked to")
    kept = Attachment.objects.filter(session=session)
    assert set(kept.values_list("erased", "content", "transcription")) == {(True, None, "")}
    assert AttachmentContent.objects.count() == 1
    assert bytes(Attachment.objects.get(session=copy).content.data) == PNG
    assert Purge.objects.get().bytes_deleted == len(b"only here")


def test_a_list_reads_no_bytes(api, django_assert_max_num_queries):
    for number in range(30):
        add_attachment(session_id="s", sent=Sent(data=b"%d" % number, filename=f"f{number}"), actor=SYSTEM)
    with django_assert_max_num_queries(6) as seen:
        assert len(api.get("attachments", session="s", limit=30).json()["items"]) == 30
    assert not any('"data"' in query["sql"] for query in seen.captured_queries)


@pytest.mark.parametrize("form", ["json", "md"])
def test_an_export_tells_of_files_and_logs_without_bytes(api, form):
    post(api, b"%PDF-1.7 secret bytes", filename="report.pdf", transcription="What was said")
    api.post("logs", {"lines": [{"event": "gateway/slow", "message": "412 ms", "session_id": "s"}]})
    told = b"".join(api.get("sessions/s/export", format=form).streaming_content).decode()
    for word in ("report.pdf", "application/pdf", "What was said", "gateway/slow", "412 ms"):
        assert word in told
    assert "secret bytes" not in told


def test_retention_goes_by_when_a_file_came_and_not_by_how_old_it_says_it_is(api):
    post(api, PNG, filename="old.png", created_at="2020-01-01T00:00:00Z")
    day_us = 86_400_000_000
    for age_us, erased in ((day_us, False), (-day_us, True)):
        purge = Purge.objects.create(
            received_before_us=clock.now_us() - age_us, reason="RETENTION_DAYS=1", started_at=clock.now()
        )
        drive_on(purge)
        assert Attachment.objects.get().erased is erased
