"""What is told of sessions themselves, in the Python client: ``Client().sessions``."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from contextdash.client import Client, Row


class Sessions:
    def __init__(self, client: "Client") -> None:
        self._client = client

    def one(self, session_id: str | None = None) -> "Row":
        """The session of an id, a beginning or ``latest``; without one, that of the environment."""
        wanted = quote(session_id or self._client.known_session_id(), safe="")
        return self._client._get(f"sessions/{wanted}")

    def label(self, labels: Sequence[str], *, session_id: str | None = None, reason: str = "") -> "Row":
        """These are the session's labels from now on, instead of those before.

        Raises:
            ApiError: somebody changed the session in this moment (code ``stale``).
        """
        seen = self.one(session_id)
        headers = {"Content-Type": "application/json", "If-Match": str(seen["metadata_version"])}
        body = json.dumps({"labels": list(labels), "reason": reason}).encode()
        return self._client._call("PATCH", f"sessions/{quote(seen['id'], safe='')}", body, headers)
