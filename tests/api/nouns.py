"""Every noun that a writer posts: its address, a good body, its table, and what its fields are."""

from dataclasses import dataclass, field
from typing import Any

from django.db import models

from backlog_app.models import BacklogItem
from reviews_app.models import Review
from sessions_app.models import AgentMessage, Decision, HookEvent, Mistake, Plan


@dataclass(frozen=True)
class Noun:
    name: str
    path: str
    model: type[models.Model]
    body: dict[str, Any]
    text: str
    """The field that holds a long text."""
    word: str
    """A field that holds a short one."""
    open_word: str | None = None
    """A field with a vocabulary, where a word that is none of it is kept."""
    needs_session: bool = False
    changed: dict[str, Any] = field(default_factory=dict)
    """Two fields that a PATCH may set, with new values."""


NOUNS = [
    Noun(
        "message",
        "messages",
        AgentMessage,
        {"session_id": "S1", "agent_name": "tester", "role": "response", "content": "All green."},
        text="content",
        word="agent_name",
        open_word="role",
        needs_session=True,
        changed={"target": "devops", "role": "handoff"},
    ),
    Noun(
        "plan",
        "plans",
        Plan,
        {"session_id": "S1", "path": "plans/a.plan.md", "body_md": "# A plan\n"},
        text="body_md",
        word="created_by",
        open_word="status",
        needs_session=True,
        changed={"title": "Another", "status": "approved"},
    ),
    Noun(
        "decision",
        "decisions",
        Decision,
        {"session_id": "S1", "topic": "storage", "choice": "one file", "rationale": "nothing to install"},
        text="rationale",
        word="topic",
        changed={"choice": "two files", "rationale": "because"},
    ),
    Noun(
        "mistake",
        "mistakes",
        Mistake,
        {"session_id": "S1", "agent_name": "tester", "category": "build", "summary": "It did not build."},
        text="summary",
        word="agent_name",
        open_word="category",
        changed={"fix": "Built it.", "root_cause": "A missing file."},
    ),
    Noun(
        "review",
        "reviews",
        Review,
        {"session_id": "S1", "target": "a.py:3", "severity": "High", "finding": "No lock."},
        text="finding",
        word="reviewer_agent",
        open_word="severity",
        changed={"suggested_fix": "Use one.", "target": "a.py:4"},
    ),
    Noun(
        "backlog",
        "backlog",
        BacklogItem,
        {"session_id": "S1", "story": "As a reader I want paging.", "acceptance_criteria": "- [ ] next"},
        text="acceptance_criteria",
        word="assigned_agent",
        open_word="status",
        changed={"story": "As a reader I want keys.", "acceptance_criteria": "- [ ] keys"},
    ),
    Noun(
        "hook-event",
        "hook-events",
        HookEvent,
        {"session_id": "S1", "hook_name": "21-build-gate", "event_type": "beforeCommit", "outcome": "ok"},
        text="payload_json",
        word="hook_name",
        open_word="outcome",
    ),
]

BY_NAME = {noun.name: noun for noun in NOUNS}
