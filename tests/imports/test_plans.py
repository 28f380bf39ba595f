"""Plans in transcripts are kept like those that hooks tell, each version once and in its order."""

from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from contextdash.clock import parse_us
from sessions_app.importers.files import Place, import_file
from sessions_app.ingest.observation import Delivery
from sessions_app.ingest.observing import observe
from sessions_app.ingest.reading import encode
from sessions_app.ingest.store import store
from sessions_app.models import Event, Plan, Session
from tests.imports.lines import SESSION, calls, prompt, record, response, write

pytestmark = pytest.mark.django_db

FIRST, SECOND = "# Boil\n- [ ] fill", "# Boil\n- [x] fill\n- [ ] heat"
PATH = "/home/dev/.claude/plans/boil.md"


def answer(call_id: str, at: str, rich: dict[str, Any]) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}
    return record(
        "user", at, promptId="prompt-1", toolUseResult=rich, message={"role": "user", "content": [block]}
    )


def transcript(folder: Path) -> Path:
    edit = {"file_path": PATH, "old_string": "- [ ] fill", "new_string": "- [x] fill\n- [ ] heat"}
    return write(
        folder,
        prompt("Plan it.", "2026-11-20T10:00:00Z"),
        response("m1", "2026-11-20T10:00:01Z", calls("t1", "Write", file_path=PATH, content=FIRST)),
        answer("t1", "2026-11-20T10:00:02Z", {"type": "create", "filePath": PATH, "content": FIRST}),
        response("m2", "2026-11-20T10:00:03Z", calls("t2", "Edit", **edit)),
        answer("t2", "2026-11-20T10:00:04Z", {"filePath": PATH, "originalFile": FIRST}),
        response("m3", "2026-11-20T10:00:05Z", calls("t3", "ExitPlanMode", plan=SECOND, planFilePath=PATH)),
        answer("t3", "2026-11-20T10:00:06Z", {"plan": SECOND, "filePath": PATH}),
    )


def hooks() -> None:
    def deliver(second: int, name: str, tool: str, call_id: str, asked: Any, answered: Any = None) -> None:
        body = {
            "session_id": SESSION,
            "hook_event_name": name,
            "tool_name": tool,
            "tool_use_id": call_id,
            "tool_input": asked,
            "tool_response": answered,
            "prompt_id": "prompt-1",
            "cwd": "/home/dev/kettle",
        }
        at_us = parse_us(f"2026-11-20T10:00:0{second}Z") or 0
        delivery = Delivery(received_us=at_us, captured_us=at_us, host="desk")
        with transaction.atomic():
            store([observe(encode(body), client="claude-code", delivery=delivery)])

    edit = {"file_path": PATH, "old_string": "- [ ] fill", "new_string": "- [x] fill\n- [ ] heat"}
    deliver(2, "PostToolUse", "Write", "t1", {"file_path": PATH, "content": FIRST}, {"filePath": PATH})
    deliver(4, "PostToolUse", "Edit", "t2", edit, {"filePath": PATH, "originalFile": FIRST})
    deliver(5, "PreToolUse", "ExitPlanMode", "t3", {"plan": SECOND, "planFilePath": PATH})
    deliver(6, "PostToolUse", "ExitPlanMode", "t3", {"plan": SECOND, "planFilePath": PATH}, {"plan": SECOND})


@pytest.mark.parametrize("told", ["transcript", "hooks then transcript", "transcript then hooks"])
def test_versions_of_a_plan(tmp_path: Path, told: str) -> None:
    path = transcript(tmp_path)
    for source in told.split(" then "):
        if source == "hooks":
            hooks()
        else:
            import_file(path, place=Place(host="desk"))
    plans = list(Plan.objects.order_by("number").values_list("body_md", "status", "newest"))
    assert plans == [(FIRST, "proposed", False), (SECOND, "approved", True)]
    assert Session.objects.get().plan_count == 2


def test_two_sessions_whose_server_numbers_calls_anew_have_their_own(tmp_path: Path) -> None:
    import_file(transcript(tmp_path), place=Place(host="desk"))
    other = "22222222-2222-4333-8444-555555555555"
    path = tmp_path / f"{other}.jsonl"
    text = (tmp_path / f"{SESSION}.jsonl").read_text().replace(SESSION, other)
    for number, line in enumerate(text.splitlines()):
        # Another day, other records: only the ids of messages and calls come again.
        with path.open("a") as file:
            file.write(
                line.replace("2026-11-20", "2026-11-21").replace('"uuid": "', f'"uuid": "{number}') + "\n"
            )
    import_file(path, place=Place(host="desk"))
    first, second = Session.objects.get(id=SESSION), Session.objects.get(id=other)
    assert (first.call_count, second.call_count) == (3, 3)
    assert second.forked_from is None
    assert Event.objects.filter(session=first).count() == Event.objects.filter(session=second).count()
