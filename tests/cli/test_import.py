"""``contextdash import``: what is on this machine, in the dashboard."""

import os
import shutil
from pathlib import Path

import pytest

from contextdash.cli import main
from sessions_app.importers import finding
from sessions_app.importers.following import Follower
from sessions_app.models import ImportSource, Session

pytestmark = pytest.mark.django_db

CLAUDE = Path(__file__).parent.parent / "data" / "transcripts" / "claude" / "projects"
FORK = "c04d9f6a-31b7-4e0c-8d52-6f9a1b7e3c08"
SOURCE = "7c1e4b52-8f3a-4d19-9a6e-2b5d0c9f1e77"


def test_a_folder_is_read_whole_and_again_only_what_is_new(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(CLAUDE)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("6 transcripts: 6 read, 0 unchanged,")
    assert "1 lines could not be used" in said
    assert main(["import", str(CLAUDE)]) == 0
    assert capsys.readouterr().out == "6 transcripts: 0 read, 6 unchanged, 0 new events.\n"


def test_all_reads_where_the_clients_keep_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(CLAUDE, tmp_path / ".claude" / "projects")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert main(["import", "--all"]) == 0
    assert Session.objects.filter(parent=None).count() == 3
    assert capsys.readouterr().out.startswith("6 transcripts: 6 read")


def test_a_fork_is_read_after_its_source_whatever_the_files_dates(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    shutil.copytree(next(CLAUDE.iterdir()), folder)
    os.utime(folder / f"{FORK}.jsonl", (1, 1))
    order = [one.path.stem for one in finding.find([tmp_path])]
    assert order.index(SOURCE) < order.index(FORK)


def test_what_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "/nowhere/at/all"]) == 1
    assert "There is no file or folder /nowhere/at/all." in capsys.readouterr().err
    assert main(["import"]) == 2


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text('{"type": "launched", "sessionId": "x"}\n')
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "data.jsonl").write_text('{"a": 1}\n')
    assert main(["import", str(tmp_path)]) == 0
    assert not ImportSource.objects.exists()


def test_watching_reads_what_grows_and_leaves_the_rest_closed(tmp_path: Path) -> None:
    path = tmp_path / f"{SOURCE}.jsonl"
    raw = next(CLAUDE.rglob(path.name)).read_bytes()
    follower = Follower([tmp_path], {}, tmp_path)
    assert list(follower.look()) == []
    path.write_bytes(raw[:300_000])
    assert [found for found, _ in follower.look()] == [path]
    assert list(follower.look()) == []
    path.write_bytes(raw)
    assert [found for found, _ in follower.look()] == [path]
    assert Session.objects.get(id=SOURCE).call_count == 22
    assert follower.problems() == []


def test_watching_outlives_a_folder_that_is_not_there(tmp_path: Path) -> None:
    follower = Follower([tmp_path / "later"], {}, tmp_path)
    assert list(follower.look()) == []
    assert follower.problems() == [f"There is no file or folder {tmp_path / 'later'}."]
    (tmp_path / "later").mkdir()
    shutil.copy(next(CLAUDE.rglob(f"{FORK}.jsonl")), tmp_path / "later")
    assert len(list(follower.look())) == 1
