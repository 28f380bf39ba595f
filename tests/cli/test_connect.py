"""``contextdash connect``: other people's files keep what is theirs, ours come and go without a trace."""

import argparse
import json
import shutil
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from contextdash.cli import connect
from contextdash.connect import install
from contextdash.connect.clients import CLAUDE_CODE, CLIENTS

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/plugin/contextdash.js",
    "cursor": ".cursor/hooks.json",
    "copilot": ".copilot/hooks/contextdash.json",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    told = ("CONTEXTDASH_DATA", "CONTEXTDASH_TOKEN", "CONTEXTDASH_URL")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", *told):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    connect.add_arguments(parser)
    return connect.run(parser.parse_args(words))


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.parametrize("client", CLIENTS)
def test_it_writes_the_clients_own_file_and_takes_it_back(client, home):
    path = home / FILES[client]
    assert run(client) == 0
    assert str(install.hook_file()) in path.read_text()
    assert run(client, "--remove") == 0
    assert not path.exists() or "contextdash" not in path.read_text()


@pytest.mark.parametrize("client", CLIENTS)
def test_repeating_it_changes_nothing(client, home, capsys):
    run(client)
    before = (home / FILES[client]).read_text()
    capsys.readouterr()
    run(client)
    assert (home / FILES[client]).read_text() == before
    assert "so already" in capsys.readouterr().out
    assert list(home.rglob("*.before-contextdash-*")) == []


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini"])
def test_what_others_put_there_stays_and_is_backed_up(client, home):
    path = home / FILES[client]
    path.parent.mkdir(parents=True)
    others = {
        "model": "opus",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "Odd": "not a list"},
    }
    path.write_text(json.dumps(others))
    run(client)
    assert read(path)["model"] == "opus"
    assert {"type": "command", "command": "say done"} in read(path)["hooks"]["Stop"][0]["hooks"]
    backup = next(path.parent.glob("*.before-contextdash-*"))
    assert read(backup) == others
    run(client, "--remove")
    assert read(path)["hooks"] == {"Stop": others["hooks"]["Stop"]}


def test_cursor_keeps_other_hooks_too(home):
    path = home / FILES["cursor"]
    path.parent.mkdir()
    path.write_text(json.dumps({"version": 1, "hooks": {"stop": [{"command": "mine"}]}}))
    run("cursor")
    assert next(one["command"] for one in read(path)["hooks"]["stop"]) == "mine"
    run("cursor", "--remove")
    assert read(path) == {"version": 1, "hooks": {"stop": [{"command": "mine"}]}}


def test_no_stream_event_is_asked_for():
    assert not {"MessageDisplay", "WorktreeCreate", "WorktreeRemove"} & set(CLAUDE_CODE)


def test_a_dry_run_shows_the_change_and_makes_none(home, capsys):
    run("claude-code", "--dry-run", "--token", "cdt_secret")
    out = capsys.readouterr().out
    assert "+++" in out
    assert "PostToolUse" in out
    assert "cdt_secret" not in out
    assert "hook.py" in out
    assert len(out.splitlines()) < 300, "the hook client is named, not printed"
    assert not (home / ".claude").exists()
    assert not install.config_file().exists()


