#!/usr/bin/env python3
"""Hands one hook payload of an agent to contextdash: standard library only, Python 3.8 or newer.

``python3 hook.py CLIENT [EVENT]`` reads the payload from standard input (with ``--lines`` one a line), posts
it, and always exits 0 without printing a word: a hook that slows, blocks or talks into an agent is worse
than a lost observation.
What the server does not take is spooled and delivered later, in order and once (by its delivery id).

Configuration: CONTEXTDASH_URL and CONTEXTDASH_TOKEN, else ``~/.config/contextdash/client.json`` with
``{"url": …, "token": …, "exclude": [folders]}``. CONTEXTDASH_HOOKS=off turns it off.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time

TYPE_CHECKING = False  # importing typing would cost a fifth of the start
if TYPE_CHECKING:
    from typing import Any

DEFAULT_URL = "http://127.0.0.1:8765"
CONNECT_SECONDS = 0.3
TOTAL_SECONDS = 2.0
BACK_OFF_SECONDS = 30
"""How long a server that did not answer is left alone."""
BATCH_LINES = 200
BATCH_BYTES = 4 * 1024 * 1024
SPOOL_BYTES = 256 * 1024 * 1024
"""Beyond so much waiting text new payloads are dropped and counted."""
MAX_BODY_BYTES = 16 * 1024 * 1024

DELIVERED = "delivered"
REFUSED = "refused"  # this server will never take it
KEPT = "kept"  # try again later


class Config:
    def __init__(self, default_url: str = DEFAULT_URL) -> None:
        base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
        found = _read_json(os.path.join(base, "contextdash", "client.json"))
        self.url = (os.environ.get("CONTEXTDASH_URL") or found.get("url") or default_url).rstrip("/")
        self.token = os.environ.get("CONTEXTDASH_TOKEN") or found.get("token") or ""
        exclude = found.get("exclude")
        self.exclude = [str(folder) for folder in exclude] if isinstance(exclude, list) else []


def main(argv: list[str]) -> int:
    """Deliver standard input; whatever happens, 0."""
    try:
        if argv and os.environ.get("CONTEXTDASH_HOOKS", "").lower() not in ("off", "0", "no"):
            if "--lines" in argv:
                hand_over_lines(argv[0])
            else:
                event = argv[1] if len(argv) > 1 else ""
                hand_over(argv[0], event, sys.stdin.buffer.read(MAX_BODY_BYTES + 1))
    except BaseException:  # noqa: BLE001, S110 - an agent must never feel what went wrong here
        pass
    return 0


def hand_over_lines(client: str) -> None:
    """A payload a line, until standard input ends: for agents whose plugins run inside them.

    One process for all keeps their order, and what is in the pipe is delivered after the agent has ended.
    """
    for line in sys.stdin.buffer:
        try:
            if line.strip():
                hand_over(client, "", line.rstrip(b"\n"))
        except OSError:
            continue


def hand_over(client: str, event: str, body: bytes) -> str:
    """Post one payload, or spool it; says which of DELIVERED, REFUSED, KEPT it became."""
    deadline = time.monotonic() + TOTAL_SECONDS
    config = Config()
    payload = _as_object(body)
    if is_excluded(payload, config.exclude):
        return REFUSED
    event = event or str(payload.get("hook_event_name") or "")
    facts = describe(payload, event)
    spool = Spool()
    if not spool.is_empty() or spool.backing_off():
        # What waits goes first, so this one queues behind it.
        spool.add(client, event, body, facts)
        if not spool.backing_off():
            spool.flush(config, deadline)
        return KEPT
    path = "/api/v1/hooks/" + client + ("/" + event if event else "")
    outcome, wait = post(config, path, body, "application/json", headers_of(facts), deadline)
    if outcome == KEPT:
        spool.add(client, event, body, facts)
        spool.back_off(wait)
    return outcome


def describe(payload: dict[str, Any], event: str) -> dict[str, Any]:
    """What the server cannot know by itself: when and where this was captured, and by whom."""
    facts = {
        "delivery_id": os.urandom(16).hex(),
        "captured_at": str(time.time_ns() // 1000),
        **machine(),
    }
    if event.lower().replace(".", "") in ("sessionstart", "sessioncreated"):
        facts.update(repository(str(payload.get("cwd") or os.getcwd())))
    return facts


def machine() -> dict[str, Any]:
    """Which computer this is, and whose agent runs on it."""
    return {
        "host": socket.gethostname(),
        "user": os.environ.get("USER") or os.environ.get("USERNAME") or "",
    }


def repository(folder: str) -> dict[str, Any]:
    """Root, remote and branch of the git repository around a folder, read from its files."""
    root = os.path.abspath(folder)
    while not os.path.exists(os.path.join(root, ".git")):
        parent = os.path.dirname(root)
        if parent == root:
            return {}
        root = parent
    git = os.path.join(root, ".git")
    if os.path.isfile(git):  # a worktree or submodule names its folder in a file
        git = os.path.join(root, _read_text(git).partition("gitdir:")[2].strip())
    common = _read_text(os.path.join(git, "commondir")).strip()
    head = _read_text(os.path.join(git, "HEAD")).strip()
    facts = {"root": root}
    if head.startswith("ref: refs/heads/"):
        facts["branch"] = head[len("ref: refs/heads/") :]
    remote = _remote(
        _read_text(os.path.join(git, common, "config") if common else os.path.join(git, "config"))
    )
    if remote:
        facts["remote"] = remote
    return facts


def is_excluded(payload: dict[str, Any], folders: list[str]) -> bool:
    """Whether the agent works in a folder that its user keeps out."""
    cwd = str(payload.get("cwd") or "")
    return any(
        cwd == folder or cwd.startswith(os.path.join(folder, ""))
        for folder in (os.path.abspath(os.path.expanduser(one)) for one in folders)
    )


def headers_of(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts as headers: percent-encoded UTF-8, since a header holds ASCII only."""
    return {
        "X-Contextdash-" + name.replace("_", "-").title(): _quote(text)
        for name, text in facts.items()
        if text
    }


