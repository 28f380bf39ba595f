"""Spans of the GenAI conventions, of whatever tool: agents, their model calls and their tools.

A conversation is a session, else a trace is. An agent that an agent invoked is a child session; what it is
made of is found by the spans' parents, as far as they are in the same request.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from contextdash.cleaning import one_line
from contextdash.ids import digest16, session_id
from contextdash.limits import NAME_CHARS, TOKENS_OF_CALL
from sessions_app.importers.gathering import IterationSeen, Whose, whose
from sessions_app.importers.iterations import TOTAL
from sessions_app.ingest import reading
from sessions_app.ingest.files import files_of
from sessions_app.ingest.otlp.messages import last_said
from sessions_app.ingest.otlp.taking import Taker, shown_attributes
from sessions_app.ingest.otlp.wire import Span, whole
from sessions_app.ingest.reading import LONGEST_CALL_US, decoded, text
from sessions_app.models import Event, Session
from sessions_app.pricing import Usage
from sessions_app.vocabulary import EventKind, Source

AGENTS = frozenset({"invoke_agent", "invoke_workflow"})
CALLS = frozenset({"chat", "generate_content", "text_completion", "embeddings"})
PROVIDERS = {
    "gcp.gemini": "google",
    "gcp.vertex_ai": "google",
    "gcp.gen_ai": "google",
    "aws.bedrock": "aws",
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "mistral_ai": "mistral",
    "x_ai": "x-ai",
}
"""Names of the conventions that the price list has others for."""


def is_genai(span: Span) -> bool:
    return any(name.startswith("gen_ai.") for name in span.attributes)


def operation(span: Span) -> str:
    """What the span is of; where it does not say, what it can only be of."""
    told = span.attributes
    named = text(told, "gen_ai.operation.name")
    if named:
        return named
    if text(told, "gen_ai.tool.name"):
        return "execute_tool"
    return "chat" if _input(told) is not None or _output(told) is not None else ""


class Traces:
    """The spans of one request: who belongs to whom."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = {(span.trace_id, span.span_id): span for span in spans}
        self._places: dict[tuple[str, str], tuple[Span | None, Span]] = {}
        self._named: dict[str, str] = {}
        for span in spans:
            if named := text(span.attributes, "gen_ai.conversation.id"):
                self._named.setdefault(span.trace_id, named)
        unnamed = {span.trace_id for span in spans if is_genai(span)} - self._named.keys()
        self._known = _conversations(unnamed)
        # The agents that have model calls of their own below them, whose sums are no calls besides.
        self.summed: set[tuple[str, str]] = set()
        for span in spans:
            if operation(span) in CALLS and _usage(span.attributes) is not None:
                above, _ = self._place(span)
                while above is not None and (key := (above.trace_id, above.span_id)) not in self.summed:
                    self.summed.add(key)
                    above, _ = self._place(above)

    def session(self, span: Span) -> str:
        named = text(span.attributes, "gen_ai.conversation.id") or self._named.get(span.trace_id, "")
        return named or self._known.get(span.trace_id) or span.trace_id

    def names(self) -> dict[str, str]:
        """The conversation of each trace that names one."""
        return self._named

    def agents_above(self, span: Span) -> list[Span]:
        """The two nearest of the agents that the span is part of, the nearest first."""
        found: list[Span] = []
        above, _ = self._place(span)
        while above is not None and len(found) < 2 and above not in (span, *found):
            found.append(above)
            above, _ = self._place(above)
        return found

    def turn(self, span: Span) -> str:
        """The agent's span, whether it has come yet or not; without one, the trace."""
        above = self.agents_above(span)
        if above:
            return above[0].span_id
        _, top = self._place(span)
        return top.parent_id or top.trace_id

    def _parent(self, span: Span) -> Span | None:
        return self._spans.get((span.trace_id, span.parent_id))

    def _place(self, span: Span) -> tuple[Span | None, Span]:
        """The nearest agent above the span, and the topmost span.

        Each span is looked at once, however deep they are; one that is its own ancestor is a topmost one.
        """
        way: list[Span] = []
        at: Span | None = span
        while at is not None and (key := (at.trace_id, at.span_id)) not in self._places:
            self._places[key] = (None, at)
            way.append(at)
            at = self._parent(at)
        for one in reversed(way):
            parent = self._parent(one)
            if parent is not None:
                nearest, top = self._places[parent.trace_id, parent.span_id]
                place = (parent if operation(parent) in AGENTS else nearest, top)
                self._places[one.trace_id, one.span_id] = place
        return self._places[span.trace_id, span.span_id]


def take_spans(taker: Taker, spans: Sequence[Span]) -> None:
    """The GenAI spans of one request."""
    traces = Traces(spans)
    # Exporters send a span when it ends, so that children come before their parents.
    for span in sorted(spans, key=lambda span: span.start_nanos):
        if is_genai(span):
            _take(taker, span, traces)
        else:
            taker.count(span.service, "other span")
    _link(taker, spans, traces)


