"""What is noted of a transcript of Claude Code besides its conversation: plain JSON, kept with its file."""

from collections import deque
from typing import Any

from contextdash.cleaning import one_line
from sessions_app.importers.counting import LISTED, listed, remember
from sessions_app.importers.gathering import shown
from sessions_app.ingest.reading import Body, mapping, text

NOTED = {"cwd": "cwd", "git_branches": "gitBranch", "versions": "version", "entrypoints": "entrypoint"}

LEAVES = 20


class Notes:
    """The facts of one file."""

    def __init__(self, facts: dict[str, Any], state: dict[str, Any]) -> None:
        self._facts = facts
        self._state = state
        self._leaves: deque[str] = deque(state.get("leaves", ()), maxlen=LISTED)
        self._noted: tuple[object, ...] = ()

    @property
    def title(self) -> tuple[str, str]:
        """The title that the file gives its session, and where from; empty where the prompt gives it."""
        facts = self._facts
        custom = facts.get("custom_title", "")
        if custom and custom != facts.get("worktree_name"):
            return custom, "custom-title"
        if facts.get("ai_title"):
            return facts["ai_title"], "ai-title"
        return (facts["summary"], "summary") if facts.get("summary") else ("", "")

    def note(self, record: Body, at_us: int) -> None:
        """When and where a record of the conversation was written."""
        facts = self._facts
        facts["first_us"] = min(facts.get("first_us", at_us), at_us)
        facts["last_us"] = max(facts.get("last_us", at_us), at_us)
        if isinstance(uuid := record.get("uuid"), str):
            self._leaves.append(uuid)
            if "summaries" in self._state and uuid in self._state["summaries"]:
                facts["summary"] = self._state["summaries"][uuid]
        noted = tuple(record.get(key) for key in NOTED.values())
        if noted == self._noted:
            return  # as on nearly every line
        self._noted = noted
        for name, key in NOTED.items():
            listed(facts, name, text(record, key, 500))

    def metadata(self, record: Body, sort: str) -> None:
        """A record that is none of the conversation."""
        facts = self._facts
        if sort == "custom-title":
            facts["custom_title"] = one_line(shown(text(record, "customTitle")), 200)
        elif sort == "ai-title":
            facts["ai_title"] = one_line(shown(text(record, "aiTitle")), 200)
        elif sort == "summary":
            self._summary(record)
        elif sort == "worktree-state":
            facts["worktree_name"] = text(mapping(record, "worktreeSession"), "worktreeName", 200)
        elif sort == "pr-link":
            listed(facts, "pr_urls", shown(text(record, "prUrl", 2000)))
        elif sort == "cost-state":
            facts["cost_state_total_usd"] = record.get("totalCostUSD")

    def _summary(self, record: Body) -> None:
        """A title of old releases, of the conversation that its leaf is in: others' stand in a file, too."""
        leaf, summary = text(record, "leafUuid", 200), one_line(shown(text(record, "summary")), 200)
        if leaf in self._leaves:
            self._facts["summary"] = summary
        elif leaf:
            remember(self._state, "summaries", leaf, summary)

    def finish(self) -> None:
        """A summary of the last records may follow them in a later run."""
        self._state["leaves"] = list(self._leaves)[-LEAVES:]

    def command(self, name: str) -> None:
        """A slash command that was typed."""
        commands = self._facts.setdefault("slash_commands", [])
        if len(commands) < LISTED:
            commands.append(name)

    def compaction(self, trigger: str, told: Body) -> None:
        compactions = self._facts.setdefault("compactions", [])
        if len(compactions) < LISTED:
            before, after = told.get("preTokens"), told.get("postTokens")
            compactions.append({"trigger": trigger[:40], "pre_tokens": before, "post_tokens": after})
