"""A typed Python client of the writers' API: standard library only, and quick to import.

    from contextdash.client import Client

    dash = Client()  # CONTEXTDASH_URL and CONTEXTDASH_TOKEN, else what ``contextdash connect`` wrote down
    dash.decision(topic="storage", choice="one SQLite file", rationale="nothing to install")

What is written belongs to a session: the one given, else the one that the agent's environment names, else
the only live session of this folder on this machine, else a new one.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urlencode, urlsplit

from contextdash.address import left_url
from contextdash.client_ledger import Ledger
from contextdash.client_memory import Memory
from contextdash.client_sessions import Projects, Sessions
from contextdash.client_stories import Sprints, Stories
from contextdash.hook_client import Config, repository

SESSION_VARIABLES = (
    "CONTEXTDASH_SESSION_ID",
    "MEDIATORLITE_SESSION_ID",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SESSION_ID",
    "GEMINI_SESSION_ID",
)
WAITS_SECONDS = (0.2, 0.6, 1.5)
"""Between the tries of a call that a busy or restarting server did not take."""
LONGEST_WAIT_SECONDS = 5.0
LIVE_SESSIONS = 100
_JSON = {"Content-Type": "application/json"}

type Row = dict[str, Any]
"""One row as the API answers it: column names of the table, times as ISO 8601."""


class ApiError(Exception):
    """The server refused, or ``status`` is 0: none answered, or no session is known to ask it about."""

    def __init__(self, status: int, code: str, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.field = field


class Client:
    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        session: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        """``timeout`` in seconds, for each try of a call."""
        known = Config(left_url())
        self.url = (url or known.url).rstrip("/")
        self._token = token or known.token
        self._session = session or _session_of_environment()
        self._timeout = timeout
        self.stories = Stories(self)
        self.sprints = Sprints(self)
        self.memory = Memory(self)
        self.ledger = Ledger(self)
        self.sessions = Sessions(self)
        self.projects = Projects(self)

    # Sessions

    def ensure(
        self,
        session_id: str | None = None,
        *,
        user_request: str | None = None,
        title: str | None = None,
        branch: str | None = None,
        agent_name: str | None = None,
        client: str | None = None,
        project: str | None = None,
    ) -> Row:
        """The session of that id, else of the environment, made when it is unknown; the client's from now."""
        place = _place()
        row = self._post(
            "sessions/ensure",
            session_id=session_id or self._session,
            user_request=user_request,
            title=title,
            branch=branch or place.branch,
            workspace=place.root,
            host=place.host,
            agent_name=agent_name,
            client=client,
            project=project,
        )
        self._session = str(row["id"])
        return row

    def close(self, session_id: str | None = None, *, status: str = "closed", reason: str = "") -> Row:
        session = quote(session_id or self.known_session_id(), safe="")
        return self._post(f"sessions/{session}/close", status=status, reason=reason)

    def session_id(self) -> str:
        """The session that writes go to, found or made when it is first needed."""
        if self._session is None:
            self._session = self._only_live_session() or self._new_session()
        return self._session

    def known_session_id(self) -> str:
        """The session that reading is about: found as ``session_id`` does, but never made.

        Raises:
            ApiError: none is known here (``status`` is 0, ``code`` is ``no_session``).
        """
        if self._session is None:
            self._session = self._only_live_session()
        if self._session is None:
            raise ApiError(0, "no_session", "No session is known here.")
        return self._session

    # What agents write down

    def message(self, *, agent: str, role: str, content: str, target: str | None = None) -> Row:
        return self._post(
            "messages",
            session_id=self.session_id(),
            agent_name=agent,
            role=role,
            content=content,
            target=target,
        )

    def recent(self, *, limit: int = 20, agent: str | None = None, session: str | None = None) -> list[Row]:
        """The newest ``limit`` messages, oldest first."""
        answer = self._get("messages", session=session or self.known_session_id(), agent=agent, limit=limit)
        return list(answer["items"])

    def plan(
        self,
        *,
        path: str,
        body: str,
        title: str | None = None,
        created_by: str | None = None,
        status: str | None = None,
    ) -> Row:
        return self._post(
            "plans",
            session_id=self.session_id(),
            path=path,
            body_md=body,
            title=title,
            created_by=created_by or "",
            status=status,
        )

    def decision(
        self,
        *,
        topic: str,
        choice: str,
        rationale: str = "",
        agent: str | None = None,
        supersedes: int | None = None,
    ) -> Row:
        return self._post(
            "decisions",
            session_id=self.session_id(),
            topic=topic,
            choice=choice,
            rationale=rationale,
            agent_name=agent or "",
            supersedes=supersedes,
        )

    def mistake(
        self,
        *,
        agent: str,
        summary: str,
        category: str = "other",
        root_cause: str | None = None,
        fix: str | None = None,
        lesson_file: str | None = None,
    ) -> Row:
        return self._post(
            "mistakes",
            session_id=self.session_id(),
            agent_name=agent,
            category=category,
            summary=summary,
            root_cause=root_cause,
            fix=fix,
            lesson_file=lesson_file,
        )

    def review(
        self,
        *,
        target: str,
        severity: str,
        finding: str,
        suggested_fix: str | None = None,
        reviewer: str | None = None,
        diff_hash: str | None = None,
    ) -> Row:
        return self._post(
            "reviews",
            session_id=self.session_id(),
            target=target,
            severity=severity,
            finding=finding,
            suggested_fix=suggested_fix,
            reviewer_agent=reviewer,
            diff_hash=diff_hash,
        )

    def fresh(self, diff_hash: str, *, window: str | None = None) -> Row | None:
        """The newest finding on that diff within the window (``90s``, ``30m``, ``7d``; else the server's)."""
        answer = self._get("reviews/fresh", diff_hash=diff_hash, window=window)
        return answer["review"] if answer["fresh"] else None

    def gate(self, diff_hash: str, *, files: Sequence[str] = (), window: str = "", skip: str = "") -> Row:
        """May this diff be committed? ``answer`` is fresh, stale, blocked, unknown or skipped; ``passes``.

        ``files`` are the diff's, so that documents alone pass; ``skip`` says why it is not to be judged.
        Asked once, without a second try: a commit does not wait for a server that is away.
        """
        asked = {"diff_hash": diff_hash, "files": list(files), "window": window, "skip": skip}
        body = json.dumps({**asked, "session_id": self._session}).encode()
        try:
            return _row(self._try("POST", "reviews/gate", body, _JSON))
        except _Again as again:
            raise again.error from again.__cause__

    def close_findings(self, ids: Sequence[int], *, resolution: str, reason: str) -> Row:
        """Findings become resolved, dismissed or reopened; ``items`` did, ``refused`` say why not."""
        return self._post("reviews/bulk", ids=list(ids), resolution=resolution, reason=reason)

    def import_sarif(self, log: bytes, *, diff_hash: str | None = None) -> Row:
        """The results of a SARIF 2.1.0 log as findings: ids ``added``, and how many were ``known``."""
        told = {"session_id": self.session_id(), "diff_hash": diff_hash}
        query = urlencode({name: value for name, value in told.items() if value is not None})
        headers = {"Content-Type": "application/sarif+json", "Idempotency-Key": os.urandom(16).hex()}
        return self._call("POST", f"reviews/sarif?{query}", log, headers)

    def export_sarif(self, **filters: str | None) -> Row:
        """Findings as a SARIF 2.1.0 log; filters are those of the list: state, severity, diff_hash…"""
        return self._get("reviews/sarif", **filters)

    def backlog(
        self,
        *,
        story: str,
        acceptance_criteria: str = "",
        agent: str | None = None,
        priority: int = 3,
        status: str | None = None,
    ) -> Row:
        return self._post(
            "backlog",
            session_id=self.session_id(),
            story=story,
            acceptance_criteria=acceptance_criteria,
            assigned_agent=agent,
            priority=priority,
            status=status,
        )

    def hook_event(
        self, *, hook: str, event: str, outcome: str, duration_ms: int = 0, payload: Any = None
    ) -> Row:
        return self._post(
            "hook-events",
            session_id=self.session_id(),
            hook_name=hook,
            event_type=event,
            outcome=outcome,
            duration_ms=duration_ms,
            payload_json=payload,
        )

    # How calls are made

    def _only_live_session(self) -> str | None:
        place = _place()
        rows = self._get(
            "sessions", status="active", host=place.host, workspace=place.root, limit=LIVE_SESSIONS
        )["items"]
        # A subagent works in the folder of its session, and what it writes is that session's.
        own = [row for row in rows if row["activity"] != "ended" and row["parent_id"] is None]
        return str(own[0]["id"]) if len(own) == 1 else None

    def _new_session(self) -> str:
        made = str(self.ensure()["id"])
        print(
            f"contextdash: no session is known here, so a new one was made: {made}\n"
            f"Name it for what follows: export CONTEXTDASH_SESSION_ID={made}",
            file=sys.stderr,
        )
        return made

    def _get(self, path: str, /, **query: Any) -> Row:
        told = {name: value for name, value in query.items() if value is not None}
        return self._call("GET", f"{path}?{urlencode(told)}", None, {})

    def _post(self, path: str, /, **fields: Any) -> Row:
        told = {name: value for name, value in fields.items() if value is not None}
        # The same key on every try: a call whose answer was lost is not carried out twice.
        headers = {**_JSON, "Idempotency-Key": os.urandom(16).hex()}
        return self._call("POST", path, json.dumps(told).encode(), headers)

    def _patch(self, path: str, /, *, seen: int | None = None, **fields: Any) -> Row:
        """``seen`` is the version that is to be changed, and no other."""
        headers = _JSON if seen is None else {**_JSON, "If-Match": str(seen)}
        return self._call("PATCH", path, json.dumps(fields).encode(), headers)

    def _put(self, path: str, /, **fields: Any) -> Row:
        return self._call("PUT", path, json.dumps(fields).encode(), _JSON)

    def _delete(self, path: str, /, *, seen: int | None = None, reason: str = "") -> Row:
        headers = _JSON if seen is None else {**_JSON, "If-Match": str(seen)}
        return self._call("DELETE", f"{path}?{urlencode({'reason': reason})}", None, headers)

    def _text(self, path: str, /, **query: Any) -> str:
        """An answer that is a text."""
        told = {name: value for name, value in query.items() if value is not None}
        return self._raw("GET", f"{path}?{urlencode(told)}", None, {}).decode()

    def _call(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Row:
        return _row(self._raw(method, path, body, headers))

    def _raw(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        for wait in (*WAITS_SECONDS, None):
            try:
                return self._try(method, path, body, headers)
            except _Again as again:
                if wait is None:
                    raise again.error from again.__cause__
                time.sleep(max(wait, min(again.after, LONGEST_WAIT_SECONDS)))
        raise AssertionError("the last try returns or raises")

    def _try(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.netloc, timeout=self._timeout)
        bearer = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            connection.request(method, f"{parts.path}/api/v1/{path}", body, {**headers, **bearer})
            response = connection.getresponse()
            text = response.read()
        except (OSError, HTTPException) as error:
            raise _Again(self._nobody(error)) from error
        finally:
            connection.close()
        if response.status in (429, 503):
            raise _Again(self._refused(response, text), _retry_after(response))
        if response.status >= 300:
            raise self._refused(response, text)
        return text

    def _nobody(self, error: Exception) -> ApiError:
        return ApiError(
            0,
            "no_answer",
            f"No answer from {self.url} ({error}). "
            "Start the server (contextdash serve) or set CONTEXTDASH_URL.",
        )

    def _refused(self, response: HTTPResponse, text: bytes) -> ApiError:
        try:
            told = json.loads(text)
            code, detail, field = str(told["error"]), str(told["detail"]), told.get("field")
        except (ValueError, TypeError, KeyError):
            code, field = "unexpected", None
            detail = (
                f"{self.url} answered {response.status}, and not as contextdash does. Is the address right?"
            )
        if response.status == 401 and not self._token:
            detail = (
                "No token is set. Make one where the server runs (contextdash token create --name agent "
                "--scope write) and set CONTEXTDASH_TOKEN."
            )
        return ApiError(response.status, code, detail, field)


class _Again(Exception):  # noqa: N818 - a signal to try again, which carries what it will be in the end
    def __init__(self, error: ApiError, after: float = 0.0) -> None:
        super().__init__(str(error))
        self.error = error
        self.after = after


class _Place(NamedTuple):
    host: str
    root: str
    branch: str | None


def _place() -> _Place:
    """This machine and the repository (else folder) that the caller works in."""
    found = repository(os.getcwd())
    return _Place(socket.gethostname(), str(found.get("root") or os.getcwd()), found.get("branch"))


def _session_of_environment() -> str | None:
    for name in SESSION_VARIABLES:
        if value := os.environ.get(name, "").strip():
            return value
    return None


def _row(text: bytes) -> Row:
    return cast("Row", json.loads(text or b"{}"))


def _retry_after(response: HTTPResponse) -> float:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else 0.0