def test_a_file_that_is_not_plain_json_is_left_alone(home, capsys):
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{ // mine\n "a": 1 }')
    assert run("claude-code") == 1
    assert path.read_text() == '{ // mine\n "a": 1 }'
    assert "not plain JSON" in capsys.readouterr().out


def test_the_token_goes_into_the_users_own_file_only(home):
    run("claude-code", "--token", "cdt_secret", "--url", "http://10.0.0.5:8765/")
    config = install.config_file()
    assert read(config) == {"url": "http://10.0.0.5:8765", "token": "cdt_secret"}
    assert config.stat().st_mode & 0o777 == 0o600
    assert "cdt_secret" not in (home / ".claude" / "settings.json").read_text()


def test_no_token_goes_into_a_file_that_git_tracks(home, capsys):
    config = install.config_file()
    config.parent.mkdir(parents=True)
    config.write_text("{}")
    subprocess.run(["git", "init", "-q", str(home)], check=True)
    subprocess.run(["git", "-C", str(home), "add", str(config)], check=True)
    assert run("codex", "--token", "cdt_secret") == 1
    assert "git tracks" in capsys.readouterr().out
    assert config.read_text() == "{}"
    assert not (home / ".codex").exists()


def test_http_is_claude_codes_alone_and_says_what_is_lost(home, capsys):
    assert run("gemini", "--http") == 1
    assert run("claude-code", "--http") == 0
    hooks = read(home / ".claude" / "settings.json")["hooks"]
    assert hooks["SessionStart"][0]["hooks"][0]["type"] == "command"
    stop = hooks["Stop"][0]["hooks"][0]
    assert stop["url"].startswith("http://127.0.0.1:8765/api/v1/hooks/claude-code")
    assert stop["allowedEnvVars"] == ["CONTEXTDASH_TOKEN"]
    assert "nothing is kept while the server is away" in capsys.readouterr().out
    run("claude-code", "--remove")
    assert "hooks" not in read(home / ".claude" / "settings.json")


def test_one_project_only(home, tmp_path):
    project = tmp_path / "moss"
    project.mkdir()
    run("claude-code", "--project", str(project))
    assert (project / ".claude" / "settings.local.json").exists()
    assert not (home / ".claude").exists()


def test_a_linked_settings_file_stays_a_link(home):
    real = home / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text("{}")
    link = home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    run("claude-code")
    assert link.is_symlink()
    assert "PostToolUse" in real.read_text()


def test_excluded_folders_are_added_up(home):
    run("codex", "--exclude", str(home / "a"))
    run("codex", "--exclude", str(home / "b"))
    assert read(install.config_file())["exclude"] == [str(home / "a"), str(home / "b")]


def test_the_written_command_runs_the_hook_client(home):
    run("claude-code")
    command = read(home / ".claude" / "settings.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
    done = subprocess.run(
        ["sh", "-c", command],
        input=b'{"hook_event_name":"Stop"}',
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "CONTEXTDASH_URL": "http://127.0.0.1:1"},
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(list((home / ".local/state/contextdash/spool").glob("*.line"))) == 1


def test_opencodes_plugin_is_a_module_that_sends_every_payload_in_order(home, tmp_path):
    run("opencode")
    plugin = home / FILES["opencode"]
    out = tmp_path / "lines"
    source = plugin.read_text()
    assert json.dumps([*install.hook_command(), "opencode", "--lines"]) in source
    plugin.with_suffix(".mjs").write_text(
        source.replace(
            json.dumps([*install.hook_command(), "opencode", "--lines"]), json.dumps(["tee", str(out)])
        )
        + """
const hooks = await Contextdash({ directory: "/src" })
const part = (state) => {
  const properties = { part: { type: "tool", state } }
  return { event: { type: "message.part.updated", properties } }
}
await hooks.event({ event: { type: "session.created", properties: {} } })
await hooks.event(part({ status: "running" }))
await hooks["tool.execute.before"]({ tool: "bash" }, { args: { command: "ls" } })
await hooks.event(part({ status: "error" }))
await hooks.event({ event: { type: "session.idle", properties: {} } })
"""
    )
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js on this machine")
    subprocess.run([node, str(plugin.with_suffix(".mjs"))], check=True, timeout=20)
    for _ in range(100):
        lines = out.read_text().splitlines() if out.exists() else []
        if len(lines) == 4:
            break
        time.sleep(0.05)
    names = [json.loads(line)["hook_event_name"] for line in lines]
    assert names == ["session.created", "tool.execute.before", "message.part.updated", "session.idle"]


@pytest.mark.parametrize(
    ("status", "told"),
    [(204, "takes what is delivered"), (401, "does not know this token"), (403, "needs the scope")],
)
def test_it_says_at_once_whether_deliveries_will_be_taken(home, capsys, status, told):
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        run("codex", "--url", f"http://127.0.0.1:{server.server_port}", "--token", "cdt_x")
        thread.join()
    assert told in capsys.readouterr().out


def test_it_says_that_no_server_answers_or_no_token_is_known(home, capsys):
    run("codex", "--url", "http://127.0.0.1:1", "--token", "cdt_x")
    assert "No server answers at http://127.0.0.1:1" in capsys.readouterr().out
    install.config_file().unlink()
    run("gemini", "--url", "http://127.0.0.1:1")
    assert "No token is known" in capsys.readouterr().out


def test_the_data_folder_is_nobody_elses(home):
    run("codex")
    assert install.hook_file().parent.stat().st_mode & 0o077 == 0
