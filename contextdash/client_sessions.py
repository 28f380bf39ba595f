"""Sessions and projects as rows, for the Python client: ``Client().sessions``, ``Client().projects``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from contextdash.client import Client, Row


class Sessions:
    """``session`` is an id, a beginning that only one id has, or ``latest``."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def find(self, **filters: Any) -> "list[Row]":
        """Newest activity first; filters are those of the API: status, agent, project, label, q…"""
        rows: list[Row] = self._client._get("sessions", **filters)["items"]
        return rows

    def one(self, session_id: str | None = None) -> "Row":
        """The session of an id, a beginning or ``latest``; without one, that of the environment."""
        return self._client._get(_path(session_id or self._client.known_session_id()))

    def change(self, session: str, *, seen: int | None = None, reason: str = "", **values: Any) -> "Row":
        """Set title, branch, project, labels… of the session as it is now, or only at version ``seen``.

        Raises:
            ApiError: it is at another version by now (``status`` is 412).
        """
        row = self.one(session)
        version = row["metadata_version"] if seen is None else seen
        return self._client._patch(_path(row["id"]), seen=version, reason=reason, **values)

    def pin(self, session: str, *, pinned: bool = True, reason: str = "") -> "Row":
        return self.change(session, pinned=pinned, reason=reason)

    def archive(self, session: str, *, archived: bool = True, reason: str = "") -> "Row":
        return self.change(session, archived=archived, reason=reason)

    def rename(self, session: str, title: str, *, reason: str = "") -> "Row":
        return self.change(session, title=title, reason=reason)

    def label(self, labels: Sequence[str], *, session_id: str | None = None, reason: str = "") -> "Row":
        """These are the session's labels from now on, instead of those before."""
        session = session_id or self._client.known_session_id()
        return self.change(session, labels=list(labels), reason=reason)

    def delete(self, session: str, *, reason: str, seen: int | None = None) -> None:
        """Hide a session and its subagents; ``undelete`` brings them back for a day."""
        self._client._delete(_path(session), seen=seen, reason=reason)

    def undelete(self, session: str, *, reason: str = "") -> "Row":
        """``session`` is its whole id."""
        return self._client._post(f"{_path(session)}/undelete", reason=reason)

    def purge(self, session: str, *, reason: str) -> "Row":
        """Erase for good what the events of a session and its subagents hold; for owners, scope admin.

        ``session`` is its whole id. ``finished_at`` is None while it goes on.
        """
        return self._client._post(f"{_path(session)}/purge", reason=reason)


class Projects:
    """``project`` is a slug or a number."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def find(self) -> "list[Row]":
        rows: list[Row] = self._client._get("projects")["items"]
        return rows

    def add(self, name: str, **values: Any) -> "Row":
        """``values``: slug, color, root, remote."""
        return self._client._post("projects", name=name, **values)

    def change(self, project: str, *, seen: int | None = None, reason: str = "", **values: Any) -> "Row":
        """Set name, color, root, remote, archived or position."""
        path = f"projects/{quote(project, safe='')}"
        return self._client._patch(path, seen=seen, reason=reason, **values)

    def delete(self, project: str, *, reason: str = "", seen: int | None = None) -> None:
        """What is in it stays, in no project."""
        self._client._delete(f"projects/{quote(project, safe='')}", seen=seen, reason=reason)

    def order(self, project: str, sessions: Sequence[str], *, reason: str = "") -> "list[str]":
        """These sessions first; ids of all in their order are answered."""
        path = f"projects/{quote(project, safe='')}/order"
        return list(self._client._put(path, sessions=list(sessions), reason=reason)["sessions"])


def _path(session: str) -> str:
    return f"sessions/{quote(session, safe='')}"
