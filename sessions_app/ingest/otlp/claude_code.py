"""Claude Code's telemetry: its log events and spans, joined by session, prompt, tool and request ids.

Log records name no subagent; spans do, but name no prompt. What both tell of one call meets in one row.
"""

from collections.abc import Mapping
from typing import Any

from contextdash.cleaning import one_line
from contextdash.ids import digest16
from contextdash.limits import COST_OF_CALL, NAME_CHARS, TOKENS_OF_CALL
from sessions_app.importers.gathering import IterationSeen, Whose, whose
from sessions_app.ingest import reading
from sessions_app.ingest.files import files_of
from sessions_app.ingest.otlp.taking import Taker, shown_attributes
from sessions_app.ingest.otlp.wire import LogRecord, Span, whole
from sessions_app.ingest.reading import Known, decoded, text
from sessions_app.pricing import Usage
from sessions_app.vocabulary import EventKind, Source

SERVICE = "claude-code"
PREFIX = "claude_code."
REDACTED = "<REDACTED>"

EVENTS: dict[str, Known] = {
    "user_prompt": Known(EventKind.PROMPT),
    "assistant_response": Known(EventKind.MODEL_CALL),
    "api_request": Known(EventKind.MODEL_CALL),
    "api_error": Known(EventKind.OTHER, "error", 2, ("error", "status_code", "model")),
    "api_refusal": Known(EventKind.OTHER, "error", 2, ("error", "model")),
    "api_retries_exhausted": Known(EventKind.OTHER, "error", 1, ("error", "status_code", "model")),
    "internal_error": Known(EventKind.OTHER, "error", 3, ("error", "error_type", "error_name")),
    "tool_decision": Known(EventKind.OTHER),
    "tool_result": Known(EventKind.TOOL_END),
    "permission_mode_changed": Known(EventKind.CONTEXT, "session", 4, ("from_mode", "to_mode")),
    "mcp_server_connection": Known(EventKind.CONTEXT, "context", 4, ("server_name", "status", "error")),
    "skill_activated": Known(EventKind.CONTEXT, "context", 4, ("skill.name", "skill_name")),
    "compaction": Known(EventKind.COMPACT_END, "compaction", 2),
    "subagent_completed": Known(EventKind.OTHER, "subagent", 4, ("agent_type", "model")),
}
COUNTED = frozenset(
    {
        "hook_registered",
        "hook_execution_start",
        "hook_execution_complete",
        "hook_plugin_metrics",
        "api_request_body",
        "api_response_body",
        "plugin_installed",
        "plugin_loaded",
        "auth",
        "at_mention",
        "feedback_survey",
        "retention_sweep",
    }
)
"""Events that say nothing about a session's work: counted only."""

SPANS = frozenset({"interaction", "llm_request", "tool", "tool.execution"})
COUNTED_SPANS = frozenset({"tool.blocked_on_user", "hook"})


def is_claude(service: str, name: str) -> bool:
    return service == SERVICE or name.startswith(PREFIX)


def take_log(taker: Taker, record: LogRecord) -> None:
    """One log record."""
    name = record.name.removeprefix(PREFIX)
    known = EVENTS.get(name)
    told = shown_attributes(record.attributes)
    session = text(record.attributes, "session.id")
    if name in COUNTED or not session.strip():
        taker.count(SERVICE, name if name in COUNTED or known else "other log")
        return
    if known is None and not taker.may_keep_unknown(told):
        taker.count(SERVICE, "other log", "unknown")
        return
    who = whose(session, _agent_id(record.attributes))
    at_us = taker.at_us(record.nanos)
    own_id = ("log", who.root_id, name, text(record.attributes, "event.sequence"), str(record.nanos))
    seen = taker.observe(
        who,
        SERVICE,
        own_id,
        name=name,
        kind=EventKind.OTHER if known is None else known.kind,
        at_us=at_us,
        body=told,
        known=known is not None,
        turn_id=text(told, "prompt.id", NAME_CHARS),
        category="" if known is None else known.category,
        priority=4 if known is None else known.priority,
        data="" if known is None else reading.told(told, known.tells, 300),
    )
    iteration: IterationSeen | None = None
    if name == "user_prompt":
        seen.prompt = _unless_redacted(text(told, "prompt"))
    elif name == "api_request":
        iteration = _call(who, told, ended_us=at_us, turn_id=seen.turn_id)
    elif name == "assistant_response":
        iteration = _said(who, told, at_us=at_us, turn_id=seen.turn_id)
    elif name in ("tool_result", "tool_decision"):
        _tool(seen, name, told)
    elif name == "compaction":
        before, after = (text(told, key) for key in ("pre_tokens", "post_tokens"))
        trigger = text(told, "trigger", 40)
        seen.data = one_line(f"{trigger}: {before} to {after} tokens" if before else trigger, 300)
    taker.take(seen, name if known else "other log", iteration=iteration)


