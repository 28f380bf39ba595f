"""A run of one's own in the ledger, for the Python client: ``Client().ledger``."""

import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from contextdash.client import Client, Row


class Ledger:
    """Opens runs whose events the caller numbers by their order and ends itself."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def open(
        self,
        *,
        prompt: str | None = None,
        turn_id: str | None = None,
        run_id: str | None = None,
        invocation_id: str | None = None,
        session_id: str | None = None,
    ) -> "OpenRun":
        """A run of a turn of the session; ids that are left out are minted, known ones are found again."""
        session = session_id or self._client.session_id()
        path = f"sessions/{quote(session, safe='')}/turns"
        turn = self._client._post(path, turn_id=turn_id, prompt=prompt)
        run = self._client._post(f"turns/{turn['id']}/runs", run_id=run_id, invocation_id=invocation_id)
        return OpenRun(self._client, turn, run)


class OpenRun:
    def __init__(self, client: "Client", turn: "Row", run: "Row") -> None:
        self._client = client
        self.id: int = run["id"]
        self.names = {
            "invocationId": run["invocation_id"],
            "runId": run["run_id"],
            "sessionId": turn["session_id"],
            "turnId": turn["turn_id"],
        }
        """What every event of the run carries."""

    def append(self, *events: "Row", expected_seq: int | None = None) -> "Row":
        """All of these events or none.

        What an event leaves out is filled in: the run's names, ``id``, ``ts``, ``partial``.

        Raises:
            ApiError: the ledger refuses one (``code`` says why, ``detail`` where).
        """
        sent = [self._whole(event) for event in events]
        return self._client._post(f"runs/{self.id}/events", events=sent, expected_seq=expected_seq)

    def step(self, *events: "Row", expected_version: int | None = None) -> "Row":
        """Move one tool operation: call and dispatch, or response, or a recovery."""
        sent = [self._whole(event) for event in events]
        path = f"runs/{self.id}/operations"
        return self._client._post(path, events=sent, expected_version=expected_version)

    def say(self, text: str, *, role: str = "model", author: str = "agent", **more: Any) -> "Row":
        """One text, of the model unless told."""
        return self.append(
            {"role": role, "author": author, "content": {"kind": "text", "text": text}, **more}
        )

    def iteration(self, **values: Any) -> "Row":
        """A model call: response_id, model, input_tokens, output_tokens, cost_micro…"""
        return self._client._post(f"runs/{self.id}/iterations", **values)

    def end(self, status: str = "completed", **state: str) -> "Row":
        """``completed``, ``failed`` (failureClass=…) or ``aborted`` (abortSource=…); nothing may follow."""
        actions = {"endInvocation": True, "stateDelta": state}
        return self.append({"role": "system", "author": "system", "status": status, "actions": actions})

    def events(self, *, after: int = 0) -> "list[Row]":
        """What is stored of the run beyond a seq, all of it."""
        asked = {"after": after, "whole": "true"}
        rows: list[Row] = self._client._get(f"runs/{self.id}/events", **asked)["items"]
        return rows

    def _whole(self, event: "Row") -> "Row":
        made = {"id": os.urandom(16).hex(), "ts": time.time_ns() // 1_000_000, "partial": False}
        return {**made, **self.names, **event}
