"""Commands that work on the database beside the server: tokens, links, people, backup, doctor."""

import os
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from contextdash import __version__, clock, db
from contextdash.cli import MODULES, main, parser
from contextdash.cli import doctor as doctor_module
from contextdash.models import BackgroundRun, Change, Token, User
from contextdash.services import tokens
from contextdash.services.backup import backup
from sessions_app import ledger_guard
from tests import factories


def test_every_command_has_help(capsys):
    for names in MODULES.values():
        for name in names:
            with pytest.raises(SystemExit) as ended:
                main([name, "--help"])
            assert ended.value.code == 0
            assert name in capsys.readouterr().out


def test_the_list_of_commands_names_them_all():
    text = parser().format_help()
    assert [name for names in MODULES.values() for name in names if name not in text] == []


def test_an_unknown_command_is_not_understood():
    with pytest.raises(SystemExit) as ended:
        main(["frobnicate"])
    assert ended.value.code == 2


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"contextdash {__version__}\n"


def test_a_verb_starts_without_django_and_quickly():
    code = (
        "import sys; from contextdash.cli import parser; import contextdash.client;"
        "parser('message'); sys.exit('django' in sys.modules)"
    )
    begun = time.perf_counter()
    assert subprocess.run([sys.executable, "-c", code], cwd=settings.BASE_DIR).returncode == 0
    assert time.perf_counter() - begun < 2, "0.1 s on a quiet machine; far above it something heavy came in"


# Tokens


def test_a_tokens_secret_is_the_last_line(owner, capsys):
    assert main(["token", "create", "--name", "my laptop", "--scope", "ingest"]) == 0
    secret = capsys.readouterr().out.splitlines()[-1]
    token = tokens.authenticate(secret)
    assert (token.name, token.scope, token.owner) == ("my laptop", "ingest", owner)


def test_the_first_token_makes_the_first_owner(db, capsys):
    assert main(["token", "create", "--name", "ci", "--scope", "write"]) == 0
    assert Token.objects.get().owner.role == "owner"


def test_a_token_of_somebody_else(owner, member, capsys):
    assert main(["token", "create", "--name", "x", "--scope", "read", "--user", "mia"]) == 0
    assert Token.objects.get().owner == member


def test_nobody_of_that_name(owner, capsys):
    assert main(["token", "create", "--name", "x", "--scope", "read", "--user", "zed"]) == 1
    assert "Nobody is called zed" in capsys.readouterr().err


def test_tokens_are_listed_without_secrets(owner, capsys):
    token, secret = factories.token("write", owner)
    main(["token", "list"])
    out = capsys.readouterr().out
    assert token.prefix in out
    assert secret not in out


@pytest.mark.parametrize("by", ["number", "beginning"])
def test_a_token_is_revoked(by, owner, capsys):
    token, _ = factories.token("write", owner)
    assert (
        main(["token", "revoke", str(token.pk) if by == "number" else token.prefix, "--reason", "lost"]) == 0
    )
    token.refresh_from_db()
    assert token.revoked_at is not None
    assert Change.objects.get(noun="tokens", field="revoked").reason == "lost"


def test_a_token_that_is_not_there(owner, capsys):
    assert main(["token", "revoke", "cdt_nothing"]) == 1
    assert "contextdash token list" in capsys.readouterr().err


# People


def test_a_sign_in_link_is_printed_last(owner, client, capsys, monkeypatch):
    monkeypatch.setenv("CONTEXTDASH_URL", "http://testserver/")
    assert main(["signin-link"]) == 0
    link = capsys.readouterr().out.splitlines()[-1]
    assert link.startswith("http://testserver/signin/")
    assert client.get(link)["Location"] == "/"


def test_people_are_listed(owner, viewer, capsys):
    main(["user", "list"])
    out = capsys.readouterr().out
    assert "olga" in out
    assert "viewer" in out


def test_somebody_is_invited_and_comes_in(client, capsys, db, monkeypatch):
    monkeypatch.setenv("CONTEXTDASH_URL", "http://testserver")
    assert main(["user", "invite", "noor", "--role", "viewer"]) == 0
    told, link = capsys.readouterr().out.splitlines()
    assert told == "noor is a viewer. This link signs them in once, within 48 hours:"
    assert client.get(link)["Location"] == "/"
    assert User.objects.get(username="noor").role == "viewer"
    assert main(["user", "invite", "noor", "--role", "viewer"]) == 1
    assert "There is a person called noor already." in capsys.readouterr().err


def test_a_role_is_changed_and_people_come_and_go(owner, member, make_api, capsys):
    program = make_api("read", member)
    assert main(["user", "role", "mia", "owner", "--reason", "shares the work"]) == 0
    assert capsys.readouterr().out == "mia is an owner now.\n"
    assert Change.objects.get(noun="users", field="role").reason == "shares the work"
    assert main(["user", "remove", "mia", "--reason", "left"]) == 0
    assert program.get("sessions").status_code == 401
    main(["user", "list"])
    assert "inactive" in capsys.readouterr().out
    assert main(["user", "restore", "mia"]) == 0
    assert program.get("sessions").status_code == 200