def take_span(taker: Taker, span: Span, parent: Span | None) -> None:
    """One span, and the one above it where that is in the same request."""
    name = span.name.removeprefix(PREFIX)
    told = shown_attributes(span.attributes)
    session = text(span.attributes, "session.id")
    if name in COUNTED_SPANS or not session.strip():
        taker.count(SERVICE, f"span {name}" if name in COUNTED_SPANS or name in SPANS else "other span")
        return
    if name not in SPANS and not taker.may_keep_unknown(told):
        taker.count(SERVICE, "other span", "unknown")
        return
    known = name in SPANS
    who = whose(session, _agent_id(span.attributes))
    start_us, end_us = taker.at_us(span.start_nanos), taker.at_us(span.end_nanos)
    seen = taker.observe(
        who,
        SERVICE,
        ("span", span.trace_id, span.span_id),
        name=span.name,
        kind=EventKind.OTHER,
        at_us=start_us,
        body={"trace_id": span.trace_id, "span_id": span.span_id, "parent_id": span.parent_id, **told},
        known=known,
    )
    iteration: IterationSeen | None = None
    if name == "llm_request":
        seen.kind = EventKind.MODEL_CALL
        iteration = _call(who, told, ended_us=end_us, turn_id="", began_us=start_us)
    elif name == "tool":
        _tool_began(seen, told)
    elif name == "tool.execution":
        seen.at_us = seen.occurred_us = end_us
        names = {} if parent is None else parent.attributes
        _tool(seen, "tool_result", {key: names.get(key) for key in ("tool_use_id", "tool_name")} | told)
        if seen.duration_us is None:
            seen.duration_us = max(0, end_us - start_us)
    taker.take(seen, f"span {name}" if known else "other span", iteration=iteration)


def _agent_id(told: Mapping[str, Any]) -> str:
    return text(told, "agent_id", NAME_CHARS) or text(told, "agent.id", NAME_CHARS)


def _call(
    who: Whose, told: Mapping[str, Any], *, ended_us: int, turn_id: str, began_us: int | None = None
) -> IterationSeen | None:
    """A model call. Without a request id it cannot be told from the transcript's, and is not counted."""
    request_id = text(told, "request_id", NAME_CHARS)
    if not request_id or told.get("output_tokens") is None:
        return None
    took_us = _took_us(told)
    if took_us is None and began_us is not None:
        took_us = max(0, ended_us - began_us)
    written = _tokens(told, "cache_creation_tokens")
    return IterationSeen(
        identity=_identity(who, request_id),
        session_id=who.session_id,
        root_id=who.root_id,
        agent_id=who.agent_id,
        at_us=ended_us - (took_us or 0) if began_us is None else began_us,
        ended_us=ended_us,
        turn_id=turn_id,
        request_id=request_id,
        provider="anthropic",
        model=_model(told),
        speed="fast" if text(told, "speed") == "fast" else "standard",
        stop_reason=text(told, "stop_reason", 60),
        usage=Usage(
            input=_tokens(told, "input_tokens"),
            output=_tokens(told, "output_tokens"),
            cache_read=_tokens(told, "cache_read_tokens"),
            cache_write_5m=written,
        ),
        assumed="5-minute cache writes" if written else "",
        source=Source.OTLP,
        told_micro=_micro(told),
        duration_us=took_us,
        purpose=text(told, "query_source", 60),
    )