def _take(taker: Taker, span: Span, traces: Traces) -> None:
    sort = operation(span)
    known = sort in AGENTS or sort in CALLS or sort == "execute_tool"
    told = shown_attributes(span.attributes)
    if not known and not taker.may_keep_unknown(told):
        taker.count(span.service, "other span", "unknown")
        return
    if sort in AGENTS:
        _agent(taker, span, told, traces)
    elif sort in CALLS:
        _model_call(taker, span, told, traces)
    elif sort == "execute_tool":
        _tool(taker, span, told, traces)
    else:
        who, turn_id = _belongs(span, traces)
        at_us = taker.at_us(span.start_nanos)
        seen = _observe(taker, who, span, told, "span", EventKind.OTHER, at_us, turn_id=turn_id)
        seen.known = False
        taker.take(seen, "other span")


def _belongs(span: Span, traces: Traces) -> tuple[Whose, str]:
    """The session and turn of a span that is no agent's."""
    above = traces.agents_above(span)
    return _session_of(span, above, traces), traces.turn(span)


def _session_of(span: Span, agents: Sequence[Span], traces: Traces) -> Whose:
    """``agents``: those that it is part of, the nearest first; the last one is the session's own."""
    if len(agents) > 1:
        return whose(traces.session(span), agents[0].span_id, _agent_name(agents[0]))
    return whose(traces.session(span), "", _agent_name(agents[0]) if agents else "")


def _agent_name(span: Span) -> str:
    told = shown_attributes(span.attributes)
    named = text(told, "gen_ai.agent.name") or text(told, "gen_ai.workflow.name")
    return one_line(named or span.name.removeprefix("invoke_agent").strip(), NAME_CHARS)


def _agent(taker: Taker, span: Span, told: Mapping[str, Any], traces: Traces) -> None:
    who = _session_of(span, [span, *traces.agents_above(span)], traces)
    start_us, end_us = taker.at_us(span.start_nanos), taker.at_us(span.end_nanos)
    prompt = last_said(told.get("gen_ai.input.messages"), "user")
    began = _observe(taker, who, span, told, "began", EventKind.PROMPT, start_us, turn_id=span.span_id)
    began.prompt = prompt
    if not prompt:
        began.title = who.agent_name
    began.model = _model(told)
    ended = _observe(taker, who, span, {}, "ended", EventKind.TURN_END, end_us, turn_id=span.span_id)
    ended.answer = last_said(told.get("gen_ai.output.messages"), "assistant")
    if _failed(span):
        ended.kind, ended.error = EventKind.TURN_FAILED, _error(span, told)
    total: IterationSeen | None = None
    if (span.trace_id, span.span_id) not in traces.summed:
        total = _iteration(span, told, who, span.span_id, start_us, end_us)
        if total is not None:
            total.purpose = TOTAL
    taker.take(began, operation(span), iteration=total)
    taker.take(ended, "")


def _model_call(taker: Taker, span: Span, told: Mapping[str, Any], traces: Traces) -> None:
    who, turn_id = _belongs(span, traces)
    start_us, end_us = taker.at_us(span.start_nanos), taker.at_us(span.end_nanos)
    seen = _observe(taker, who, span, told, "span", EventKind.MODEL_CALL, start_us, turn_id=turn_id)
    if _failed(span):
        seen.category, seen.priority, seen.data = "error", 2, one_line(_error(span, told), 300)
    taker.take(seen, operation(span), iteration=_iteration(span, told, who, turn_id, start_us, end_us))


def _tool(taker: Taker, span: Span, told: Mapping[str, Any], traces: Traces) -> None:
    who, turn_id = _belongs(span, traces)
    end_us = taker.at_us(span.end_nanos)
    kind = EventKind.TOOL_FAILED if _failed(span) else EventKind.TOOL_END
    seen = _observe(taker, who, span, told, "span", kind, end_us, turn_id=turn_id)
    asked, answer = decoded(told.get("gen_ai.tool.call.arguments")), told.get("gen_ai.tool.call.result")
    seen.call_id = text(told, "gen_ai.tool.call.id", NAME_CHARS) or span.span_id
    seen.tool = text(told, "gen_ai.tool.name", NAME_CHARS) or one_line(span.name, NAME_CHARS) or "unknown"
    seen.summary = reading.summary(asked)
    seen.files = files_of(seen.tool, asked)
    seen.input_size = 0 if asked is None else len(reading.encode(asked))
    seen.output_size = 0 if answer is None else len(reading.encode(answer))
    seen.error = _error(span, told) if _failed(span) else ""
    took_us = (span.end_nanos - span.start_nanos) // 1000
    seen.duration_us = took_us if 0 <= took_us <= LONGEST_CALL_US else None
    taker.take(seen, operation(span))


