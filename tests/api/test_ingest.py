"""``POST ingest``: many lines in one body."""

import json
import time

import pytest

from contextdash import limits
from contextdash.models import Receipt
from sessions_app.models import Decision, Event, HookEvent, Mistake, Quarantined, Session
from tests.api.nouns import NOUNS

pytestmark = pytest.mark.django_db


def hook(number: int = 1, session: str = "H1", **line) -> dict:
    body = {
        "session_id": session,
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_use_id": f"toolu_{number}",
        "tool_input": {"command": "make test"},
    }
    return {"type": "hook", "client": "claude-code", "delivery_id": f"d{number}", "body": body, **line}


def send(api, *lines, content_type: str = "application/x-ndjson", **headers: str):
    raw = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return api.client.post(
        "/api/v1/ingest",
        data=raw,
        content_type=content_type,
        headers={**api.headers, **{name.replace("_", "-"): value for name, value in headers.items()}},
    )


def test_every_noun_is_a_line_with_the_body_of_its_endpoint(api):
    answer = send(api, *({"type": noun.name, **noun.body} for noun in NOUNS))
    assert answer.status_code == 200, answer.content
    told = answer.json()
    assert told["accepted"] == list(range(1, len(NOUNS) + 1)), told["rejected"]
    assert [made["type"] for made in told["made"]] == [noun.name for noun in NOUNS]
    for noun, made in zip(NOUNS, told["made"], strict=True):
        assert noun.model.objects.get(pk=made["id"])


def test_a_session_line_ensures_one(api):
    told = send(api, {"type": "session", "session_id": "S9", "branch": "main"}).json()
    assert told["made"] == [{"line": 1, "type": "session", "id": "S9"}]
    assert Session.objects.get().branch == "main"


def test_hook_lines_become_events(api):
    told = send(api, hook(1), hook(2), hook(1)).json()
    assert told == {"accepted": [1, 2], "duplicate": [3], "rejected": [], "made": []}
    assert Event.objects.count() == 2
    assert Session.objects.get().id == "H1"


def test_valid_lines_are_stored_and_the_others_are_listed_by_number(api):
    told = send(
        api,
        {"type": "decision", "topic": "a", "choice": "b"},
        b"not json",
        {"type": "decision", "topic": "a"},
        b"",
        {"type": "song"},
        [1],
        hook(1),
        {"type": "decision", "topic": "", "choice": "b"},
        hook(2, client="Not A Client"),
        hook(3, body=[1]),
        {"type": "mistake", "agent_name": "a", "summary": "s"},
    ).json()
    assert told["accepted"] == [1, 7, 11]
    assert [(line["line"], line["error"], line["field"]) for line in told["rejected"]] == [
        (2, "malformed", None),
        (3, "invalid", "choice"),
        (5, "invalid", "type"),
        (6, "malformed", None),
        (8, "invalid", "topic"),
        (9, "not_found", None),
        (10, "malformed", None),
    ]
    assert Decision.objects.count() == Mistake.objects.count() == Event.objects.count() == 1


def test_a_hook_line_that_cannot_be_stored_is_kept_to_look_at(api):
    send(api, hook(1, body={"no": "event"}))
    kept = Quarantined.objects.get()
    assert kept.client == "claude-code"
    assert b'"no"' in bytes(kept.body)


def test_a_deleted_session_is_refused_by_line(api):
    send(api, hook(1, session="gone"))
    api.client.delete("/api/v1/sessions/gone?reason=x", headers=api.headers)
    told = send(
        api, hook(2, session="gone"), {"type": "decision", "session_id": "gone", "topic": "a", "choice": "b"}
    ).json()
    assert [line["error"] for line in told["rejected"]] == ["deleted_session", "deleted_session"]


def test_an_ingest_token_sends_hook_lines_only(make_api):
    told = send(make_api("ingest"), hook(1), {"type": "decision", "topic": "a", "choice": "b"}).json()
    assert told["accepted"] == [1]
    assert told["rejected"][0]["error"] == "forbidden"
    assert Decision.objects.count() == 0


def test_a_read_token_sends_nothing(make_api):
    assert send(make_api("read"), hook(1)).status_code == 403
    assert Event.objects.count() == 0


