import hashlib
import subprocess

import pytest

from contextdash.diffhash import diff_hash, documents_only, files_of
from contextdash.ids import EMPTY_DIFF


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", ""),
        (b"+caf\xc3\xa9\n", "+café\n"),
        (b"+caf\xe9\n", "+caf\ufffd\n"),  # Latin-1
        (b"\xef\xbb\xbf+x\n", "+x\n"),  # a leading byte order mark is no text
        (b"+x\xef\xbb\xbf\n", "+x\ufeff\n"),  # one further in is
        (b"+\xe2\x82\n", "+\ufffd\n"),  # a cut euro sign is one replacement
        (b"+\xed\xa0\x80\n", "+\ufffd\ufffd\ufffd\n"),  # an encoded surrogate is three
        (b"+\xf0\x9f\x92\n+\xff\xfe\n", "+\ufffd\n+\ufffd\ufffd\n"),
        (b"+a\r\n+\x00b\n", "+a\r\n+\x00b\n"),
    ],
)
def test_a_diff_is_read_as_the_gate_of_the_older_system_reads_it(raw, text):
    assert diff_hash(raw) == hashlib.sha256(text.encode()).hexdigest()


def test_the_empty_diff_has_its_known_hash():
    assert diff_hash(b"") == EMPTY_DIFF


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ([], False),
        (["README.md"], True),
        (["docs/a.mdc", "notes.TXT", ".claude/plans/x.json"], True),
        (["README.md", "app.py"], False),
        (["md"], False),
        (["a.md.py"], False),
        (["x/.claude/plans/x.json"], False),
    ],
)
def test_documents_need_no_review(files, answer):
    assert documents_only(files) is answer


def test_a_real_diff_names_its_files(tmp_path):
    def git(*words):
        return subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        ).stdout

    git("init", "-q")
    (tmp_path / "gone.md").write_text("gone\n")
    (tmp_path / "old.py").write_text("".join(f"line {n}\n" for n in range(30)))
    (tmp_path / "mode.sh").write_text("echo\n")
    git("add", ".")
    git("commit", "-qm", "first")
    (tmp_path / "gone.md").unlink()
    (tmp_path / "old.py").rename(tmp_path / "new name.py")
    (tmp_path / "mode.sh").chmod(0o755)
    (tmp_path / "über b.txt").write_text("diff --git a/fake.py b/fake.py\n")
    (tmp_path / "data.bin").write_bytes(b"\0\1\2")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    git("add", "-A")
    raw = git("diff", "--staged")
    names = files_of(raw)
    suffixes = sorted(name.rsplit(".", 1)[-1] for name in names)
    assert suffixes == ["bin", "md", "py", "sh", "txt", "txt"]
    assert "new name.py" in names
    assert "fake.py" not in names
    assert diff_hash(raw) != hashlib.sha256(raw).hexdigest()  # it is not UTF-8 throughout
