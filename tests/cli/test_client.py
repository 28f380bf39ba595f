"""The Python client and the verbs, against a real server: what agents and hook scripts call."""

import io
import json
import socket
import threading

import pytest

from backlog_app.models import BacklogItem
from contextdash import client as module
from contextdash.cli import main
from contextdash.client import SESSION_VARIABLES, ApiError, Client
from reviews_app.models import Review
from sessions_app.models import AgentMessage, Decision, HookEvent, Mistake, Plan, Session
from tests import factories

HASH = "ab" * 32

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("agents_shell")]


@pytest.fixture(autouse=True)
def _impatient(agents_shell: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONTEXTDASH_SESSION_ID")
    monkeypatch.setattr(module, "WAITS_SECONDS", (0.01, 0.01))


@pytest.mark.parametrize("verb", ["recent", "inject", "close"])
def test_no_session_is_made_for_a_verb_that_writes_nothing_to_it(verb, capsys):
    assert main([verb]) == 1
    assert capsys.readouterr() == ("", "contextdash: No session is known here.\n")
    assert Session.objects.count() == 0


def test_every_verb_does_what_its_helper_did(run, tmp_path):
    assert run("ensure", "s-1", "--request", "Build it", "--branch", "main") == (0, "s-1")
    session = ("--session", "s-1")
    assert (
        run("message", "Done.", "--agent", "tester", "--role", "handoff", "--target", "dev", *session)[0] == 0
    )
    (tmp_path / "a.plan.md").write_text("# The plan\n- [ ] one", encoding="utf-8")
    assert run("plan", "a.plan.md", *session)[0] == 0
    assert run("decision", "storage", "SQLite", "one file", "--agent", "dev", *session)[0] == 0
    assert run("mistake", "It broke", "--agent", "dev", "--category", "build", *session)[0] == 0
    assert run("review", "a.py:3", "High", "No bounds", "--diff-hash", HASH, *session)[0] == 0
    assert run("backlog", "add", "A story", "--criteria", "- it works", "--priority", "1", *session)[0] == 0
    assert (
        run("hook-event", "10-build.sh", "Stop", "fail", "--ms", "12", "--payload", '{"a": 1}', *session)[0]
        == 0
    )
    assert run("close", "--status", "errored", *session) == (0, "s-1 errored")

    made = Session.objects.get(id="s-1")
    assert (made.user_request, made.branch, made.status) == ("Build it", "main", "errored")
    assert AgentMessage.objects.get().target == "dev"
    assert Plan.objects.get().title == "The plan"
    assert Decision.objects.get().rationale == "one file"
    assert Mistake.objects.get().category == "build"
    assert Review.objects.get().diff_key == HASH
    assert BacklogItem.objects.get().priority == 1
    assert json.loads(HookEvent.objects.get().payload_json) == {"a": 1}
    for model in (AgentMessage, Plan, Decision, Mistake, Review, BacklogItem, HookEvent):
        assert model.objects.get().session_id == "s-1"


def test_recent_reads_oldest_first(run):
    for text in ("one", "two", "three"):
        run("message", text, "--agent", "a", "--role", "response", "--session", "s-1")
    code, out = run("recent", "--limit", "2", "--session", "s-1")
    assert code == 0
    assert [line for line in out.splitlines() if line in ("one", "two", "three")] == ["two", "three"]


def test_fresh_is_an_exit_code(run):
    assert run("fresh", HASH)[0] == 1
    run("review", "a.py", "Low", "x", "--diff-hash", HASH, "--session", "s-1")
    assert run("fresh", HASH, "--window", "5m")[0] == 0


def test_a_long_text_comes_by_standard_input(run):
    text = "line\n" * 50_000
    run("message", "-", "--agent", "a", "--role", "response", "--session", "s-1", stdin=text)
    assert AgentMessage.objects.get().content == text


def test_the_whole_answer_as_json(run):
    _, out = run("decision", "t", "c", "--json", "--session", "s-1")
    assert json.loads(out)["topic"] == "t"


# Whose session


@pytest.mark.parametrize("name", SESSION_VARIABLES)
def test_the_agents_own_variable_names_the_session(name, run, monkeypatch):
    monkeypatch.setenv(name, "from-env")
    run("message", "x", "--agent", "a", "--role", "response")
    assert AgentMessage.objects.get().session_id == "from-env"


def test_ours_goes_before_the_agents(run, monkeypatch):
    for name in SESSION_VARIABLES:
        monkeypatch.setenv(name, name.lower())
    run("message", "x", "--agent", "a", "--role", "response")
    assert AgentMessage.objects.get().session_id == "contextdash_session_id"


def test_else_the_only_live_session_of_this_folder(run, tmp_path, capsys):
    here = {"host": socket.gethostname(), "workspace": str(tmp_path)}
    factories.session("elsewhere", host="other", workspace=str(tmp_path))
    factories.session("over", status="closed", activity="ended", **here)
    factories.session("here", **here)
    run("message", "x", "--agent", "a", "--role", "response")
    assert AgentMessage.objects.get().session_id == "here"


def test_else_a_new_one_and_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["message", "x", "--agent", "a", "--role", "response"]) == 0
    session = AgentMessage.objects.get().session_id
    assert f"export CONTEXTDASH_SESSION_ID={session}" in capsys.readouterr().err


