"""From an event of a ledger to an Observation: what it means to the projections that all sources share."""

import zlib
from collections.abc import Mapping
from typing import Any

from contextdash.cleaning import clean, one_line
from contextdash.decoding import decode_json
from contextdash.errors import Malformed
from contextdash.ids import digest16
from contextdash.limits import NAME_CHARS
from contextdash.redaction import mask
from sessions_app.ingest.files import files_of
from sessions_app.ingest.observation import Delivery, Observation
from sessions_app.ingest.observing import each_text
from sessions_app.ingest.reading import encode, mapping, milliseconds, size, summary, text
from sessions_app.ledger.envelope import Lane, Sent, at_us
from sessions_app.models import Run
from sessions_app.vocabulary import EventKind, Source

_LINE_CHARS = 500
_STATUS_KINDS = {"completed": EventKind.TURN_END, "failed": EventKind.TURN_FAILED}


def identity_of(event_id: str) -> bytes:
    """An event of that id is the same wherever it is sent: ids are global."""
    return digest16(b"ledger", event_id.encode("utf-8", "surrogatepass"))


def observe(sent: Sent, run: Run, delivery: Delivery) -> Observation:
    """``run`` with its session and turn."""
    seen = Observation(client=run.session.client or "api", name=sent.kind, delivery=delivery)
    seen.source = Source.API
    seen.root_id = seen.session_id = run.session.id
    seen.run_key, seen.turn_id = run.key, run.turn.turn_id
    raw = sent.text.encode()
    seen.identity, seen.content = identity_of(sent.event.id), digest16(raw)
    plain, shown = _masked(sent, raw)
    seen.payload, seen.payload_size = zlib.compress(plain, 1), len(plain)
    occurred_us = at_us(sent.value["ts"])
    seen.occurred_us = delivery.received_us if occurred_us is None else occurred_us
    seen.at_us = min(seen.occurred_us, delivery.received_us)
    _understand(seen, sent, shown)
    return seen


def _masked(sent: Sent, raw: bytes) -> tuple[bytes, Mapping[str, Any]]:
    """The payload as it is stored, and its value: masked, without what no text can hold."""
    plain = mask(sent.text).encode()
    unclean = "\\ud" in sent.text or "\\u0000" in sent.text
    if plain == raw and not unclean:
        return plain, sent.value
    try:
        return plain, decode_json(plain)
    except Malformed:  # a mark fell across a border of the JSON: mask each text by itself
        shown = each_text(sent.value, lambda one: mask(clean(one)))
        return encode(shown), shown


def _understand(seen: Observation, sent: Sent, shown: Mapping[str, Any]) -> None:
    if sent.event.partial:
        return  # it may still change
    content, actions = mapping(shown, "content"), mapping(shown, "actions")
    delta = mapping(actions, "stateDelta")
    match sent.lane:
        case Lane.CALL:
            seen.kind = EventKind.TOOL_START
            seen.tool = text(content, "name", NAME_CHARS)
            seen.summary, seen.input_size = summary(content.get("args")), size(content, "args")
            seen.files = files_of(seen.tool, content.get("args"))
        case Lane.RESPONSE:
            seen.kind = EventKind.TOOL_FAILED if content.get("isError") is True else EventKind.TOOL_END
            seen.tool = text(content, "name", NAME_CHARS)
            seen.output_size, seen.duration_us = (
                size(content, "result"),
                milliseconds(delta.get("durationMs")),
            )
            if seen.kind == EventKind.TOOL_FAILED:
                seen.error = _said(content.get("result"))
        case Lane.TERMINAL:
            _end(seen, sent, content, delta)
        case Lane.TELL if sent.kind == "text":
            _say(seen, sent, content)
        case Lane.TELL:
            _fact(seen, content, actions, delta)


def _end(seen: Observation, sent: Sent, content: Mapping[str, Any], delta: Mapping[str, Any]) -> None:
    status = sent.event.status
    seen.kind = _STATUS_KINDS.get(str(status), EventKind.TURN_END)
    # Stopped, or ended without a word: nobody knows that it was done.
    seen.interrupted = status != "completed" and seen.kind == EventKind.TURN_END
    seen.error = text(content, "message") or (failure_of(sent) if status == "failed" else "")
    seen.category, seen.priority = "turn", 1 if seen.kind == EventKind.TURN_FAILED else 2
    seen.data = one_line(seen.error or text(delta, "stopReason") or abort_source_of(sent), _LINE_CHARS)


def _say(seen: Observation, sent: Sent, content: Mapping[str, Any]) -> None:
    said = text(content, "displayText") or text(content, "text")
    if sent.event.role == "model":
        seen.kind, seen.answer = EventKind.ANSWER, said
    elif sent.event.role == "user" and content.get("steering") is not True:
        seen.kind, seen.prompt = EventKind.PROMPT, said
        seen.category, seen.priority, seen.data = "prompt", 1, one_line(said, _LINE_CHARS)
    elif sent.event.role == "user":
        seen.category, seen.priority, seen.data = "prompt", 2, one_line(said, _LINE_CHARS)


def _fact(
    seen: Observation, content: Mapping[str, Any], actions: Mapping[str, Any], delta: Mapping[str, Any]
) -> None:
    asked = _asked(actions, delta)
    if asked is not None:
        seen.kind, seen.category, seen.priority = EventKind.PERMISSION, "permission", 2
        seen.waiting_for = seen.data = one_line(asked, _LINE_CHARS)
    elif content.get("kind") == "error":
        seen.category, seen.priority = "error", 1
        seen.data = one_line(text(content, "message"), _LINE_CHARS)


def _asked(actions: Mapping[str, Any], delta: Mapping[str, Any]) -> str | None:
    """What a person must answer; None where nothing is asked."""
    if "userQuestionRequest" in actions:
        questions = mapping(actions, "userQuestionRequest").get("questions")
        first = questions[0] if isinstance(questions, list) and questions else {}
        return text(first, "question") if isinstance(first, dict) else ""
    if "permissionRequest" in actions:
        request = mapping(actions, "permissionRequest")
        return " ".join(part for part in (text(request, "toolName"), text(request, "reason")) if part)
    if "sandboxBoundaryRequest" in delta:
        return text(mapping(delta, "sandboxBoundaryRequest"), "justification")
    return None


def failure_of(sent: Sent) -> str:
    """The class of a failed end, wherever it is told; empty where it is told nowhere."""
    delta = mapping(mapping(sent.value, "actions"), "stateDelta")
    content = mapping(sent.value, "content")
    told = [text(delta, name) for name in ("failureClass", "errorClass", "reason", "code")]
    told += [text(content, name) for name in ("code", "reason")]
    return mask(clean(next((one for one in told if one), "")))[:NAME_CHARS]


def abort_source_of(sent: Sent) -> str:
    delta = mapping(mapping(sent.value, "actions"), "stateDelta")
    return mask(clean(text(delta, "abortSource")))[:NAME_CHARS]


def _said(result: object) -> str:
    """What the result of a failed call says first."""
    if isinstance(result, str):
        return result
    if not isinstance(result, dict):
        return ""
    output = mapping(result, "output")
    told = [text(output, "stderr"), text(result, "text"), text(result, "message"), text(output, "stdout")]
    return next((one for one in told if one.strip()), "")
