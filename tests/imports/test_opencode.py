"""OpenCode's database and its older tree of files: one history, each message once."""

import json
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Sum

from sessions_app.importers import finding
from sessions_app.importers.files import Place, import_file
from sessions_app.models import ImportSource, Iteration, Run, Session, ToolCall, Turn

pytestmark = pytest.mark.django_db

DATA = Path(__file__).parent.parent / "data" / "transcripts" / "opencode"
EXPECTED = json.loads((DATA / "expected.json").read_text())
SESSIONS: dict[str, Any] = EXPECTED["sessions"]
PARENT, CHILD, LEGACY = SESSIONS
HERE = Place(host="desk")
COLUMNS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_5m_tokens",
    "cost": "told_micro",
}


def take(root: Path, order: int = 1) -> None:
    for one in finding.find([root])[::order]:
        import_file(one.path, place=HERE)


def spent(rows: Any) -> dict[str, Any]:
    sums = rows.aggregate(*(Sum(column) for column in COLUMNS.values()))
    found = {name: sums[f"{column}__sum"] for name, column in COLUMNS.items()}
    return {**found, "cost": round(found["cost"] / 1_000_000, 6)}


def as_kept(told: dict[str, Any]) -> dict[str, Any]:
    return {**{name: told[name] for name in COLUMNS}, "output": told["output"] + told["reasoning"]}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A copy that may be written."""
    shutil.copytree(DATA, tmp_path / "opencode")
    return tmp_path / "opencode"


def write_to(store: Path) -> sqlite3.Connection:
    """A client that has it open, as OpenCode does."""
    live = sqlite3.connect(store / "opencode.db", isolation_level=None)
    live.execute("PRAGMA journal_mode = wal")
    live.execute("PRAGMA wal_autocheckpoint = 0")
    return live


@pytest.mark.parametrize("order", [1, -1])
def test_the_figures_that_were_kept_by_hand_hold(order: int) -> None:
    take(DATA, order)
    for session_id, told in SESSIONS.items():
        session = Session.objects.get(id=session_id)
        rows = Iteration.objects.filter(session=session)
        assert rows.count() == told["assistant_messages"]
        assert spent(rows) == as_kept(told["tokens"])
        calls = ToolCall.objects.filter(session=session)
        assert Counter(calls.values_list("name", flat=True)) == told["tool_calls"].get("by_name", {})
        states = Counter(calls.values_list("state", flat=True))
        assert states["done"] == told["tool_calls"].get("ok", 0)
        assert states["failed"] == told["tool_calls"].get("failed", 0)
        assert session.title == told["title"]
        assert (session.parent.id if session.parent else None) == told.get("parent_session_id")
        assert session.workspace == "/home/dana/src/barrow"
        if "human_prompts" in told:
            turns = Turn.objects.filter(session=session).order_by("started_us")
            assert list(turns.values_list("prompt", flat=True)) == told["human_prompts"]["texts"]
    assert spent(Iteration.objects.all()) == as_kept(EXPECTED["totals"]["tokens"])
    assert Session.objects.count() == len(SESSIONS)


def test_a_child_hangs_below_its_task_and_an_aborted_answer_ends_its_turn() -> None:
    take(DATA)
    call = ToolCall.objects.get(name="task")
    assert call.child is not None
    assert call.child.id == CHILD
    assert call.child.agent_name == "explore"
    runs = Run.objects.filter(session__id=PARENT).order_by("started_us")
    assert list(runs.values_list("status", flat=True)) == ["completed", "interrupted"]
    assert runs[0].answer == "The loop ran to <= n; it now stops at < n."
    assert [
        row.facts["counts"].get("errors") for row in ImportSource.objects.filter(path__endswith=".db")
    ] == [1]


def test_a_database_beside_its_writer_is_read_and_left_alone(store: Path) -> None:
    live = write_to(store)
    database = store / "opencode.db"
    before = database.read_bytes()
    live.execute(
        "INSERT INTO session SELECT 'ses_new', project_id, NULL, slug, directory, 'Fresh', version,"
        " 1795380000000, 1795380000000, NULL FROM session LIMIT 1"
    )
    answer = {
        "role": "assistant",
        "parentID": "msg_p",
        "modelID": "claude-sonnet-5",
        "providerID": "anthropic",
        "cost": 0.5,
        "tokens": {"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}},
        "time": {"created": 1795380001000},
    }
    call = {
        "type": "tool",
        "callID": "c1",
        "tool": "bash",
        "state": {"status": "running", "input": {"command": "ls"}, "time": {"start": 1795380001500}},
    }
    live.execute(
        "INSERT INTO message VALUES ('msg_p', 'ses_new', 1795380000500, 1795380000500, ?)",
        [json.dumps({"role": "user", "time": {"created": 1795380000500}})],
    )
    live.execute(
        "INSERT INTO part VALUES ('prt_p', 'msg_p', 'ses_new', 1795380000500, 1795380000500, ?)",
        [json.dumps({"type": "text", "text": '"List."'})],
    )
    live.execute(
        "INSERT INTO message VALUES ('msg_a', 'ses_new', 1795380001000, 1795380001000, ?)",
        [json.dumps(answer)],
    )
    live.execute(
        "INSERT INTO part VALUES ('prt_a', 'msg_a', 'ses_new', 1795380001000, 1795380001500, ?)",
        [json.dumps(call)],
    )
    live.execute("BEGIN IMMEDIATE")  # it is writing just now
    live.execute("UPDATE session SET title = 'Not yet' WHERE id = 'ses_new'")
    take(store)
    live.execute("ROLLBACK")
    assert database.read_bytes() == before
    session = Session.objects.get(id="ses_new")
    assert (session.title, session.user_request) == ("Fresh", "List.")
    assert ToolCall.objects.get(call_id="c1").state == "prepared"
    assert Iteration.objects.get(response_id="msg_a").output_tokens == 5

    read = ImportSource.objects.get(path__endswith=".db").lines
    call["state"] = {
        "status": "completed",
        "input": {"command": "ls"},
        "output": "a",
        "metadata": {"exit": 0},
        "time": {"start": 1795380001500, "end": 1795380002500},
    }
    answer["tokens"]["output"], answer["time"]["completed"], answer["finish"] = 20, 1795380003000, "stop"
    live.execute(
        "UPDATE part SET data = ?, time_updated = 1795380002500 WHERE id = 'prt_a'", [json.dumps(call)]
    )
    live.execute(
        "UPDATE message SET data = ?, time_updated = 1795380003000 WHERE id = 'msg_a'", [json.dumps(answer)]
    )
    take(store)
    done = ToolCall.objects.get(call_id="c1")
    assert (done.state, done.duration_us) == ("done", 1_000_000)
    assert Iteration.objects.get(response_id="msg_a").output_tokens == 23
    assert Run.objects.get(session=session).status == "completed"
    assert ImportSource.objects.get(path__endswith=".db").lines - read <= 3
    live.close()


def test_nothing_is_left_beside_a_database_that_nobody_has_open(store: Path) -> None:
    before = sorted(path.name for path in store.iterdir())
    take(store)
    assert sorted(path.name for path in store.iterdir()) == before
    assert all(import_file(one.path, place=HERE).unchanged for one in finding.find([store]))


def test_broken_rows_are_counted_and_the_others_read(store: Path) -> None:
    with sqlite3.connect(store / "opencode.db") as database:
        database.execute("UPDATE part SET data = '{\"type\": \"tool' WHERE id LIKE 'prt_998%'")
        database.execute("UPDATE message SET data = '[]' WHERE id LIKE 'msg_d293%'")
    database.close()
    (next((store / "storage" / "part").glob("msg_9f8*/prt_eb8*.json"))).write_bytes(b"\xff{")
    take(store)
    assert sorted(ImportSource.objects.values_list("skipped", flat=True))[-2:] == [1, 2]
    assert ToolCall.objects.filter(session__id=PARENT).count() >= 4


def test_a_file_that_only_looks_like_a_database_is_none(tmp_path: Path) -> None:
    (tmp_path / "opencode.db").write_bytes(b"SQLite format 3\x00" + b"\x00" * 5000)
    (tmp_path / "other.db").write_bytes(b"nothing")
    assert finding.find([tmp_path]) == []


def test_a_paused_import_goes_on_where_it_stood(store: Path) -> None:
    path = store / "opencode.db"
    paused = 0
    while not import_file(path, place=HERE, seconds=0).finished:
        paused += 1
    assert paused == 2
    assert ImportSource.objects.get().lines == 10
    assert import_file(path, place=HERE).unchanged


def test_all_finds_the_homes_of_each_client_and_passes_by_copied_repositories(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = home / ".local" / "share" / "opencode"
    shutil.copytree(DATA, store)
    copied = store / "snapshot" / "global"
    copied.mkdir(parents=True)
    (copied / "session.jsonl").write_text('{"sessionId": "s", "type": "user", "uuid": "u"}\n')
    shutil.copytree(DATA.parent / "gemini" / "tmp", home / ".gemini" / "tmp")
    shutil.copytree(DATA.parent / "copilot" / "session-state", home / ".copilot" / "session-state")
    found = finding.find(finding.standard_folders({}, home))
    assert Counter(one.client for one in found) == {"opencode": 3, "gemini": 4, "copilot": 1}