def _observe(
    taker: Taker,
    who: Whose,
    span: Span,
    told: Mapping[str, Any],
    part: str,
    kind: str,
    at_us: int,
    *,
    turn_id: str,
) -> Any:
    ids = {"trace_id": span.trace_id, "span_id": span.span_id, "parent_id": span.parent_id}
    return taker.observe(
        who,
        span.service,
        (part, span.trace_id, span.span_id),
        name=one_line(span.name, NAME_CHARS) or "span",
        kind=kind,
        at_us=at_us,
        body={**ids, **told},
        turn_id=turn_id,
    )


def _iteration(
    span: Span, told: Mapping[str, Any], who: Whose, turn_id: str, start_us: int, end_us: int
) -> IterationSeen | None:
    usage = _usage(told)
    if usage is None:
        return None
    reasons = told.get("gen_ai.response.finish_reasons")
    provider = text(told, "gen_ai.provider.name") or text(told, "gen_ai.system")
    return IterationSeen(
        identity=digest16(b"iteration", b"span", span.trace_id.encode(), span.span_id.encode()),
        session_id=who.session_id,
        root_id=who.root_id,
        agent_id=who.agent_id,
        at_us=start_us,
        ended_us=max(start_us, end_us),
        turn_id=turn_id,
        response_id=text(told, "gen_ai.response.id", NAME_CHARS),
        provider=PROVIDERS.get(provider, provider)[:100],
        model=_model(told),
        stop_reason=str(reasons[0])[:60] if isinstance(reasons, list) and reasons else "",
        prose=last_said(told.get("gen_ai.output.messages"), "assistant"),
        usage=usage,
        assumed="5-minute cache writes" if usage.cache_write_5m else "",
        source=Source.OTLP,
        duration_us=max(0, end_us - start_us),
    )


def _usage(told: Mapping[str, Any]) -> Usage | None:
    """Tokens in classes: the conventions' input is all of it, cached and written too."""
    total, output = _input(told), _output(told)
    if total is None and output is None:
        return None
    read = _tokens(told, "gen_ai.usage.cache_read.input_tokens") or 0
    written = _tokens(told, "gen_ai.usage.cache_creation.input_tokens") or 0
    fresh = (total or 0) - read - written
    # Less than its parts: whoever sent it counted only what came from no cache.
    return Usage(
        input=fresh if fresh >= 0 else total or 0,
        output=output or 0,
        cache_read=read,
        cache_write_5m=written,
        thinking=_tokens(told, "gen_ai.usage.reasoning.output_tokens") or 0,
    )


def _input(told: Mapping[str, Any]) -> int | None:
    found = _tokens(told, "gen_ai.usage.input_tokens")
    return _tokens(told, "gen_ai.usage.prompt_tokens") if found is None else found


def _output(told: Mapping[str, Any]) -> int | None:
    found = _tokens(told, "gen_ai.usage.output_tokens")
    return _tokens(told, "gen_ai.usage.completion_tokens") if found is None else found


def _tokens(told: Mapping[str, Any], key: str) -> int | None:
    if told.get(key) is None:
        return None
    found = whole(int(told[key])) if isinstance(told[key], float) else whole(told[key])
    return found if 0 <= found <= TOKENS_OF_CALL else None


def _model(told: Mapping[str, Any]) -> str:
    return text(told, "gen_ai.response.model", NAME_CHARS) or text(told, "gen_ai.request.model", NAME_CHARS)


def _failed(span: Span) -> bool:
    return span.failed or bool(text(span.attributes, "error.type"))


def _error(span: Span, told: Mapping[str, Any]) -> str:
    parts = dict.fromkeys(part for part in (text(told, "error.type"), span.message) if part)
    return ": ".join(parts) or "failed"


def _conversations(traces: set[str]) -> dict[str, str]:
    """The conversations of traces that an earlier request named."""
    by_identity = {_trace_identity(trace): trace for trace in traces}
    found = Event.objects.filter(identity__in=list(by_identity)).values_list("identity", "session__id")
    return {by_identity[bytes(identity)]: session for identity, session in found}


def _trace_identity(trace: str) -> bytes:
    return digest16(b"otlp", b"trace", trace.encode())


def _link(taker: Taker, spans: Sequence[Span], traces: Traces) -> None:
    """Remember which conversation a trace is of; what came of it before is from now on a child of it."""
    names = traces.names()
    if not names:
        return
    earlier = set(Session.objects.filter(id__in=list(names)).values_list("id", flat=True))
    first = {span.trace_id: span for span in reversed(spans)}
    for trace, named in names.items():
        span = first[trace]
        at_us = taker.at_us(span.start_nanos)
        link = taker.observe(
            whose(named),
            span.service,
            ("trace", trace),
            name="trace",
            kind=EventKind.OTHER,
            at_us=at_us,
            body={"trace_id": trace, "conversation": named},
        )
        taker.take(link, "")
        root_id = session_id(named)[0]
        if trace in earlier and trace != root_id:
            child = taker.observe(
                whose(trace),
                span.service,
                ("trace of", trace),
                name="trace",
                kind=EventKind.OTHER,
                at_us=at_us,
                body={"trace_id": trace, "conversation": named},
            )
            child.parent_id = root_id
            taker.take(child, "")
