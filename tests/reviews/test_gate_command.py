"""``contextdash gate`` as people and git run it: a real process, a real repository, a live server."""

import json
import os
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings

from contextdash import clock
from contextdash.actor import SYSTEM
from contextdash.cli import gate
from contextdash.diffhash import diff_hash
from reviews_app.models import Review
from reviews_app.services.reviews import set_resolution
from sessions_app.models import HookEvent
from tests import factories
from tests.reviews.kit import log

pytestmark = pytest.mark.django_db(transaction=True)

COMMAND = "import sys; from contextdash.cli import main; sys.exit(main(sys.argv[1:]))"
NOBODY = "http://127.0.0.1:9"


class Repository:
    """A repository of its own, with a ``contextdash`` on its PATH that asks the given server."""

    def __init__(self, folder: Path, url: str, token: str) -> None:
        self.folder = folder / "repository"
        self.folder.mkdir()
        commands = folder / "bin"
        commands.mkdir()
        shim = commands / "contextdash"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{COMMAND}" "$@"\n')
        shim.chmod(0o755)
        self.environment = {
            "PATH": f"{commands}:{os.environ['PATH']}",
            "HOME": str(folder),
            "PYTHONPATH": str(settings.BASE_DIR),
            "CONTEXTDASH_URL": url,
            "CONTEXTDASH_TOKEN": token,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "t" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "t@example.org" for who in ("AUTHOR", "COMMITTER")},
        }
        self.git("init", "-q")

    def run(self, *words: str, **environment: str) -> SimpleNamespace:
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            check=False,
            timeout=60,
        )
        told = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        return SimpleNamespace(code=done.returncode, told=told, raw=done.stdout)

    def git(self, *words: str, **environment: str) -> SimpleNamespace:
        return self.run("git", *words, **environment)

    def gate(self, *words: str, **environment: str) -> SimpleNamespace:
        return self.run("contextdash", "gate", *words, **environment)

    def stage(self, name: str, content: bytes) -> str:
        """Write a file and stage it; the hash of all that is staged."""
        (self.folder / name).write_bytes(content)
        self.git("add", name)
        return diff_hash(self.git("diff", "--staged").raw)

    @property
    def commits(self) -> int:
        return len(self.git("log", "--oneline").raw.splitlines())


@pytest.fixture
def repository(tmp_path, live_server):
    return Repository(tmp_path, live_server.url, factories.token("write")[1])


def answers():
    return [
        json.loads(payload)["answer"] for payload in HookEvent.objects.values_list("payload_json", flat=True)
    ]


def test_a_real_commit_is_blocked_and_passes_once_it_is_reviewed(repository):
    installed = repository.gate("--install")
    assert installed.code == 0
    hook = repository.folder / ".git" / "hooks" / "pre-commit"
    assert hook.stat().st_mode & stat.S_IXUSR

    key = repository.stage("app.py", "print('größer')\n".encode("latin-1"))
    unknown = repository.git("commit", "-qm", "first")
    assert unknown.code != 0
    assert f"nobody reviewed this diff. Log a review with --diff-hash {key}" in unknown.told
    assert repository.commits == 0

    reviewed = repository.run(
        "contextdash", "review", "app.py:1", "Critical", "Prints.", "--diff-hash", key, "--session", "s1"
    )
    assert reviewed.code == 0, reviewed.told
    blocked = repository.git("commit", "-qm", "first")
    assert blocked.code != 0
    assert f"blocked, 1 Critical is open on {key[:12]}" in blocked.told
    assert repository.commits == 0

    closed = repository.run("contextdash", "resolve", f"R-{reviewed.told}", "--reason", "It should print")
    assert (closed.code, closed.told) == (0, f"R-{reviewed.told} resolved")
    passed = repository.git("commit", "-qm", "first")
    assert passed.code == 0, passed.told
    assert "fresh, " in passed.told
    assert repository.commits == 1
    assert answers()[::-1] == ["unknown", "blocked", "fresh"]


def test_every_line_is_one_line(repository):
    repository.stage("app.py", b"x = 1\n")
    for words in ((), ("--staged",), ("--window", "nonsense"), ("--install",)):
        assert len(repository.gate(*words).told.splitlines()) == 1, words


def test_before_the_first_commit_all_that_git_knows_is_the_diff(repository):
    key = repository.stage("app.py", b"x = 1\n")
    unknown = repository.gate()
    assert unknown.code == 1
    assert f"nobody reviewed this diff. Log a review with --diff-hash {key}" in unknown.told


def test_documents_and_an_empty_diff_pass(repository):
    assert repository.gate("--staged").code == 0
    repository.stage("README.md", b"# Hello\n")
    done = repository.gate("--staged")
    assert (done.code, done.told) == (0, "contextdash gate: skipped: only documents.")
    assert answers() == ["skipped", "skipped"]


def test_without_staged_it_looks_at_all_that_differs_from_the_last_commit(repository):
    repository.stage("app.py", b"x = 1\n")
    repository.git("commit", "-qm", "first")
    (repository.folder / "app.py").write_bytes(b"x = 2\n")
    assert "an empty diff" in repository.gate("--staged").told
    key = diff_hash(repository.git("diff", "HEAD").raw)
    assert repository.gate().code == 1
    log(diff_hash=key, severity="Low")
    assert repository.gate().code == 0


