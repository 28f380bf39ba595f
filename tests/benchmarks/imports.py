"""Reading transcripts: 10,000 tool calls in one file, and the same file again."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.writes import Row

CALLS = 10_000
SESSION = "aaaaaaaa-0000-4000-8000-000000000001"
RUN = """
import gc, resource, sys, time
from pathlib import Path
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from sessions_app.importers.files import Place, import_file
gc.collect()
gc.freeze()  # as the command does
for _ in range(2):
    began = time.perf_counter()
    import_file(Path(sys.argv[1]), place=Place("bench"))
    print(time.perf_counter() - began)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def imports() -> list[Row]:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{SESSION}.jsonl")
        with path.open("w") as file:
            file.writelines(json.dumps(record) + "\n" for record in transcript(CALLS))
        size = path.stat().st_size / 1e6
        environ = {**os.environ, "CONTEXTDASH_DATA": folder, "DJANGO_SETTINGS_MODULE": "contextdash.settings"}
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(path)], env=environ, check=True, capture_output=True, text=True
        )
    first, again, memory = done.stdout.split()[-3:]
    return [
        (
            f"import of {CALLS:,} calls ({size:.0f} MB)",
            f"{CALLS / float(first):,.0f} calls/s",
            "≥ 4,000 calls/s",
        ),
        ("the same file again", f"{float(again):.3f} s", "≤ 0.3 s"),
        ("memory at most", f"{memory} MB", "flat"),
    ]


def transcript(count: int) -> Iterator[dict[str, Any]]:
    """Answers with one call each, a prompt for every twenty."""
    at = datetime(2026, 11, 20, 8, tzinfo=UTC)
    for n in range(count):
        if n % 20 == 0:
            yield _record(
                at, f"p{n}", "user", {"role": "user", "content": f"Do step {n}."}, promptId=f"p-{n}"
            )
        at += timedelta(milliseconds=700)
        usage = {"input_tokens": 3, "output_tokens": 120, "cache_read_input_tokens": 40_000}
        message = {"id": f"msg_{n}", "model": "claude-opus-5", "stop_reason": "tool_use", "usage": usage}
        said = [{"type": "text", "text": f"I look at file {n}."}]
        asked = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": f"cat {n}.py"}}
        yield _record(at, f"a{n}", "assistant", {**message, "content": said})
        yield _record(at, f"b{n}", "assistant", {**message, "content": [asked]})
        text = "def add(a, b):\n    return a + b\n" * 8
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": text}
        yield _record(at, f"c{n}", "user", {"role": "user", "content": [result]})


def _record(at: datetime, uuid: str, sort: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": sort,
        "uuid": uuid,
        "sessionId": SESSION,
        "timestamp": at.isoformat(),
        "cwd": "/home/dev/kettle",
        "version": "2.1.270",
        "gitBranch": "main",
        "message": message,
        **more,
    }
