"""Synthetic hook deliveries, the same on every run: what Claude Code sends after a tool call.

10,000 events are 50 sessions of 200 calls, about 1.1 KB of JSON each: Bash, Read, Edit, Grep and Task with
input and output text; one in a hundred has a 20 KB result, three fail; twenty calls make a turn.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

_TEXT = (
    "refactor migration handler queue index session token parser timeline agent handoff plan decision "
    "lesson review sprint backlog webhook retry timeout cursor snapshot budget cache deploy branch commit "
    "merge lint pytest django sqlite postgres wal lock busy schema"
)
WORDS = _TEXT.split()
TOOLS = ("Bash", "Read", "Edit", "Grep", "Task")


def text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))


def deliveries(count: int, *, seed: int = 7, sessions: int = 50) -> Iterator[dict[str, Any]]:
    rng = random.Random(seed)  # noqa: S311 - sameness is the point
    for number in range(count):
        session, call = number % sessions, number // sessions
        failed = rng.random() < 0.03
        body = {
            "session_id": f"bench-{seed:03d}-{session:04d}",
            "transcript_path": f"/home/dana/.claude/projects/-repo/bench-{seed:03d}-{session:04d}.jsonl",
            "cwd": f"/repo/project-{session % 5}",
            "prompt_id": f"prompt-{seed:03d}-{session:04d}-{call // 20:04d}",
            "permission_mode": "acceptEdits",
            "hook_event_name": "PostToolUseFailure" if failed else "PostToolUse",
            "tool_name": rng.choice(TOOLS),
            "tool_use_id": f"toolu_{seed:03d}_{number:07d}",
            "duration_ms": rng.randint(5, 4000),
            "tool_input": {
                "command": text(rng, 20),
                "file_path": f"/repo/src/{rng.choice(WORDS)}/{rng.choice(WORDS)}.py",
            },
        }
        output = text(rng, 3000 if number % 100 == 0 else 60)
        if failed:
            body["error"] = f"Exit code 1\n{output}"
        else:
            body["tool_response"] = {"stdout": output, "stderr": "", "interrupted": False}
        yield body


def bodies(count: int, **options: Any) -> list[bytes]:
    return [json.dumps(body, separators=(",", ":")).encode() for body in deliveries(count, **options)]


def batches(count: int, size: int, **options: Any) -> list[bytes]:
    """NDJSON bodies of ``size`` hook lines each."""
    lines = [b'{"type":"hook","client":"claude-code","body":%s}' % body for body in bodies(count, **options)]
    return [b"\n".join(lines[start : start + size]) for start in range(0, count, size)]
