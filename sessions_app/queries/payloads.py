"""Where in a stored event a call's input and output stand, in the shape of every client."""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from sessions_app.models import Event

type Body = Mapping[str, Any]

INPUT_KEYS = ("tool_input", "toolArgs", "input", "arguments", "args", "gen_ai.tool.call.arguments")
OUTPUT_KEYS = (
    *("tool_response", "tool_output", "toolResult", "output", "result", "response"),
    "gen_ai.tool.call.result",
)


def payload_of(event: Event) -> Any:
    """The body of an event; None where it cannot be read."""
    try:
        return json.loads(zlib.decompress(bytes(event.payload)))
    except (zlib.error, ValueError, RecursionError):
        return None


def body_of(event: Event | None) -> Body:
    body = payload_of(event) if event is not None else None
    return body if isinstance(body, dict) else {}


def input_of(body: Body) -> Any:
    """What a call was given; None where the event does not tell."""
    if _is_opencode(body):
        part = _part(body)
        if part:
            return _mapping(part, "state").get("input")
        return _mapping(body, "input").get("args", _mapping(body, "output").get("args"))
    if _is_ledger(body):
        return _mapping(body, "content").get("args")
    return _read(_first_of(body, INPUT_KEYS))


def output_of(body: Body) -> Any:
    """What a call gave; None where the event does not tell."""
    if _is_opencode(body):
        part = _part(body)
        return _mapping(part, "state").get("output") if part else _mapping(body, "output").get("output")
    if _is_ledger(body):
        content = _mapping(body, "content")
        return None if content.get("isError") is True else _unwrapped(content.get("result"))
    found = _first_of(body, OUTPUT_KEYS)
    if isinstance(found, dict) and isinstance(found.get("textResultForLlm"), str):
        return found["textResultForLlm"]
    return found


def error_of(body: Body) -> Any:
    """What a call failed with."""
    if _is_opencode(body):
        return _mapping(_part(body), "state").get("error")
    if _is_ledger(body):
        content = _mapping(body, "content")
        return _said(_unwrapped(content.get("result"))) if content.get("isError") is True else None
    return body.get("error")


def _is_ledger(body: Body) -> bool:
    return _mapping(body, "content").get("kind") in ("function_call", "function_response")


def _unwrapped(result: Any) -> Any:
    """What a ledger's client wraps by its kind: a text, a value, what a terminal showed."""
    if not isinstance(result, dict):
        return result
    inner = {"text": "text", "json": "value", "terminal": "output"}.get(str(result.get("kind")))
    return result.get(inner, result) if inner else result


def _said(result: Any) -> Any:
    """Of a failed command what it printed, errors first."""
    if not isinstance(result, dict):
        return result
    printed = [result.get(name) for name in ("stderr", "stdout", "message")]
    return next((text for text in printed if isinstance(text, str) and text.strip()), result)


def _is_opencode(body: Body) -> bool:
    return "callID" in _mapping(body, "input") or bool(_part(body))


def _part(body: Body) -> Body:
    return _mapping(_mapping(_mapping(body, "event"), "properties"), "part")


def _mapping(body: Body, key: str) -> Body:
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def _first_of(body: Body, names: Sequence[str]) -> Any:
    return next((body[name] for name in names if name in body), None)


def _read(value: Any) -> Any:
    """Some clients send the arguments as JSON in a text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
