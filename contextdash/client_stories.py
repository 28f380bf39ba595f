"""The board's part of the Python client: ``Client().stories``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextdash.client import Client, Row


class Stories:
    def __init__(self, client: "Client") -> None:
        self._client = client

    def find(self, **filters: Any) -> "list[Row]":
        """Stories as on the board; filters are those of the API: status, agent, project, sprint, limit…"""
        rows: list[Row] = self._client._get("backlog", **{"sort": "board", **filters})["items"]
        return rows

    def one(self, number: int) -> "Row":
        """With criteria, links, comments, the rules of ready and done, and the history."""
        return self._client._get(f"backlog/{number}")

    def claim(
        self, *, agent: str, project: str | None = None, label: str | None = None, link: bool = True
    ) -> "Row":
        """The next ready story, put in progress for the agent and linked to the session.

        Raises:
            ApiError: nothing is ready (code ``nothing_ready``).
        """
        session = self._client.session_id() if link else None
        return self._client._post(
            "backlog/claim", agent=agent, session_id=session, project=project, label=label
        )

    def move(
        self,
        number: int,
        status: str | None = None,
        *,
        after: int | None = None,
        before: int | None = None,
        version: int | None = None,
        reason: str = "",
    ) -> "Row":
        """``version`` is the one that was seen; when the story has changed since, it is refused."""
        return self._client._post(
            f"backlog/{number}/move",
            status=status,
            after=after,
            before=before,
            version=version,
            reason=reason,
        )

    def tick(self, number: int, criterion: int, *, met: bool = True, agent: str | None = None) -> "Row":
        """``criterion`` is its id, as ``one`` tells."""
        return self._client._post(f"backlog/{number}/criteria/{criterion}", met=met, agent=agent)

    def comment(self, number: int, body: str, *, agent: str | None = None) -> "Row":
        return self._client._post(f"backlog/{number}/comments", body=body, agent=agent)

    def link(self, number: int, kind: str = "session", ref: str | None = None) -> "Row":
        """To a session (the client's own unless told), decision, finding, plan or diff."""
        told = self._client.session_id() if ref is None else ref
        return self._client._post(f"backlog/{number}/links", kind=kind, ref=told)