def _said(who: Whose, told: Mapping[str, Any], *, at_us: int, turn_id: str) -> IterationSeen | None:
    """What the model answered in a call that another record tells the tokens of."""
    request_id, said = text(told, "request_id", NAME_CHARS), _unless_redacted(text(told, "response"))
    if not request_id or not said:
        return None
    return IterationSeen(
        identity=_identity(who, request_id),
        session_id=who.session_id,
        root_id=who.root_id,
        agent_id=who.agent_id,
        at_us=at_us,
        ended_us=at_us,
        turn_id=turn_id,
        request_id=request_id,
        provider="anthropic",
        model=_model(told),
        prose=said,
        source=Source.OTLP,
        purpose=text(told, "query_source", 60),
    )


def _identity(who: Whose, request_id: str) -> bytes:
    return digest16(b"iteration", SERVICE.encode(), b"request", who.root_id.encode(), request_id.encode())


def _tool(seen: Any, name: str, told: Mapping[str, Any]) -> None:
    """A result, or a decision: only that a call was refused makes a call of a decision."""
    seen.call_id = text(told, "tool_use_id", NAME_CHARS)
    if not seen.call_id:
        seen.kind = EventKind.OTHER  # of which call it tells, nobody knows
        return
    if name == "tool_decision":
        if text(told, "decision") != "reject":
            return
        seen.kind, seen.error = EventKind.TOOL_DENIED, f"denied ({text(told, 'source', 60) or 'unknown'})"
    elif str(told.get("success")).lower() == "true":
        seen.kind = EventKind.TOOL_END
    else:
        seen.kind = EventKind.TOOL_FAILED
        seen.error = text(told, "error") or text(told, "error_type") or "failed"
    asked = decoded(told.get("tool_input"))
    seen.tool = text(told, "tool_name", NAME_CHARS) or "unknown"
    seen.summary = reading.summary(asked)
    if not seen.summary and isinstance(given := decoded(told.get("tool_parameters")), dict):
        seen.summary = _summary(given)
    seen.files = files_of(seen.tool, asked)
    seen.input_size = _size(told, "tool_input_size_bytes")
    seen.output_size = _size(told, "tool_result_size_bytes")
    seen.duration_us = _took_us(told)


def _took_us(told: Mapping[str, Any]) -> int | None:
    sent = told.get("duration_ms")
    return (
        reading.milliseconds(sent if isinstance(sent, float) else whole(sent)) if sent is not None else None
    )


def _tool_began(seen: Any, told: Mapping[str, Any]) -> None:
    seen.call_id = text(told, "tool_use_id", NAME_CHARS)
    if seen.call_id:
        seen.kind = EventKind.TOOL_START
        seen.tool = text(told, "tool_name", NAME_CHARS) or "unknown"
        seen.summary = _summary(told)


def _summary(told: Mapping[str, Any]) -> str:
    keys = ("full_command", "file_path", "subagent_type", "skill_name")
    found = next((text(told, key) for key in keys if text(told, key)), "")
    return reading.summary(found) if found else ""


def _unless_redacted(said: str) -> str:
    return "" if said == REDACTED else said


def _model(told: Mapping[str, Any]) -> str:
    # The suffix names a size of context, not a model; transcripts leave it out.
    return text(told, "model", NAME_CHARS).removesuffix("[1m]")


def _tokens(told: Mapping[str, Any], key: str) -> int:
    found = whole(told.get(key))
    return found if 0 <= found <= TOKENS_OF_CALL else 0


def _size(told: Mapping[str, Any], key: str) -> int:
    found = whole(told.get(key))
    return found if 0 <= found < 2**31 else 0


def _micro(told: Mapping[str, Any]) -> int | None:
    """Micro-dollars as the client reckons them."""
    if told.get("cost_usd_micros") is not None:
        found = whole(told["cost_usd_micros"])
        return found if 0 <= found <= COST_OF_CALL else None
    try:
        dollars = float(told.get("cost_usd") or "nan")
    except (TypeError, ValueError):
        return None
    micro = dollars * 1_000_000
    return round(micro) if 0 <= micro <= COST_OF_CALL else None
