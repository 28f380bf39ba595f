"""What a reader waits for on a large database: the list of sessions, and a session of 10,000 events."""

import time
from urllib.parse import urlsplit

from tests.benchmarks.load import Connection, Result
from tests.benchmarks.seed import BIG_SESSION, seed
from tests.benchmarks.server import Server, run_command, running
from tests.benchmarks.writes import Row, folder

ROUNDS = 60


def pages(sessions: int) -> list[Row]:
    with folder() as path:
        start = time.perf_counter()
        token = seed(path, sessions)
        took = time.perf_counter() - start
        size = (path / "contextdash.sqlite3").stat().st_size
        with running(path, token=token) as server:
            cookie = sign_in(server)
            listed, list_bytes = read(server, cookie, "/sessions/")
            shown, page_bytes = read(server, cookie, f"/sessions/{BIG_SESSION}/")
            memory = server.memory_bytes()
    return [
        ("database", f"{sessions:,} sessions, {size / 1e6:,.0f} MB", f"made in {took:.0f} s"),
        ("sessions page: p50", f"{listed.ms(50):.1f} ms", "≤ 15 ms"),
        ("sessions page: p95", f"{listed.ms(95):.1f} ms", ""),
        ("sessions page: size", f"{list_bytes / 1e3:.0f} KB", "≤ 250 KB"),
        ("page of a 10,000-event session: p50", f"{shown.ms(50):.1f} ms", "≤ 60 ms"),
        ("page of a 10,000-event session: size", f"{page_bytes / 1e3:.0f} KB", "≤ 250 KB"),
        ("pages: memory of all processes", f"{memory / 1e6:.0f} MB", "≤ 200 MB"),
    ]


def sign_in(server: Server) -> str:
    """A browser's cookie, by the link that the command line makes."""
    printed = run_command(server.folder, "signin-link").split()
    link = next(word for word in printed if "/signin/" in word)
    with Connection(server.port) as connection:
        answer = connection.exchange("GET", urlsplit(link).path)
    for line in answer.head.decode().splitlines():
        name, _, value = line.partition(":")
        if name.lower() == "set-cookie" and value.strip().startswith("contextdash_session="):
            return value.strip().partition(";")[0]
    raise RuntimeError(f"no session cookie in the answer to {link}: {answer.head!r}")


def read(server: Server, cookie: str, path: str) -> tuple[Result, int]:
    """The times of ROUNDS reads one after another, and the bytes of the last."""
    result = Result()
    with Connection(server.port, cookie=cookie) as connection:
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            answer = connection.exchange("GET", path)
            result.latencies.append(time.perf_counter() - begin)
            result.statuses[answer.status] += 1
    if set(result.statuses) != {200}:
        raise RuntimeError(f"{path} was answered {dict(result.statuses)}")
    return result, len(answer.body)