def test_a_repeated_body_with_the_same_idempotency_key_is_stored_once(api):
    lines = [{"type": "decision", "topic": "a", "choice": str(number)} for number in range(3)]
    first = send(api, *lines, Idempotency_Key="k1").json()
    again = send(api, *lines, Idempotency_Key="k1").json()
    assert again["duplicate"] == [1, 2, 3]
    assert again["made"] == first["made"]
    assert Decision.objects.count() == 3
    changed = send(api, {"type": "decision", "topic": "a", "choice": "other"}, Idempotency_Key="k1").json()
    assert changed["rejected"][0]["error"] == "conflict"


def test_a_line_can_bring_its_own_idempotency_key(api):
    line = {"type": "decision", "topic": "a", "choice": "b", "idempotency_key": "k1"}
    send(api, line)
    told = send(api, {"type": "decision", "topic": "x", "choice": "y"}, line).json()
    assert (told["accepted"], told["duplicate"]) == ([1], [2])
    assert Decision.objects.count() == 2
    assert Receipt.objects.count() == 1


@pytest.mark.parametrize(
    "body",
    [
        b'{"session_id": "H1", "hook_event_name": "Stop", "x": NaN}',
        b'{"session_id": "H1", "hook_event_name": "Stop", "x": "\\ud83d"}',
        b'{"session_id": "H1", "hook_event_name": "Stop", "x": "a\\u0000b"}',
        b'{"session_id": "H1", "hook_event_name": "Stop", "x": ' + b"1" * 400 + b"}",
        b'{"session_id": "H1", "hook_event_name": "Stop", "x": [' + b"[]," * 500 + b"[]]}",
    ],
    ids=["NaN", "surrogate", "NUL", "400 digits", "many brackets"],
)
def test_an_odd_hook_body_is_stored(api, body):
    told = send(api, b'{"type":"hook","client":"claude-code","body":' + body + b"}").json()
    assert told["accepted"] == [1], told
    assert api.get("sessions/H1/events").json()["items"][0]["name"] == "Stop"


def test_a_deep_line_is_refused_and_its_neighbours_are_stored(api):
    deep = b'{"type":"hook","client":"claude-code","body":' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    told = send(api, hook(1), deep, hook(2)).json()
    assert told["accepted"] == [1, 3]
    assert "JSON_DEPTH" in told["rejected"][0]["detail"]


def test_windows_line_ends_and_a_last_newline_are_fine(api):
    assert send(api, json.dumps(hook(1)).encode() + b"\r", hook(2), b"").json()["accepted"] == [1, 2]


def test_an_empty_body_stores_nothing(api):
    assert send(api, b"").json() == {"accepted": [], "duplicate": [], "rejected": [], "made": []}


def test_too_many_lines_are_413_and_name_the_limit(api):
    answer = send(api, *[b"{}"] * (limits.NDJSON_LINES + 1))
    assert answer.status_code == 413
    assert "NDJSON_LINES" in answer.json()["detail"]


def test_other_media_types_are_refused(api):
    assert send(api, hook(1), content_type="text/plain").status_code == 415
    assert Event.objects.count() == 0


def test_a_wrong_type_beside_the_body_does_not_lose_the_hook(api):
    told = send(api, hook(1, host=5, captured_at=[1], branch={"a": 1})).json()
    assert told["accepted"] == [1]


def test_a_hundred_hook_lines_are_one_call_of_store(api, django_assert_max_num_queries):
    with django_assert_max_num_queries(40):
        told = send(api, *(hook(number) for number in range(100))).json()
    assert len(told["accepted"]) == 100


def test_a_hook_event_line_without_a_session_belongs_to_none(api):
    line = {"type": "hook-event", "hook_name": "gate", "event_type": "beforeCommit", "outcome": "ok"}
    send(api, {**line, "session_id": ""})
    assert HookEvent.objects.get().session is None


def test_capture_time_is_believed_within_reason(api):
    captured = time.time_ns() // 1000 - 60_000_000
    send(api, hook(1, captured_at=str(captured)))
    assert Event.objects.get().occurred_us == captured


def test_many_lines_that_are_no_hooks_come_in_parts_so_that_hooks_do_not_wait(api):
    line = json.dumps({"type": "decision", "topic": "t", "choice": "c"}).encode()
    answer = send(api, *[line] * (limits.NDJSON_WRITER_LINES + 1))
    assert answer.status_code == 413
    assert "NDJSON_WRITER_LINES" in answer.json()["detail"]
    assert not Decision.objects.exists()
    assert (
        len(send(api, *[line] * limits.NDJSON_WRITER_LINES).json()["accepted"]) == limits.NDJSON_WRITER_LINES
    )
