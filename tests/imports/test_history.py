"""What only transcripts tell of is over after an hour; a compaction that two sources tell of is one line."""

from pathlib import Path

import pytest
import time_machine
from django.db import transaction

from contextdash.clock import parse_us
from sessions_app.importers.files import Place, import_file
from sessions_app.ingest.observation import Delivery
from sessions_app.ingest.observing import observe
from sessions_app.ingest.reading import encode
from sessions_app.ingest.store import store
from sessions_app.models import Session, SessionEvent
from sessions_app.queries.states import state_of
from sessions_app.services.resting import end_resting
from tests.imports.lines import SESSION, prompt, record, response, says, write

pytestmark = pytest.mark.django_db

HERE = Place(host="desk")


def deliver(name: str, at: str, **more: str) -> None:
    at_us = parse_us(at) or 0
    body = {"session_id": SESSION, "hook_event_name": name, "cwd": "/home/dev/kettle", **more}
    delivery = Delivery(received_us=at_us, captured_us=at_us, host="desk")
    with transaction.atomic():
        store([observe(encode(body), client="claude-code", delivery=delivery)])


def state() -> str:
    return state_of(Session.objects.get())


def test_a_session_of_history_ends_and_goes_on_with_its_file_or_hooks(tmp_path: Path) -> None:
    with time_machine.travel("2026-11-20T10:30:00Z", tick=False):
        path = write(
            tmp_path, prompt("Go.", "2026-11-20T10:00:00Z"), response("m", "2026-11-20T10:00:01Z", says("x"))
        )
        import_file(path, place=HERE)
        end_resting()
        assert state() == "idle"
    with time_machine.travel("2026-11-20T12:00:00Z", tick=False):
        end_resting()
        assert state() == "closed"
        assert str(Session.objects.get().ended_at) == "2026-11-20 10:00:00+00:00"
        write(tmp_path, prompt("More.", "2026-11-20T11:59:00Z", turn="prompt-2"))
        import_file(path, place=HERE)
        assert (state(), Session.objects.get().ended_at) == ("idle", None)
    with time_machine.travel("2026-11-20T20:00:00Z", tick=False):
        end_resting()
        assert state() == "closed"
        deliver("UserPromptSubmit", "2026-11-20T20:00:00Z", prompt="Again.", prompt_id="prompt-3")
        assert state() == "working"
        deliver("Stop", "2026-11-20T20:00:01Z", prompt_id="prompt-3")
    with time_machine.travel("2026-11-21T20:00:00Z", tick=False):
        end_resting()
        assert state() == "idle"  # its hooks would have said that it ended


@pytest.mark.parametrize("hooks_first", [True, False])
def test_two_sources_of_one_compaction_make_one_line(tmp_path: Path, *, hooks_first: bool) -> None:
    told = {"trigger": "auto", "preTokens": 120_000, "postTokens": 30_000}
    boundary = record("system", "2026-11-20T10:00:05Z", subtype="compact_boundary", compactMetadata=told)
    later = record("system", "2026-11-20T11:00:05Z", subtype="compact_boundary", compactMetadata=told)
    path = write(tmp_path, prompt("Go.", "2026-11-20T10:00:00Z"), boundary, later)
    if not hooks_first:
        import_file(path, place=HERE)
    deliver("PostCompact", "2026-11-20T10:00:06Z", trigger="auto", compact_summary="so far")
    if hooks_first:
        import_file(path, place=HERE)
    lines = SessionEvent.objects.filter(category="compaction").order_by("occurred_us")
    assert [line.data for line in lines] == ["auto: 120000 to 30000 tokens"] * 2
    assert Session.objects.get().compaction_count == 2
