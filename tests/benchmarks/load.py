"""A load generator on plain sockets: keep-alive connections, closed loop or open loop."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self


class Answer(NamedTuple):
    status: int
    head: bytes
    body: bytes


class Connection:
    """One keep-alive HTTP/1.1 connection. Sockets instead of http.client: it shares the cores it measures."""

    def __init__(self, port: int, token: str = "", cookie: str = "") -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1:{port}\r\n"
        if token:
            self._head += f"Authorization: Bearer {token}\r\n"
        if cookie:
            self._head += f"Cookie: {cookie}\r\n"
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def post(self, path: str, body: bytes, content_type: str = "application/json") -> int:
        return self.call(path, body, content_type).status

    def call(self, path: str, body: bytes, content_type: str = "application/json") -> Answer:
        """A post whose answer is looked at."""
        head = (
            f"POST {path} HTTP/1.1\r\n{self._head}Content-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return self._send(head.encode() + body)

    def exchange(self, method: str, path: str) -> Answer:
        """A request without a body."""
        return self._send(f"{method} {path} HTTP/1.1\r\n{self._head}\r\n".encode())

    def _send(self, request: bytes) -> Answer:
        for last in (False, True):
            try:
                if self._socket is None:
                    self._socket = socket.create_connection(("127.0.0.1", self._port), 60)
                    self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._socket.sendall(request)
                return self._answer(self._socket)
            except OSError:
                self.close()
                if last:
                    raise
        raise AssertionError("unreachable")

    def _answer(self, connection: socket.socket) -> Answer:
        data = b""
        while b"\r\n\r\n" not in data:
            part = connection.recv(65536)
            if not part:
                raise ConnectionError("closed")
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        lower = head.lower()
        status = int(head[9:12])
        if b"content-length:" in lower:
            length = int(lower.partition(b"content-length:")[2].partition(b"\r\n")[0])
            while len(body) < length:
                body += connection.recv(65536)
        elif b"chunked" in lower:
            while not body.endswith(b"0\r\n\r\n"):
                body += connection.recv(65536)
        if b"connection: close" in lower:
            self.close()
        return Answer(status, head, body)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


@dataclass(slots=True)
class Result:
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    """Seconds each."""
    statuses: Counter[int | str] = field(default_factory=Counter)

    def ms(self, percentile: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, round(percentile / 100 * (len(ordered) - 1)))] * 1000

    @property
    def good(self) -> int:
        return sum(
            count for status, count in self.statuses.items() if isinstance(status, int) and status < 300
        )

    @property
    def per_second(self) -> float:
        return self.good / self.seconds


def closed_loop(
    jobs: Sequence[bytes],
    connect: Callable[[], Connection],
    *,
    path: str,
    connections: int,
    content_type: str = "application/json",
) -> Result:
    """Each connection sends its next job as soon as the last was answered."""
    return _run(jobs, connect, path, connections, content_type, rate=None)


def open_loop(
    jobs: Sequence[bytes], connect: Callable[[], Connection], *, path: str, connections: int, rate: float
) -> Result:
    """A job is due every ``1 / rate`` seconds; its latency counts from then, not from when it was sent."""
    return _run(jobs, connect, path, connections, "application/json", rate=rate)


def _run(
    jobs: Sequence[bytes],
    connect: Callable[[], Connection],
    path: str,
    connections: int,
    content_type: str,
    rate: float | None,
) -> Result:
    result, lock, places = Result(), threading.Lock(), iter(range(len(jobs)))
    start = time.perf_counter()

    def work() -> None:
        connection = connect()
        while True:
            with lock:
                place = next(places, None)
            if place is None:
                break
            begin = time.perf_counter()
            if rate is not None:
                due = start + place / rate
                time.sleep(max(0.0, due - begin))
                begin = due
            try:
                status: int | str = connection.post(path, jobs[place], content_type)
            except OSError as error:
                status = type(error).__name__
            took = time.perf_counter() - begin
            with lock:
                result.latencies.append(took)
                result.statuses[status] += 1
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result.seconds = time.perf_counter() - start
    return result
