"""Whose session a verb writes to, with processes of their own: an agent's hooks, and what its shell runs.

The environments are those that the real programs give to the commands that they run: Claude Code and Codex
name their session, the id that their hooks tell; Gemini names it for hooks only, and OpenCode never does.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextdash import hook_client
from contextdash.client import SESSION_VARIABLES
from sessions_app.models import Decision, Session
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)

ID = "0b7e1f52-7d0c-4f6e-9a55-6f1f7f0f2b11"
COMMAND = "import sys; from contextdash.cli import main; sys.exit(main())"


class Agent:
    """A real hook client and a real shell command in one project folder."""

    def __init__(self, folder: Path, url: str, secret: str) -> None:
        self.folder = folder
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder.parent),
            "USER": "dana",
            "PYTHONPATH": str(Path(hook_client.__file__).parent.parent),
            "CONTEXTDASH_URL": url,
            "CONTEXTDASH_TOKEN": secret,
        }

    def hook(self, client: str, name: str, session: str, **told: Any) -> None:
        body = {"session_id": session, "hook_event_name": name, "cwd": str(self.folder), **told}
        subprocess.run(
            [sys.executable, hook_client.__file__, client],
            input=json.dumps(body).encode(),
            env=self.env,
            cwd=self.folder,
            check=True,
            timeout=30,
        )

    def decides(self, topic: str, *, below: str = ".", **environment: str) -> str:
        """Run the verb where the agent's shell is; what it says on stderr."""
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, "decision", topic, "one SQLite file"],
            env={**self.env, **environment},
            cwd=self.folder / below,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == str(Decision.objects.get(topic=topic).pk)
        return done.stderr


@pytest.fixture
def agent_in(live_server: Any, tmp_path: Path) -> Callable[[str], Agent]:
    secret = factories.token("write")[1]

    def agent_in(name: str) -> Agent:
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (folder / "src").mkdir()
        return Agent(folder, live_server.url, secret)

    return agent_in


def session_of(topic: str) -> str | None:
    return Decision.objects.get(topic=topic).session_id


@pytest.mark.parametrize(
    ("client", "environment"),
    [
        ("claude-code", {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": ID}),
        ("codex", {"CODEX_SESSION_ID": ID, "CODEX_TOOL_CALL_ID": "call_1"}),
        ("gemini", {"GEMINI_SESSION_ID": ID}),
    ],
)
def test_what_the_agents_shell_decides_is_on_the_session_that_its_hooks_tell_of(
    client: str, environment: dict[str, str], agent_in: Callable[[str], Agent]
) -> None:
    agent = agent_in("ledgerline")
    agent.hook(client, "SessionStart", ID, source="startup")
    agent.hook(client, "SessionStart", "another-of-this-folder", source="startup")
    assert agent.decides("storage", **environment) == ""
    assert session_of("storage") == ID
    assert Session.objects.get(id=ID).decision_count == 1


def test_a_decision_may_come_before_the_first_hook(agent_in: Callable[[str], Agent]) -> None:
    agent = agent_in("ledgerline")
    agent.decides("storage", CLAUDE_CODE_SESSION_ID=ID)
    agent.hook("claude-code", "SessionStart", ID, source="startup")
    session = Session.objects.get()
    assert (session.id, session.client, session.workspace) == (ID, "claude-code", str(agent.folder))


def test_the_variables_go_in_their_order(agent_in: Callable[[str], Agent]) -> None:
    agent = agent_in("ledgerline")
    for place, name in enumerate(SESSION_VARIABLES):
        agent.decides(name, **{other: other.lower() for other in SESSION_VARIABLES[place:]})
        assert session_of(name) == name.lower()


def test_without_a_variable_it_is_the_only_live_session_of_this_folder(
    agent_in: Callable[[str], Agent],
) -> None:
    agent, elsewhere = agent_in("ledgerline"), agent_in("parcel-router")
    created = {"type": "session.created", "properties": {"info": {"id": "ses_here"}}}
    agent.hook("opencode", "session.created", "ses_here", event=created)
    agent.hook("claude-code", "SessionStart", "over", source="startup")
    agent.hook("claude-code", "SessionEnd", "over", reason="other")
    elsewhere.hook("claude-code", "SessionStart", "elsewhere", source="startup")
    assert agent.decides("storage", below="src") == ""
    assert session_of("storage") == "ses_here"


def test_a_subagent_at_work_is_not_a_second_session(agent_in: Callable[[str], Agent]) -> None:
    agent = agent_in("ledgerline")
    agent.hook("claude-code", "SessionStart", "here", source="startup")
    agent.hook("claude-code", "SubagentStart", "here", agent_id="a1", agent_type="code-reviewer")
    assert Session.objects.exclude(activity="ended").count() == 2
    agent.decides("storage")
    assert session_of("storage") == "here"


def test_of_two_live_ones_neither_is_guessed_and_the_new_one_is_told(
    agent_in: Callable[[str], Agent],
) -> None:
    agent = agent_in("ledgerline")
    for session in ("one", "two"):
        agent.hook("claude-code", "SessionStart", session, source="startup")
    told = agent.decides("storage")
    made = session_of("storage")
    assert made not in ("one", "two")
    assert f"export CONTEXTDASH_SESSION_ID={made}" in told
    # The next one does as it was told.
    assert agent.decides("queue", CONTEXTDASH_SESSION_ID=str(made)) == ""
    assert session_of("queue") == made


def test_with_none_alive_a_new_one_is_made_that_knows_its_place(agent_in: Callable[[str], Agent]) -> None:
    agent = agent_in("ledgerline")
    assert "a new one was made" in agent.decides("storage")
    session = Session.objects.get()
    assert (session.workspace, session.branch) == (str(agent.folder), "main")
    # And is the only live one from then on.
    assert agent.decides("queue") == ""
    assert session_of("queue") == session.id