def test_an_old_review_is_stale_and_the_window_decides(repository):
    log(diff_hash=repository.stage("app.py", b"x = 1\n"), severity="Low", at=clock.now() - timedelta(hours=3))
    stale = repository.gate("--staged")
    assert stale.code == 1
    assert "more than 2h ago" in stale.told
    assert repository.gate("--staged", "--window", "4h").code == 0
    assert "window is a number" in repository.gate("--staged", "--window", "40d").told


@pytest.mark.parametrize(("value", "passes"), [("1", True), ("yes", True), ("0", False), ("false", False)])
def test_the_override_passes_and_is_recorded(repository, value, passes):
    repository.stage("app.py", b"x = 1\n")
    done = repository.gate("--staged", CONTEXTDASH_SKIP_GATE=value)
    assert (done.code == 0) is passes
    event = HookEvent.objects.get()
    assert (event.outcome == "skip") is passes
    assert (json.loads(event.payload_json).get("reason") == "env-override") is passes


def test_it_is_open_when_the_server_is_away_unless_strict(repository):
    repository.stage("app.py", b"x = 1\n")
    away = repository.gate("--staged", CONTEXTDASH_URL=NOBODY)
    assert away.code == 0
    assert "open, since it could not be asked" in away.told
    strict = repository.gate("--staged", "--strict", CONTEXTDASH_URL=NOBODY)
    assert strict.code == 1
    assert "closed (--strict)" in strict.told
    skipped = repository.gate("--staged", "--strict", CONTEXTDASH_URL=NOBODY, CONTEXTDASH_SKIP_GATE="1")
    assert skipped.code == 0
    assert "not recorded" in skipped.told
    no_token = repository.gate("--staged", CONTEXTDASH_TOKEN="")
    assert (no_token.code, "No token is set" in no_token.told) == (0, True)
    assert not HookEvent.objects.exists()


def test_another_hook_is_left_alone_and_ours_is_written_again(repository):
    hook = repository.folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nmake lint\n")
    refused = repository.gate("--install", "--window", "30m")
    assert refused.code == 1
    assert "contextdash gate --staged --window 30m" in refused.told
    assert hook.read_text() == "#!/bin/sh\nmake lint\n"
    hook.unlink()
    assert repository.gate("--install").code == 0
    assert repository.gate("--install", "--strict", "--window", "1d").code == 0
    assert "gate --staged --window 1d --strict" in hook.read_text()


def test_it_is_installed_where_the_repository_keeps_its_hooks(repository):
    repository.git("config", "core.hooksPath", "my hooks")
    assert repository.gate("--install").code == 0
    assert gate.MARK in (repository.folder / "my hooks" / "pre-commit").read_text()
    repository.stage("app.py", b"x = 1\n")
    assert repository.git("commit", "-qm", "first").code != 0


def test_a_hook_whose_command_is_gone_says_so_and_passes(repository):
    repository.gate("--install")
    repository.stage("app.py", b"x = 1\n")
    (repository.folder.parent / "bin" / "contextdash").unlink()
    done = repository.git("commit", "-qm", "first")
    assert done.code == 0
    assert "the contextdash command was not found" in done.told


def test_outside_a_repository_it_says_so(repository):
    repository.folder = repository.folder.parent
    done = repository.gate("--staged")
    assert done.code == 1
    assert "contextdash gate: " in done.told


def test_a_commit_belongs_to_the_session_of_the_environment(repository):
    repository.stage("app.py", b"x = 1\n")
    repository.gate("--staged", CLAUDE_CODE_SESSION_ID="claude-1")
    assert HookEvent.objects.get().session_id == "claude-1"


def test_findings_are_dismissed_and_reopened_from_a_shell(repository):
    review, closed = log(), log()
    set_resolution(review=closed, to="resolved", actor=SYSTEM, reason="x")
    done = repository.run("contextdash", "dismiss", str(review.pk), str(closed.pk), "--reason", "Noise")
    assert done.code == 1
    assert f"R-{review.pk} dismissed" in done.told
    assert f"R-{closed.pk} is resolved, so it cannot become dismissed." in done.told
    assert repository.run("contextdash", "reopen", str(review.pk), "--reason", "Not noise").code == 0
    assert repository.run("contextdash", "resolve", "all", "--reason", "x").code == 1


def test_sarif_goes_in_and_out_from_a_shell(repository):
    document = {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "ruff"}}, "results": [{"message": {"text": "Unused"}}]}],
    }
    file = repository.folder / "log.sarif"
    file.write_text(json.dumps(document))
    done = repository.run("contextdash", "sarif-import", "log.sarif", "--session", "s1")
    assert (done.code, done.told) == (0, "1 imported, 0 known")
    assert Review.objects.get().session_id == "s1"
    out = repository.run("contextdash", "sarif-export")
    assert json.loads(out.raw)["runs"][0]["results"][0]["message"]["text"] == "Unused"
    file.write_text('{"version": "2.1.0", "runs": [{}]}')
    refused = repository.run("contextdash", "sarif-import", "log.sarif", "--session", "s1")
    assert refused.code == 1
    assert "`$.runs[0]`" in refused.told
