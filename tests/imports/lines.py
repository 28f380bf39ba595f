"""Small transcripts made in a test."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

SESSION = "11111111-2222-4333-8444-555555555555"


def record(sort: str, at: str, **more: Any) -> dict[str, Any]:
    return {
        "type": sort,
        "uuid": str(uuid4()),
        "parentUuid": None,
        "sessionId": SESSION,
        "timestamp": at,
        "cwd": "/home/dev/kettle",
        "version": "2.1.270",
        "gitBranch": "main",
        **more,
    }


def prompt(said: str, at: str, turn: str = "prompt-1") -> dict[str, Any]:
    return record("user", at, promptId=turn, message={"role": "user", "content": said})


def response(
    message_id: str, at: str, *blocks: dict[str, Any], model: str = "claude-opus-5", **usage: Any
) -> dict[str, Any]:
    message = {"id": message_id, "role": "assistant", "model": model, "content": list(blocks), "usage": usage}
    return record("assistant", at, requestId=f"req_{message_id}", message=message)


def says(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def calls(call_id: str, name: str = "Bash", **asked: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": asked}


def result(call_id: str, said: str, at: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": said}
    return record("user", at, promptId="prompt-1", message={"role": "user", "content": [block]})


def write(folder: Path, *records: Any, session: str = SESSION) -> Path:
    """A transcript file; text records are written as they are."""
    path = folder / f"{session}.jsonl"
    with path.open("ab") as file:
        for one in records:
            file.write((one if isinstance(one, str) else json.dumps(one)).encode() + b"\n")
    return path
