"""What the team remembers, for the Python client: ``Client().memory``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextdash.client import Client, Row

_COLLECTIONS = {
    "message": "messages",
    "plan": "plans",
    "decision": "decisions",
    "mistake": "mistakes",
    "finding": "reviews",
}


class Memory:
    """Hand-offs, plans, decisions, mistakes, the stand-up: reading them, and saying what became of them."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    # Hand-offs

    def inbox(self, *, target: str | None = None, project: str | None = None, stream: bool = False) -> "Row":
        """Hand-offs that wait, newest first; with ``stream`` an answer in the next session counts too."""
        asked = {"target": target, "project": project, "stream": str(stream).lower()}
        return self._client._get("messages/inbox", **asked)

    def acknowledge(self, message: int, *, undo: bool = False, reason: str = "") -> "Row":
        """With ``undo`` it waits again."""
        return self._client._patch(f"messages/{message}", acknowledged=not undo, reason=reason)

    def inject(self, *, agent: str | None = None, limit: int = 20) -> str:
        """The newest messages of the session as Markdown for an agent's context; empty when there is none."""
        session = self._client.known_session_id()
        return self._client._text("messages/inject", session=session, agent=agent, limit=limit)

    # Plans

    def plans(self, **filters: Any) -> "list[Row]":
        """Every version, newest first; filters are those of the API: path, status, project, session…"""
        rows: list[Row] = self._client._get("plans", **filters)["items"]
        return rows

    def plan_status(self, plan: int, status: str, *, reason: str = "") -> "Row":
        return self._client._patch(f"plans/{plan}", status=status, reason=reason)

    def plan_diff(self, plan: int, against: int | None = None) -> str:
        """A unified diff from another version of the plan, else from the one before it."""
        return self._client._text(f"plans/{plan}/diff", against=against)

    # Decisions

    def decisions(self, **filters: Any) -> "list[Row]":
        """Newest first; filters are those of the API: topic, status, agent, project, session…"""
        rows: list[Row] = self._client._get("decisions", **filters)["items"]
        return rows

    def supersede(self, earlier: int, later: int, *, reason: str = "") -> "Row":
        """The later decision takes the place of the earlier."""
        return self._client._patch(f"decisions/{earlier}", superseded_by=later, reason=reason)

    def decision_status(self, decision: int, status: str, *, reason: str = "") -> "Row":
        """``stands``, ``conflict`` or ``superseded``."""
        return self._client._patch(f"decisions/{decision}", status=status, reason=reason)

    def settle(self, keep: int, others: Sequence[int], *, reason: str) -> "list[Row]":
        """Of decisions that contradict each other, keep one; the others are superseded by it."""
        rows: list[Row] = self._client._post(f"decisions/{keep}/settle", others=list(others), reason=reason)[
            "items"
        ]
        return rows

    def export_decisions(self, **filters: Any) -> str:
        """As architecture decision records, one Markdown text."""
        return self._client._text("decisions/export", format="md", **filters)

    def decision_record(self, decision: int) -> str:
        return self._client._text(f"decisions/{decision}/record")

    # Mistakes

    def mistakes(self, **filters: Any) -> "list[Row]":
        """Newest first; filters are those of the API: category, cause, without_lesson, agent…"""
        rows: list[Row] = self._client._get("mistakes", **filters)["items"]
        return rows

    def lesson(self, mistake: int) -> str:
        """The mistake and its lesson as a Markdown file."""
        return self._client._text(f"mistakes/{mistake}/lesson")

    def write_lesson(self, mistake: int, text: str, *, file: str | None = None, reason: str = "") -> "Row":
        told: dict[str, Any] = {"lesson_md": text, "reason": reason}
        if file is not None:
            told["lesson_file"] = file
        return self._client._patch(f"mistakes/{mistake}", **told)

    # Findings

    def findings(self, **filters: Any) -> "list[Row]":
        """Newest first; filters are those of the API: state, severity, target, diff_hash, agent…"""
        rows: list[Row] = self._client._get("reviews", **filters)["items"]
        return rows

    def link_finding(self, finding: int, decision: int, *, reason: str = "") -> "Row":
        return self._client._post(f"reviews/{finding}/decisions", decision_id=decision, reason=reason)

    def unlink_finding(self, finding: int, decision: int, *, reason: str = "") -> None:
        self._client._delete(f"reviews/{finding}/decisions/{decision}", reason=reason)

    # Corrections

    def correct(
        self, noun: str, number: int, *, seen: int | None = None, reason: str = "", **values: Any
    ) -> "Row":
        """Set fields of a message, plan, decision, mistake or finding; ``seen`` is the version to change."""
        return self._client._patch(f"{_COLLECTIONS[noun]}/{number}", seen=seen, reason=reason, **values)

    # The stand-up

    def standup(self, **asked: Any) -> "Row":
        """``markdown`` is the whole; asked for by shape, window, from, to, project, session."""
        return self._client._get("standup", **asked)