def post(
    config: Config, path: str, body: bytes, content_type: str, headers: dict[str, Any], deadline: float
) -> tuple[str, float]:
    """(outcome, seconds to wait before the next try) of one request; nothing is raised."""
    try:
        status, retry_after = _request(config, path, body, content_type, headers, deadline)
    except (OSError, ValueError):
        return KEPT, BACK_OFF_SECONDS
    if 200 <= status < 300:
        return DELIVERED, 0
    if status in (400, 404, 405, 409, 413, 415, 422):
        return REFUSED, 0
    return KEPT, min(max(retry_after, 1), BACK_OFF_SECONDS) if retry_after else BACK_OFF_SECONDS


def _request(
    config: Config, path: str, body: bytes, content_type: str, headers: dict[str, Any], deadline: float
) -> tuple[int, float]:
    # http.client costs 25 ms to import, half of what a hook may take; this request is six lines of text.
    scheme, _, rest = config.url.partition("://")
    authority, slash, prefix = rest.partition("/")
    host, port = _host_and_port(authority, 443 if scheme == "https" else 80)
    left = deadline - time.monotonic()
    if left <= 0:
        raise OSError("no time left")
    connection = socket.create_connection((host, port), min(CONNECT_SECONDS, left))
    try:
        if scheme == "https":
            import ssl

            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=host)
        lines = {
            "Host": authority,
            "Content-Type": content_type,
            "Content-Length": str(len(body)),
            "Connection": "close",
            "Authorization": "Bearer " + config.token,
            **headers,
        }
        head = "".join(name + ": " + value + "\r\n" for name, value in lines.items())
        start = "POST " + slash + prefix + path + " HTTP/1.1\r\n"
        connection.settimeout(max(0.05, deadline - time.monotonic()))
        connection.sendall((start + head + "\r\n").encode("latin-1") + body)
        return _answer(connection, deadline)
    finally:
        connection.close()


