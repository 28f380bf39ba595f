"""Transcripts given in the page: kept at once, read by the background, and the same as by the command."""

import io
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from contextdash import limits
from contextdash.models import User
from sessions_app.importers import uploading
from sessions_app.importers.files import Place, import_file
from sessions_app.models import ImportSource, Iteration, Quarantined, Session, ToolCall, Upload
from tests.imports.lines import SESSION, calls, prompt, response, result, says, write

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parent.parent / "data" / "transcripts"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTDASH_DATA", str(tmp_path / "kept"))


def transcript(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    at = "2026-11-20T10:00:0"
    return write(
        folder,
        prompt("Boil <b>water</b>.", f"{at}0Z"),
        response("msg_1", f"{at}1Z", says("I look."), calls("toolu_1", command="ls"), output_tokens=5),
        "{not json",
        result("toolu_1", "kettle.py", f"{at}2Z"),
    )


def give(browser: Client, *files: tuple[str, bytes]) -> Any:
    given = [SimpleUploadedFile(name, raw) for name, raw in files]
    return browser.post("/imports/upload/", {"files": given})


def read_all() -> None:
    for _ in range(1000):
        if not uploading.step():
            return
    raise AssertionError("it never ends")


def left() -> list[Path]:
    folder = uploading.uploads_dir()
    return list(folder.iterdir()) if folder.exists() else []


def test_a_file_is_read_and_shown_with_its_session_and_skipped_line(
    page: Client, member: User, tmp_path: Path
) -> None:
    path = transcript(tmp_path / "here")
    answer = give(page, (path.name, path.read_bytes()))
    address = answer.headers["Location"]
    assert "Reading" in page.get(address).text
    assert Session.objects.count() == 0
    read_all()
    told = page.get(address).text
    assert f"/sessions/{SESSION}/" in told
    assert "Boil &lt;b&gt;water" in told
    source = ImportSource.objects.get()
    assert (source.skipped, Session.objects.get().owner) == (1, member)
    shown = page.get(f"/imports/{source.pk}/").text
    line = Quarantined.objects.get()
    assert f"/hooks/quarantined/{line.pk}/" in shown
    assert "{not json" in page.get(f"/hooks/quarantined/{line.pk}/").text
    assert page.get("/imports/", {"only": "skipped"}).text.count(f"/imports/{source.pk}/") == 1
    assert left() == []


def test_what_the_command_has_read_is_not_counted_again(page: Client, tmp_path: Path) -> None:
    path = transcript(tmp_path / "here")
    import_file(path, place=Place(host="desk"))
    give(page, (path.name, path.read_bytes()))
    give(page, ("copy.jsonl", path.read_bytes()))
    read_all()
    assert [sum(entry["events"] for entry in one.files) for one in Upload.objects.all()] == [0, 0]
    assert (Session.objects.count(), ToolCall.objects.count(), Iteration.objects.count()) == (1, 1, 1)
    assert Session.objects.get().output_tokens == 5


def test_a_grown_file_that_is_uploaded_again_goes_on(page: Client, tmp_path: Path) -> None:
    path = transcript(tmp_path / "here")
    padding = [prompt("x" * 3000, "2026-11-20T10:00:03Z", turn=f"p{number}") for number in range(3)]
    write(tmp_path / "here", *padding)
    give(page, (path.name, path.read_bytes()))
    read_all()
    write(tmp_path / "here", prompt("More.", "2026-11-20T10:01:00Z", turn="prompt-2"))
    give(page, (path.name, path.read_bytes()))
    read_all()
    assert ImportSource.objects.get().lines == 8
    assert Upload.objects.latest("id").files[0]["events"] == 1


def packed(*entries: tuple[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return raw.getvalue()


def test_a_zip_of_every_client_is_read_with_what_stands_beside(page: Client) -> None:
    clients = ("claude", "codex", "gemini", "opencode", "copilot")
    paths = [path for client in clients for path in (DATA / client).rglob("*") if path.is_file()]
    give(page, ("history.zip", packed(*((str(path.relative_to(DATA)), path.read_bytes()) for path in paths))))
    read_all()
    upload = Upload.objects.get()
    assert (upload.state, upload.error) == ("done", "")
    assert {source.client for source in ImportSource.objects.all()} == {
        *("claude-code", "codex", "gemini", "opencode", "copilot")
    }
    assert Session.objects.filter(agent_name="tide-scout", parent__isnull=False).exists()
    assert Session.objects.filter(title="Wick timer drift").exists()
    assert left() == []


def test_what_leads_elsewhere_or_is_no_transcript_is_left_aside(page: Client, tmp_path: Path) -> None:
    good = transcript(tmp_path / "here").read_bytes()
    bad = packed(
        ("../../evil.jsonl", good), ("/etc/evil.jsonl", good), ("notes.txt", b"x"), ("a" * 300, b"x")
    )
    give(page, ("bad.zip", bad), ("broken.zip", b"PK no zip"), ("notes.md", b"# x"))
    read_all()
    upload = Upload.objects.get()
    assert upload.state == "done"
    assert "2 files of bad.zip" in upload.error
    assert "broken.zip cannot be unpacked" in upload.error
    assert [entry["name"] for entry in upload.files] == ["0/etc/evil.jsonl"]
    assert not list(tmp_path.rglob("../evil.jsonl"))


def test_bombs_stop_at_the_named_limit(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploading, "UPLOAD_UNPACKED_BYTES", 100_000)
    give(page, ("bomb.zip", packed(*((f"{number}.jsonl", b"\0" * 60_000) for number in range(5)))))
    read_all()
    assert "UPLOAD_UNPACKED_BYTES" in Upload.objects.get().error


def test_too_much_is_refused_by_name_before_it_is_read(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = page.generic("POST", "/imports/upload/", b"", CONTENT_LENGTH=str(limits.UPLOAD_BYTES * 2))
    assert answer.status_code == 413
    assert "UPLOAD_BYTES" in answer.text
    monkeypatch.setattr(uploading, "UPLOAD_BYTES", 10)
    assert give(page, ("a.jsonl", b"x" * 11)).status_code == 413
    assert give(page, ("a.jsonl", b"")).status_code == 422
    assert (Upload.objects.count(), left()) == (0, [])


def test_viewers_upload_nothing_and_see_what_was_read(viewer: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(viewer)
    assert give(browser, ("a.jsonl", b"x")).status_code == 403
    assert "Upload and read" not in browser.get("/imports/").text


def test_a_form_of_another_site_is_refused(member: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(member)
    assert give(browser, ("a.jsonl", b"x")).status_code == 403
    assert Upload.objects.count() == 0


def test_a_restart_goes_on_where_reading_stood(
    page: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploading, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr("sessions_app.importers.files.PART_BYTES", 1)
    path = transcript(tmp_path / "here")
    give(page, (path.name, path.read_bytes()))
    steps = 0
    while uploading.step():
        steps += 1
    assert steps >= 4
    entry = Upload.objects.get().files[0]
    assert (entry["done"], entry["events"], entry["skipped"], entry["error"]) == (True, 3, 1, "")


def test_files_that_went_away_are_told(page: Client, tmp_path: Path) -> None:
    give(page, ("a.jsonl", b"x"))
    shutil.rmtree(uploading.uploads_dir())
    read_all()
    assert Upload.objects.get().error == "Its files are not on this machine."
