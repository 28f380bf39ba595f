"""The board's part of the Python client: ``Client().stories``, ``Client().sprints``."""

from collections.abc import Mapping
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

    def unlink(self, number: int, link: int, *, reason: str = "") -> None:
        """``link`` is its id, as ``one`` tells."""
        self._client._delete(f"backlog/{number}/links/{link}", reason=reason)

    def change(self, number: int, *, seen: int | None = None, reason: str = "", **values: Any) -> "Row":
        """Set story, acceptance_criteria, assigned_agent, priority, estimate, labels, sprint_id…"""
        return self._client._patch(f"backlog/{number}", seen=seen, reason=reason, **values)

    def delete(self, number: int, *, seen: int | None = None, reason: str = "") -> "Row":
        return self._client._delete(f"backlog/{number}", seen=seen, reason=reason)

    def restore(self, number: int) -> "Row":
        return self._client._post(f"backlog/{number}/restore")

    def wait_for(self, number: int, other: int, *, reason: str = "") -> "Row":
        """It cannot begin before the other is done."""
        return self._client._post(f"backlog/{number}/dependencies", blocked_by=other, reason=reason)

    def wait_no_longer(self, number: int, other: int, *, reason: str = "") -> None:
        self._client._delete(f"backlog/{number}/dependencies/{other}", reason=reason)

    def limits(self, project: str | None = None) -> "Mapping[str, int | None]":
        """How many stories each column should hold at most."""
        rows = self._client._get("backlog/limits", project=project)["items"]
        return {row["column"]: row["stories"] for row in rows}

    def limit(
        self, column: str, stories: int | None, *, project: str | None = None, reason: str = ""
    ) -> "Row":
        """None takes the limit away."""
        return self._client._put(f"backlog/limits/{column}", stories=stories, project=project, reason=reason)


class Sprints:
    def __init__(self, client: "Client") -> None:
        self._client = client

    def find(self, **filters: Any) -> "list[Row]":
        """Newest first; filters are those of the API: project, state, limit."""
        rows: list[Row] = self._client._get("sprints", **filters)["items"]
        return rows

    def one(self, sprint: int) -> "Row":
        """With its burn-down."""
        return self._client._get(f"sprints/{sprint}")

    def add(self, name: str, **values: Any) -> "Row":
        """``values``: goal, project, starts_on, ends_on (dates as 2026-12-01)."""
        return self._client._post("sprints", name=name, **values)

    def change(self, sprint: int, *, seen: int | None = None, reason: str = "", **values: Any) -> "Row":
        return self._client._patch(f"sprints/{sprint}", seen=seen, reason=reason, **values)

    def start(self, sprint: int, *, reason: str = "") -> "Row":
        return self._client._post(f"sprints/{sprint}/start", reason=reason)

    def close(self, sprint: int, *, move_to: int | None = None, reason: str = "") -> "Row":
        """Unfinished stories go to ``move_to``, or to no sprint; ``carried`` counts them."""
        return self._client._post(f"sprints/{sprint}/close", move_to=move_to, reason=reason)