def _answer(connection: socket.socket, deadline: float) -> tuple[int, float]:
    received = b""
    while b"\r\n\r\n" not in received and len(received) < 65536:
        connection.settimeout(max(0.05, deadline - time.monotonic()))
        piece = connection.recv(8192)
        if not piece:
            break
        received += piece
    lines = received.split(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ")[1])
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.lower() == "retry-after" and value.strip().isdigit():
            return status, float(value)
    return status, 0.0


class Spool:
    """Payloads that wait: a file each, named so that their order is the order of capture."""

    def __init__(self) -> None:
        base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
        self.folder = os.environ.get("CONTEXTDASH_SPOOL") or os.path.join(base, "contextdash", "spool")
        self._pause = os.path.join(self.folder, "pause")

    def names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.folder) if name.endswith(".line"))
        except OSError:
            return []

    def is_empty(self) -> bool:
        return not self.names()

    def backing_off(self) -> bool:
        try:
            until = float(_read_text(self._pause) or 0)
        except ValueError:
            return False
        # A pause further away than any we write means that the clock was set back: ignore it.
        return 0 < until - time.time() <= BACK_OFF_SECONDS

    def back_off(self, seconds: float) -> None:
        _write(self._pause, str(time.time() + seconds).encode())

    def add(self, client: str, event: str, body: bytes, facts: dict[str, Any]) -> bool:
        """Keep a payload; False when there is no room left for it."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        waiting = self.names()
        if self._size(waiting) + len(body) > SPOOL_BYTES:
            self._count("dropped")
            return False
        line = {
            "type": "hook",
            "client": client,
            "event": event,
            **facts,
            "body": body.decode("utf-8", "replace"),
        }
        # Never before what already waits, even when the clock was set back in between.
        newest = int(waiting[-1].split("-")[0]) if waiting else 0
        place = max(time.time_ns() // 1000, newest + 1)
        _write(
            os.path.join(self.folder, "%020d-%s.line" % (place, facts["delivery_id"][:8])),
            json.dumps(line).encode(),
        )
        return True

    def flush(self, config: Config, deadline: float) -> dict[str, Any]:
        """Deliver what waits, oldest first; {"delivered": n, "refused": n, "left": n}."""
        counts = {"delivered": 0, "refused": 0, "left": 0}
        lock = self._lock()
        if lock is not None:
            try:
                while self._flush_batch(config, deadline, counts):
                    pass
            finally:
                os.close(lock)
        counts["left"] = len(self.names())
        return counts

    def _flush_batch(self, config: Config, deadline: float, counts: dict[str, Any]) -> bool:
        names: list[str] = []
        lines: list[bytes] = []
        size = 0
        waiting = self.names()
        for name in waiting[:BATCH_LINES]:
            line = _read_bytes(os.path.join(self.folder, name))
            if lines and size + len(line) > BATCH_BYTES:
                break
            names.append(name)
            lines.append(line)
            size += len(line)
        if not names:
            return False
        outcome, wait = post(
            config,
            "/api/v1/ingest",
            b"\n".join(_as_ingest_line(x) for x in lines),
            "application/x-ndjson",
            headers_of({**machine(), **self._state(len(waiting) - len(names))}),
            deadline,
        )
        if outcome == KEPT:
            self.back_off(wait)
            return False
        for name in names:
            path = os.path.join(self.folder, name)
            if outcome == DELIVERED:
                os.unlink(path)
            else:
                os.replace(path, path[: -len(".line")] + ".refused")
        counts[outcome] += len(names)
        return True

    def _state(self, left: int) -> dict[str, Any]:
        """What the server shows of this spool: how many wait behind a delivery, how many were lost."""
        dropped = _read_text(os.path.join(self.folder, "dropped"))
        return {"waiting": str(left), "dropped": dropped if dropped.isdigit() else "0"}

    def _lock(self) -> int | None:
        """A lock that ends with the process, however it ends; None when another holds it."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        handle = os.open(os.path.join(self.folder, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows: two at once deliver twice, which the delivery ids make harmless
            return handle
        except OSError:
            os.close(handle)
            return None
        return handle

    def _size(self, names: list[str]) -> int:
        return sum(_file_size(os.path.join(self.folder, name)) for name in names)

    def _count(self, name: str) -> None:
        path = os.path.join(self.folder, name)
        text = _read_text(path)
        _write(path, str(int(text if text.isdigit() else 0) + 1).encode())


def _as_ingest_line(stored: bytes) -> bytes:
    """A spooled line as the server reads it: the payload as JSON in place, byte for byte where it can be."""
    line = json.loads(stored)
    body = line.pop("body")
    if "\n" in body or "\r" in body or not _is_json(body):
        body = json.dumps(json.loads(body) if _is_json(body) else body)
    text: str = json.dumps(line)[:-1] + ', "body": ' + body + "}"
    return text.encode("utf-8", "replace")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _as_object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _remote(config: str) -> str:
    """The address of ``origin``, without the credentials that some people keep in it."""
    inside = False
    for line in config.splitlines():
        text = line.strip()
        if text.startswith("["):
            inside = text == '[remote "origin"]'
        elif inside and text.partition("=")[0].strip() == "url":
            url = text.partition("=")[2].strip()
            scheme, mark, rest = url.partition("://")
            return scheme + mark + rest.rpartition("@")[2] if mark else url
    return ""


def _quote(text: str) -> str:
    plain = "-._~/:@ "
    return "".join(
        character
        if character.isascii() and (character.isalnum() or character in plain)
        else "".join("%%%02X" % byte for byte in character.encode("utf-8", "surrogatepass"))
        for character in text[:2000]
    )


def _host_and_port(authority: str, default: int) -> tuple[str, int]:
    if authority.startswith("["):
        host, _, rest = authority[1:].partition("]")
        return host, int(rest[1:]) if rest.startswith(":") else default
    host, _, port = authority.partition(":")
    return host, int(port) if port else default


def _write(path: str, data: bytes) -> None:
    """Whole or not at all: written beside, then put in place."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    beside = path + ".%d.tmp" % os.getpid()
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise


def _read_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read_text(path: str) -> str:
    try:
        return _read_bytes(path).decode("utf-8", "replace")
    except OSError:
        return ""


def _read_json(path: str) -> dict[str, Any]:
    return _as_object(_read_text(path).encode())


def _file_size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
