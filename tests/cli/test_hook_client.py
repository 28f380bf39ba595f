"""The hook client as an agent runs it: a process of its own against a server that behaves, or does not."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from contextdash import hook_client

SCRIPT = hook_client.__file__
BODY = {"session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "Bash", "cwd": "/somewhere"}


class Recorder(ThreadingHTTPServer):
    """Takes posts, remembers them, and answers as a test tells it to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.posts: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 204
        self.headers: dict[str, str] = {}
        self.delay = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Recorder

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, dict(self.headers), body))
        time.sleep(self.server.delay)
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Recorder]:
    made = Recorder()
    thread = threading.Thread(target=made.serve_forever, args=(0.02,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


class Machine:
    """A home folder and the environment of one user's hooks."""

    def __init__(self, home: Path, url: str) -> None:
        self.spool = home / "spool"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "USER": "dana",
            "CONTEXTDASH_URL": url,
            "CONTEXTDASH_TOKEN": "cdt_test",
            "CONTEXTDASH_SPOOL": str(self.spool),
        }

    def hook(self, body: Any = BODY, *args: str) -> subprocess.CompletedProcess[bytes]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        done = subprocess.run(
            [sys.executable, SCRIPT, "claude-code", *args],
            input=data,
            env=self.env,
            capture_output=True,
            timeout=20,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        return done

    def waiting(self) -> list[Path]:
        return sorted(self.spool.glob("*.line"))

    def end_pause(self) -> None:
        (self.spool / "pause").unlink()


@pytest.fixture
def machine(tmp_path: Path, server: Recorder) -> Machine:
    return Machine(tmp_path, server.url)


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def sent_numbers(server: Recorder) -> list[int]:
    """The ``n`` of every body that arrived, through either address."""
    numbers = []
    for path, _, body in server.posts:
        lines = body.split(b"\n") if path.endswith("/ingest") else [body]
        numbers += [
            (json.loads(x)["body"] if path.endswith("/ingest") else json.loads(x))["n"] for x in lines
        ]
    return numbers


def test_it_posts_the_body_as_it_came_with_what_the_server_cannot_know(machine, server):
    raw = json.dumps(BODY, indent=1).encode()
    machine.hook(raw)
    path, headers, body = server.posts[0]
    assert path == "/api/v1/hooks/claude-code/PostToolUse"
    assert body == raw
    assert headers["Authorization"] == "Bearer cdt_test"
    assert len(headers["X-Contextdash-Delivery-Id"]) == 32
    assert abs(int(headers["X-Contextdash-Captured-At"]) / 1e6 - time.time()) < 60
    assert headers["X-Contextdash-User"] == "dana"
    assert machine.waiting() == []


def test_a_session_start_tells_the_repository_without_its_credentials(machine, server, tmp_path):
    repo = tmp_path / "häuser"
    git = ["git", "-C", str(repo)]
    subprocess.run(["git", "init", "-q", "-b", "main", str(repo)], check=True)
    subprocess.run([*git, "remote", "add", "origin", "https://dana:pw@git.example/moss.git"], check=True)
    (repo / "sub").mkdir()
    machine.hook({**BODY, "hook_event_name": "SessionStart", "cwd": str(repo / "sub")})
    headers = server.posts[0][1]
    assert headers["X-Contextdash-Remote"] == "https://git.example/moss.git"
    assert headers["X-Contextdash-Branch"] == "main"
    assert headers["X-Contextdash-Root"].endswith("h%C3%A4user")


def test_a_worktree_tells_its_own_branch_and_the_common_remote(tmp_path):
    repo, tree = tmp_path / "repo", tmp_path / "tree"
    git = ["git", "-C", str(repo), "-c", "user.name=d", "-c", "user.email=d@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(repo)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "remote", "add", "origin", "git@git.example:moss.git"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "-b", "feature", str(tree)], check=True)
    facts = hook_client.repository(str(tree))
    assert facts == {"root": str(tree), "branch": "feature", "remote": "git@git.example:moss.git"}


def test_while_the_server_is_away_payloads_wait_and_arrive_later_in_order_and_once(machine, server):
    machine.env["CONTEXTDASH_URL"] = f"http://127.0.0.1:{free_port()}"
    for n in range(3):
        machine.hook({**BODY, "n": n})
    assert len(machine.waiting()) == 3
    machine.env["CONTEXTDASH_URL"] = server.url
    machine.end_pause()
    machine.hook({**BODY, "n": 3})
    assert sent_numbers(server) == [0, 1, 2, 3]
    assert machine.waiting() == []
    machine.hook({**BODY, "n": 4})
    assert sent_numbers(server) == [0, 1, 2, 3, 4]


def test_a_server_that_did_not_answer_is_left_alone_for_a_while(machine, server):
    server.status = 503
    machine.hook()
    machine.hook()
    machine.hook()
    assert len(server.posts) == 1
    assert len(machine.waiting()) == 3


def test_retry_after_shortens_the_pause(machine, server):
    server.status, server.headers = 429, {"Retry-After": "1"}
    machine.hook({**BODY, "n": 0})
    server.status, server.headers = 204, {}
    time.sleep(1.1)
    machine.hook({**BODY, "n": 1})
    assert sent_numbers(server) == [0, 0, 1]


def test_a_slow_server_costs_two_seconds_at_most_and_nothing_is_lost(machine, server):
    server.delay = 6
    started = time.monotonic()
    machine.hook()
    assert time.monotonic() - started < 3.5
    assert len(machine.waiting()) == 1


def test_a_host_that_swallows_packets_costs_a_fraction_of_a_second(machine):
    with socket.socket() as listener:
        # A full accept queue drops what comes, as a firewall would.
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        held = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
            held.append(one)
        machine.env["CONTEXTDASH_URL"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
        started = time.monotonic()
        machine.hook()
        assert time.monotonic() - started < 3
        for one in held:
            one.close()
    assert len(machine.waiting()) == 1


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_what_the_server_will_never_take_is_not_kept(machine, server, status):
    server.status = status
    machine.hook()
    assert machine.waiting() == []
    assert len(server.posts) == 1


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_what_the_server_may_take_later_is_kept(machine, server, status):
    server.status = status
    machine.hook()
    assert len(machine.waiting()) == 1


def test_an_answer_that_got_lost_is_repeated_under_the_same_delivery_id(machine, server):
    server.delay = 3
    machine.hook({**BODY, "n": 0})
    server.delay = 0
    machine.end_pause()
    machine.hook({**BODY, "n": 1})
    first = server.posts[0][1]["X-Contextdash-Delivery-Id"]
    again = json.loads(server.posts[1][2].split(b"\n")[0])["delivery_id"]
    assert first == again


def test_a_payload_waits_byte_for_byte(machine, server):
    raw = b'{"session_id":"s1",  "hook_event_name":"Stop","big":1e999,"half":"\\ud83d"}'
    server.status = 503
    machine.hook(raw)
    server.status = 204
    machine.end_pause()
    machine.hook({**BODY, "n": 1})
    assert raw in server.posts[1][2]


def test_a_clock_that_is_set_back_does_not_change_the_order(machine, server, monkeypatch):
    monkeypatch.setenv("CONTEXTDASH_SPOOL", str(machine.spool))
    spool = hook_client.Spool()
    for n, now in enumerate([2_000_000_000, 1_000_000_000, 1_500_000_000]):
        monkeypatch.setattr(time, "time_ns", lambda now=now: now * 10**9)
        spool.add("claude-code", "Stop", json.dumps({"n": n}).encode(), {"delivery_id": f"{n:032x}"})
    monkeypatch.undo()
    machine.hook({**BODY, "n": 3})
    assert sent_numbers(server) == [0, 1, 2, 3]


def test_two_hooks_at_once_deliver_everything_once(machine, server):
    server.status = 503
    for n in range(5):
        machine.hook({**BODY, "n": n})
    server.status = 204
    server.posts.clear()
    machine.end_pause()
    threads = [threading.Thread(target=machine.hook, args=({**BODY, "n": 5 + n},)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    machine.hook({**BODY, "n": 9})
    assert sorted(sent_numbers(server)) == list(range(10))
    assert machine.waiting() == []


def test_a_killed_hook_leaves_no_half_payload(machine, server):
    server.delay = 10
    process = subprocess.Popen(
        [sys.executable, SCRIPT, "claude-code"],
        stdin=subprocess.PIPE,
        env=machine.env,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(BODY).encode())
    process.stdin.close()
    time.sleep(0.5)
    process.kill()
    process.wait()
    server.delay = 0
    for path in machine.waiting():
        json.loads(path.read_bytes())
    machine.hook({**BODY, "n": 1})
    assert machine.waiting() == []


def test_a_spool_that_cannot_be_written_is_silent(machine, server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    machine.env["CONTEXTDASH_SPOOL"] = str(tmp_path / "file" / "spool")
    server.status = 503
    machine.hook()


def test_a_full_disk_loses_the_payload_and_not_the_agent(machine, server):
    server.status = 503
    limited = f"ulimit -f 0; exec {sys.executable} {SCRIPT} claude-code"
    done = subprocess.run(
        ["sh", "-c", limited],
        input=json.dumps(BODY).encode(),
        env=machine.env,
        capture_output=True,
        timeout=20,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert machine.waiting() == []


@pytest.mark.parametrize("body", [b"", b"not json", b"[1]", b"\xff\xfe", b'{"a":' * 5000])
def test_whatever_the_agent_hands_over_is_passed_on_and_never_felt(machine, server, body):
    machine.hook(body, "Stop")
    assert server.posts[0][2] == body


def test_an_excluded_folder_tells_nothing(machine, server, tmp_path):
    config = tmp_path / ".config" / "contextdash"
    config.mkdir(parents=True)
    (config / "client.json").write_text(json.dumps({"exclude": ["/somewhere"]}))
    machine.hook()
    machine.hook({**BODY, "cwd": "/somewhere/deep"})
    assert server.posts == []
    machine.hook({**BODY, "cwd": "/somewhere-else"})
    assert len(server.posts) == 1


def test_a_plugin_sends_a_payload_a_line_through_one_process(machine, server):
    lines = b"".join(json.dumps({**BODY, "n": n}).encode() + b"\n" for n in range(3)) + b"\n"
    machine.hook(lines, "--lines")
    assert sent_numbers(server) == [0, 1, 2]
    assert {path for path, _, _ in server.posts} == {"/api/v1/hooks/claude-code/PostToolUse"}


def test_it_can_be_turned_off(machine, server):
    machine.env["CONTEXTDASH_HOOKS"] = "off"
    machine.hook()
    assert server.posts == []


def test_url_and_token_may_stand_in_the_users_own_file(machine, server, tmp_path):
    config = tmp_path / ".config" / "contextdash"
    config.mkdir(parents=True)
    (config / "client.json").write_text(json.dumps({"url": server.url, "token": "cdt_file"}))
    del machine.env["CONTEXTDASH_URL"], machine.env["CONTEXTDASH_TOKEN"]
    machine.hook()
    assert server.posts[0][1]["Authorization"] == "Bearer cdt_file"


def test_a_spool_that_is_full_counts_what_it_drops(machine, monkeypatch):
    monkeypatch.setenv("CONTEXTDASH_SPOOL", str(machine.spool))
    monkeypatch.setattr(hook_client, "SPOOL_BYTES", 10)
    spool = hook_client.Spool()
    assert not spool.add("claude-code", "Stop", b"x" * 20, {"delivery_id": "0" * 32})
    assert not spool.add("claude-code", "Stop", b"x" * 20, {"delivery_id": "1" * 32})
    assert (machine.spool / "dropped").read_text() == "2"


def spool_command(*words: str) -> int:
    from argparse import ArgumentParser

    from contextdash.cli import spool

    parser = ArgumentParser()
    spool.add_arguments(parser)
    return spool.run(parser.parse_args(words))


def test_an_emptied_spool_tells_what_still_waits_behind_and_what_was_lost(machine, server, monkeypatch):
    server.status = 503
    for n in range(5):
        machine.hook({**BODY, "n": n})
    (machine.spool / "dropped").write_text("2", encoding="utf-8")
    machine.end_pause()
    server.status = 204
    server.posts.clear()
    for name, value in machine.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(hook_client, "BATCH_LINES", 2)
    hook_client.Spool().flush(hook_client.Config(), time.monotonic() + 10)
    told = [headers for _, headers, _ in server.posts]
    assert [headers["X-Contextdash-Waiting"] for headers in told] == ["3", "1", "0"]
    assert {headers["X-Contextdash-Dropped"] for headers in told} == {"2"}
    assert {(headers["X-Contextdash-Host"], headers["X-Contextdash-User"]) for headers in told} == {
        (socket.gethostname(), "dana")
    }


def test_the_spool_command_tells_and_delivers(machine, server, monkeypatch, capsys):
    for name, value in machine.env.items():
        monkeypatch.setenv(name, value)
    assert spool_command("status") == 0
    assert "Nothing waits" in capsys.readouterr().out
    server.status = 503
    machine.hook({**BODY, "n": 0})
    machine.hook({**BODY, "n": 1})
    assert spool_command("status") == 1
    assert "2 wait" in capsys.readouterr().out
    assert spool_command("flush") == 1
    server.status = 204
    server.posts.clear()
    assert spool_command("flush") == 0
    assert "Delivered 2, refused 0, still waiting 0." in capsys.readouterr().out
    assert sent_numbers(server) == [0, 1]