def test_the_last_owner_stays(owner, capsys):
    assert main(["user", "remove", "olga"]) == 1
    assert main(["user", "role", "olga", "viewer"]) == 1
    assert capsys.readouterr().err.count("This is the last owner.") == 2


# Backup


@pytest.fixture
def copied(transactional_db, tmp_path: Path) -> Path:
    factories.session("s-1", title="kept")
    target = tmp_path / "copy.sqlite3"
    assert main(["backup", str(target)]) == 0
    return target


@pytest.mark.sqlite
def test_a_backup_is_whole_private_and_alone(copied):
    with sqlite3.connect(copied) as copy:
        assert copy.execute("SELECT title FROM sessions WHERE id = 's-1'").fetchall() == [("kept",)]
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        triggers = {name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type='trigger'")}
    copy.close()
    assert set(ledger_guard.SQLITE) <= triggers
    assert stat.S_IMODE(copied.stat().st_mode) == 0o600
    assert os.listdir(copied.parent) == [copied.name]


@pytest.mark.sqlite
def test_a_backup_never_takes_the_place_of_another(copied, capsys):
    before = copied.read_bytes()
    assert main(["backup", str(copied)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert copied.read_bytes() == before


@pytest.mark.sqlite
def test_a_backup_is_one_moment_while_others_write(transactional_db, tmp_path):
    other = sqlite3.connect(db.database_file(), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert backup(tmp_path / "copy.sqlite3").size > 0
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_postgresql_has_its_own_tool(db, capsys, tmp_path):
    if connection.vendor == "sqlite":
        pytest.skip("for PostgreSQL")
    assert main(["backup", str(tmp_path / "x")]) == 1
    assert "pg_dump" in capsys.readouterr().err


# Doctor


@pytest.fixture
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTDASH_URL", "http://127.0.0.1:9")


def test_the_doctor_finds_nothing_wrong(transactional_db, nobody_answers, capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "wrong" not in out
    assert "No server answers" in out


@pytest.mark.sqlite
def test_the_doctor_mends_missing_triggers(transactional_db, nobody_answers, capsys):
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER events_never_change")
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "triggers are missing" in out
    assert "contextdash migrate" in out
    assert main(["doctor", "--mend"]) == 0
    assert ledger_guard.installed()


def test_the_doctor_closes_an_open_key(transactional_db, nobody_answers, capsys):
    key = settings.DATA_DIR / "secret-key"
    key.touch()
    key.chmod(0o644)
    assert main(["doctor"]) == 1
    assert main(["doctor", "--mend"]) == 0
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_the_doctor_says_that_something_else_answers(transactional_db, live_server, monkeypatch, capsys):
    monkeypatch.setenv("CONTEXTDASH_URL", live_server.url)
    assert main(["doctor"]) == 0
    assert "answers" not in capsys.readouterr().out
    monkeypatch.setattr(doctor_module, "_status", lambda url: 200)
    assert main(["doctor"]) == 1
    assert "Something else answers" in capsys.readouterr().out


@pytest.mark.sqlite
def test_the_doctor_rewrites_a_file_that_cannot_shrink(tmp_path):
    """In a process of its own: the file must be nobody else's."""
    path = tmp_path / "old.sqlite3"
    with sqlite3.connect(path) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE t (x)")
    made.close()
    environment = {
        **os.environ,
        "CONTEXTDASH_DATA": str(tmp_path),
        "CONTEXTDASH_DB": str(path),
        "CONTEXTDASH_URL": "http://127.0.0.1:9",
        "DJANGO_SETTINGS_MODULE": "contextdash.settings",
    }
    code = "import sys; from contextdash.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor", "--mend"],
        env=environment,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with sqlite3.connect(path) as made:
        assert made.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert made.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    made.close()


def test_a_file_that_is_not_there_is_told_by_its_name(capsys, monkeypatch):
    monkeypatch.setenv("CONTEXTDASH_TOKEN", "cdt_none")
    assert main(["plan", "nowhere.plan.md", "--session", "S1"]) == 1
    assert capsys.readouterr().err == "contextdash: nowhere.plan.md: No such file or directory\n"


def test_the_doctor_tells_what_is_late_and_that_redaction_is_off(
    transactional_db, nobody_answers, settings, capsys
):
    settings.REDACTION = False
    BackgroundRun.objects.create(name="undo", finished_us=clock.now_us() - 3 * 3_600_000_000)
    BackgroundRun.objects.create(name="purges", finished_us=clock.now_us(), error="ValueError: full")
    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "Redaction is off" in told
    assert "Erasing what was purged failed: ValueError: full" in told
    assert "Ending the day in which a deletion can be undone is 170 minutes late." in told
