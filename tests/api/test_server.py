"""Bodies as only a real server meets them: cut off, in chunks, announced too long."""

import json
import socket
from collections.abc import Iterator

import pytest

from contextdash import limits
from tests.benchmarks.server import Server, running

pytestmark = pytest.mark.sqlite

BODY = json.dumps({"session_id": "S1", "agent_name": "a", "role": "response", "content": "x" * 1000}).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("api-server")) as started:
        yield started


def talk(server: Server, head: list[str], body: bytes, *, half: bool = False) -> tuple[int, dict]:
    """Send these bytes; the status and body of the answer. With ``half`` the sender then ends."""
    lines = [*head, "Host: 127.0.0.1", f"Authorization: Bearer {server.token}", "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode() + body)
        if half:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    top, _, told = answer.partition(b"\r\n\r\n")
    return int(top.split()[1]), json.loads(told) if told else {}


def post(path: str, length: int, *more: str) -> list[str]:
    return [
        f"POST /api/v1/{path} HTTP/1.1",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        *more,
    ]


def count(server: Server) -> int:
    status, told = talk(server, ["GET /api/v1/messages?limit=100 HTTP/1.1"], b"")
    assert status == 200
    return len(told["items"])


def test_a_whole_body_is_stored(server):
    before = count(server)
    assert talk(server, post("messages", len(BODY)), BODY)[0] == 201
    assert count(server) == before + 1


@pytest.mark.parametrize("path", ["messages", "ingest"])
def test_a_body_that_stops_half_way_is_400_and_stores_nothing(server, path):
    before = count(server)
    status, told = talk(server, post(path, len(BODY)), BODY[:500], half=True)
    assert (status, told["error"]) == (400, "malformed")
    assert "500" in told["detail"]
    assert count(server) == before


def test_a_body_in_chunks_is_read(server):
    head = [
        "POST /api/v1/messages HTTP/1.1",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    ]
    chunks = b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (100, BODY[:100], len(BODY) - 100, BODY[100:])
    assert talk(server, head, chunks)[0] == 201


def test_a_body_announced_too_long_is_refused_before_it_is_sent(server):
    status, told = talk(server, post("messages", limits.BODY_BYTES + 1), b"")
    assert (status, told["error"]) == (413, "too_large")
    assert "BODY_BYTES" in told["detail"]


def test_a_body_of_chunks_that_never_end_is_refused_at_the_limit(server):
    head = [
        "POST /api/v1/messages HTTP/1.1",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    ]
    mib = b"%x\r\n%s\r\n" % (limits.MIB, b" " * limits.MIB)
    status, told = talk(server, head, mib * 17)
    assert (status, told["error"]) == (413, "too_large")


@pytest.mark.parametrize("length", ["-1", "1e3", "x", "9" * 40])
def test_an_odd_length_is_refused(server, length):
    head = ["POST /api/v1/messages HTTP/1.1", "Content-Type: application/json", f"Content-Length: {length}"]
    lines = [*head, "Host: 127.0.0.1", f"Authorization: Bearer {server.token}", "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode())
        assert connection.recv(20).split()[1] in (b"400", b"413")


def test_another_name_or_none_is_refused(server):
    hosts = ("evil.example", "evil.example:8000", "localhost.evil.example")
    for host in (*(f"Host: {name}" for name in hosts), "X-Forwarded-Host: 127.0.0.1"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
            request = f"GET /api/v1/sessions HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n"
            connection.sendall(request.encode())
            assert connection.recv(20).split()[1] in (b"400", b"403"), host