# What goes wrong


def test_without_a_token_it_says_how_to_get_one(monkeypatch, capsys):
    monkeypatch.delenv("CONTEXTDASH_TOKEN")
    assert main(["recent", "--session", "s"]) == 1
    assert "contextdash token create" in capsys.readouterr().err


def test_a_refusal_tells_the_servers_own_words(capsys):
    assert main(["message", "x", "--agent", "", "--role", "r", "--session", "s"]) == 1
    assert "agent_name" in capsys.readouterr().err


def test_the_client_raises_what_the_server_said():
    with pytest.raises(ApiError) as told:
        Client(session="s").message(agent="", role="r", content="x")
    assert (told.value.status, told.value.field) == (422, "agent_name")


def test_nobody_answers(monkeypatch, capsys):
    monkeypatch.setenv("CONTEXTDASH_URL", "http://127.0.0.1:9")
    assert main(["recent", "--session", "s"]) == 1
    assert "contextdash serve" in capsys.readouterr().err


def answers(*raw: bytes) -> tuple[str, list[bytes]]:
    """A server that gives one raw answer a connection; its address and what it was sent."""
    seen: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener:
            for answer in raw:
                connection, _ = listener.accept()
                with connection:
                    request = b""
                    while b"\r\n\r\n" not in request:
                        request += connection.recv(65536)
                    seen.append(request)
                    connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}", seen


BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
MADE = b'HTTP/1.1 201 Made\r\nContent-Length: 8\r\n\r\n{"id":1}'


def test_a_busy_server_is_asked_again_with_the_same_key():
    url, seen = answers(BUSY, b"", MADE)
    assert Client(url, "t", session="s").decision(topic="t", choice="c") == {"id": 1}
    keys = {
        line for request in seen for line in request.split(b"\r\n") if line.startswith(b"Idempotency-Key")
    }
    assert (len(seen), len(keys)) == (3, 1)


def test_something_else_answers():
    url, _ = answers(b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello")
    with pytest.raises(ApiError, match="not as contextdash does"):
        Client(url, "t", session="s").recent()


def test_a_repeated_call_is_carried_out_once():
    client = Client(session="s-1")
    body = json.dumps({"topic": "t", "choice": "c", "session_id": "s-1"}).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
    first = client._call("POST", "decisions", body, headers)
    assert client._call("POST", "decisions", body, headers)["id"] == first["id"]
    assert Decision.objects.count() == 1
