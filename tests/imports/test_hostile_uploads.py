"""Uploads that were made to harm: each ends by itself, says so, and keeps nothing else from being read."""

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client

from contextdash import limits
from sessions_app.importers import uploading
from sessions_app.models import Session, ToolCall, Upload
from tests.imports.lines import SESSION
from tests.imports.test_uploading import give, left, packed, read_all, transcript

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTDASH_DATA", str(tmp_path / "kept"))


def view_without_end(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as database:
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS"
        database.executescript(f"""
            CREATE TABLE session (id, directory, title, parent_id, time_created, time_updated);
            CREATE VIEW message AS {endless} id, 's' AS session_id, '' AS data, i AS time_updated FROM n;
            CREATE VIEW part AS {endless} id, 's' AS message_id, '' AS data, i AS time_updated FROM n;
        """)
    return path.read_bytes()


def test_nothing_keeps_those_that_wait_from_being_read(page: Client, member, tmp_path, monkeypatch):
    whole = transcript(tmp_path / "mine").read_bytes()
    broken = bytearray(packed((f"a/{SESSION}.jsonl", whole * 40)))
    at = broken.index(b".jsonl") + 30
    broken[at : at + 8] = b"\xff" * 8
    give(page, ("broken.zip", bytes(broken)))
    give(page, ("opencode.db", view_without_end(tmp_path / "made.db")))
    give(page, (f"{SESSION}.jsonl", whole))
    read_all()
    first, second, third = Upload.objects.order_by("id")
    assert (first.state, second.state, third.state) == (Upload.FAILED, Upload.FAILED, Upload.DONE)
    assert "broken.zip cannot be unpacked" in first.error
    assert Session.objects.get().id == SESSION
    assert left() == []


def test_a_fault_of_ours_in_one_file_is_told_and_the_others_are_read(page, member, tmp_path, monkeypatch):
    whole = transcript(tmp_path / "mine").read_bytes()
    read = uploading.import_file

    def failing(path: Path, **told):
        if "bad" in path.name:
            raise zlib.error("what nobody thought of")
        return read(path, **told)

    monkeypatch.setattr(uploading, "import_file", failing)
    give(page, ("bad.jsonl", whole), (f"{SESSION}.jsonl", whole))
    read_all()
    told = {entry["name"].rpartition("/")[2]: entry["error"] for entry in Upload.objects.get().files}
    assert told[f"{SESSION}.jsonl"] == ""
    assert "what nobody thought of" in told["bad.jsonl"]
    assert ToolCall.objects.count() == 1


def test_zip_files_share_what_an_upload_may_unpack(page, member, tmp_path, monkeypatch):
    whole = transcript(tmp_path / "mine").read_bytes()
    monkeypatch.setattr(uploading, "UPLOAD_UNPACKED_BYTES", len(whole) * 2 + 10)
    zips = [(f"{n}.zip", packed((f"{n}/{SESSION[:-1]}{n}.jsonl", whole))) for n in range(4)]
    give(page, *zips)
    read_all()
    upload = Upload.objects.get()
    assert len(upload.files) == 2
    assert upload.error.count("left packed") == 2


@pytest.mark.parametrize(
    "name",
    [
        "../../{id}.jsonl",
        "/{id}.jsonl",
        "a\\..\\..\\{id}.jsonl",
        "/" * 490 + "{id}.jsonl",
        "proc/self/root/" * 40 + "{id}.jsonl",
    ],
)
def test_names_within_a_zip_file_lead_nowhere_else(page, member, tmp_path, name):
    """A name is written down whole or not at all: the end of a long one is another path."""
    whole = transcript(tmp_path / "mine").read_bytes()
    give(page, ("a.zip", packed((name.format(id=SESSION), whole))))
    read_all()
    for entry in Upload.objects.get().files:
        assert entry["error"] == ""
        assert entry["name"].startswith("0/")
    assert left() == []
    assert not list((tmp_path / "kept").rglob("*.jsonl"))


def test_names_that_are_taken_keep_their_first_file(page, member, tmp_path):
    whole = transcript(tmp_path / "mine").read_bytes()
    name = f"a/{SESSION}.jsonl"
    sent = packed((name, whole), (f"{name}/b.jsonl", b"{}"), ("a", b"{}"))
    give(page, ("a.zip", sent))
    read_all()
    upload = Upload.objects.get()
    assert upload.state == Upload.DONE
    assert "2 files of a.zip were left packed" in upload.error
    assert Session.objects.get().id == SESSION


def test_some_hundred_files_are_taken_and_more_are_refused_by_name(page, member, tmp_path):
    whole = transcript(tmp_path / "mine").read_bytes()
    many = [(f"{number}.jsonl", whole) for number in range(limits.UPLOAD_AT_ONCE + 1)]
    refused = give(page, *many)
    assert refused.status_code == 413
    assert "UPLOAD_AT_ONCE" in refused.text
    assert give(page, *many[1:]).status_code == 302
    read_all()
    upload = Upload.objects.get()
    assert (len(upload.files), upload.state) == (limits.UPLOAD_AT_ONCE, Upload.DONE)
    assert ToolCall.objects.count() == 1
