"""Copilot CLI's events: what was said and done as it happens, tokens of the prompts when a process ends."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from contextdash.cleaning import clean, one_line
from contextdash.clock import parse_us
from contextdash.ids import digest16
from sessions_app.importers.copilot_metrics import Segments, Spent
from sessions_app.importers.counting import LISTED, count, listed, tokens
from sessions_app.importers.gathering import Gatherer, IterationSeen, Whose, joined, shown, touched, whose
from sessions_app.ingest import reading
from sessions_app.ingest.reading import Body, mapping, text
from sessions_app.pricing import Usage
from sessions_app.vocabulary import EventKind

CLIENT = "copilot"
UNSETTLED = "prompts cost nothing: their tokens are told when the process ends"
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):\s*(.*?)\s*")


def beside(path: Path) -> Mapping[str, Any]:
    """The lines ``key: text`` of the ``workspace.yaml`` beside a session's events."""
    if path.name != "events.jsonl":
        return {}
    try:
        with (path.parent / "workspace.yaml").open("rb") as file:
            raw = file.read(64 * 1024)
    except OSError:
        return {}
    told: dict[str, Any] = {"folder": path.parent.name}
    for line in clean(raw.decode("utf-8", "replace")).splitlines():
        if found := _LINE.fullmatch(line):
            told[found[1]] = _unquoted(found[2])
    return told


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1].replace('\\"', '"')
    return "" if value in ("null", "~", "|", ">", "|-", ">-") else value


class Reader:
    """Reads the records of one file. ``state`` and ``facts`` are plain JSON, for a later run."""

    def __init__(
        self, gatherer: Gatherer, path: PurePath, near: Body, state: dict[str, Any], facts: dict[str, Any]
    ) -> None:
        self._out = gatherer
        self.state = state
        self.facts = facts
        flat = path.name != "events.jsonl"
        state.setdefault("session", path.stem if flat else text(near, "id") or path.parent.name or path.stem)
        state.setdefault("cwd", text(near, "cwd"))
        self._name = one_line(shown(text(near, "name")), 200)
        self._segments = Segments(state)
        self.between_calls = True
        facts.setdefault("kind", "session")

    @property
    def session_id(self) -> str:
        return self._who.session_id

    @property
    def title(self) -> tuple[str, str]:
        return (self._name, "workspace.yaml name") if self._name else ("", "")

    @property
    def _who(self) -> Whose:
        return whose(self.state["session"])

    def count(self, record: Body) -> None:
        """Count a record by its type."""
        count(self.facts, "record_types", text(record, "type", 60) or "none")

    def read(self, record: Body) -> None:
        self.count(record)
        sort, data, own_id = text(record, "type"), mapping(record, "data"), text(record, "id", 200)
        at_us = parse_us(record.get("timestamp"))
        at_us = self.state.get("last_us", self._out.delivery.received_us) if at_us is None else at_us
        self.state["last_us"] = at_us
        self.facts["first_us"] = min(self.facts.get("first_us", at_us), at_us)
        self.facts["last_us"] = max(self.facts.get("last_us", at_us), at_us)
        own_id = own_id or f"{sort} {at_us}"
        if sort in _READERS:
            _READERS[sort](self, data, own_id, at_us)

    def finish(self) -> None:
        """The last answer ends its turn, until more of it comes."""
        self._end_turn()

    def _observe(self, own_id: str, name: str, kind: str, at_us: int, body: Any, **told: Any) -> None:
        turn_id = told.pop("turn_id", self.state.get("turn", ""))
        self._out.observe(
            self._who,
            f"{self.state['session']} {own_id}",
            name=name,
            kind=kind,
            at_us=at_us,
            body=body,
            turn_id=turn_id,
            cwd=self.state["cwd"],
            **told,
        )

    # Where it happens.

    def _start(self, data: Body, own_id: str, at_us: int) -> None:
        if session := text(data, "sessionId"):
            self.state["session"] = session
        self._place(data, own_id, at_us)
        self._model(text(data, "selectedModel", 200))
        body = {"version": text(data, "copilotVersion", 60)}
        self._observe("start", "session.start", EventKind.SESSION_START, at_us, body, turn_id="")

    def _place(self, data: Body, own_id: str, at_us: int) -> None:
        context = mapping(data, "context")
        self.state["cwd"] = text(context, "cwd") or self.state["cwd"]
        if branch := text(context, "branch", 255):
            self._out.on_branch(branch)
            listed(self.facts, "git_branches", branch)

    def _model_change(self, data: Body, own_id: str, at_us: int) -> None:
        self._model(text(data, "newModel", 200))

    def _model(self, model: str) -> None:
        if model:
            self.state["model"] = model
            listed(self.facts, "models", model)

    # What was said and done.

    def _user(self, data: Body, own_id: str, at_us: int) -> None:
        said = text(data, "content")
        if text(data, "source") or not said.strip():
            return  # put in by the program, such as a skill's text
        self._end_turn()
        self.state["turn"] = own_id
        self._observe(
            own_id, "user", EventKind.PROMPT, at_us, {"prompt": said}, prompt=shown(said), turn_id=own_id
        )

    def _assistant(self, data: Body, own_id: str, at_us: int) -> None:
        asked = data.get("toolRequests")
        requests = [one for one in asked if isinstance(one, dict)] if isinstance(asked, list) else []
        for place, request in enumerate(requests):
            self._call(
                request,
                text(request, "toolCallId", 200) or f"{own_id} {place}",
                text(request, "name", 200),
                at_us,
            )
        prose = shown(text(data, "content"))
        message_id = text(data, "messageId", 200) or own_id
        self._model(text(data, "model", 200))
        output = tokens(data, "outputTokens")
        if "outputTokens" in data:
            count(self.facts, "counts", "told_outputs")
        self._segments.answered(
            self.state.get("model", ""), message_id, output, at_us, self.state.get("turn", "")
        )
        self._out.iterate(
            self._iteration(
                message_id,
                self.state.get("model", ""),
                at_us,
                self.state.get("turn", ""),
                usage=Usage(output=output) if output else None,
                assumed=UNSETTLED if output else "",
                prose=prose,
                thinking=shown(joined(text(data, "reasoningText"), "")),
                call_ids=[text(one, "toolCallId", 200) for one in requests],
            )
        )
        count(self.facts, "counts", "assistant_messages")
        if requests:
            self.state.pop("answer", None)
        elif prose:
            self.state["answer"] = [own_id, at_us, prose[:200_000]]

    def _iteration(self, own_id: str, model: str, at_us: int, turn_id: str, **told: Any) -> IterationSeen:
        return IterationSeen(
            identity=digest16(b"iteration", CLIENT.encode(), f"{self.state['session']} {own_id}".encode()),
            session_id=self.session_id,
            root_id=self._who.root_id,
            agent_id="",
            at_us=at_us,
            ended_us=at_us,
            turn_id=turn_id,
            response_id=own_id,
            model=model,
            **told,
        )

    def _call(self, data: Body, call_id: str, tool: str, at_us: int) -> None:
        asked = reading.decoded(data.get("arguments"))
        body = {"tool_name": tool, "tool_use_id": call_id, "tool_input": asked}
        self._observe(
            f"call {call_id}",
            "tool_request",
            EventKind.TOOL_START,
            at_us,
            body,
            call_id=call_id,
            tool=tool or "unknown",
            summary=shown(reading.summary(asked)),
            files=touched(tool, asked),
            input_size=reading.size(body, "tool_input"),
        )

    def _started(self, data: Body, own_id: str, at_us: int) -> None:
        """The request told of it already, with all that it asks; where it did not, this does."""
        self._call(data, text(data, "toolCallId", 200) or own_id, text(data, "toolName", 200), at_us)

    def _completed(self, data: Body, own_id: str, at_us: int) -> None:
        call_id = text(data, "toolCallId", 200)
        if not call_id:
            return
        self._model(text(data, "model", 200))
        kind: str = EventKind.TOOL_END
        told: dict[str, Any] = {"call_id": call_id, "tool": text(data, "toolName", 200) or "unknown"}
        error = data.get("error")
        if data.get("success") is False or error:
            said = text(error, "message") if isinstance(error, dict) else text(data, "error")
            code = text(error, "code") if isinstance(error, dict) else ""
            kind = EventKind.TOOL_DENIED if code in ("denied", "rejected") else EventKind.TOOL_FAILED
            told["error"] = shown(said or code or "failed")[:4000]
            told["interrupted"] = code in ("interrupted", "cancelled", "aborted")
        body = {"tool_use_id": call_id, "tool_response": data.get("result") if error is None else error}
        told["output_size"] = reading.size(body, "tool_response")
        self._observe(f"result {call_id}", "tool_result", kind, at_us, body, **told)

    def _error(self, data: Body, own_id: str, at_us: int) -> None:
        error = shown(text(data, "message") or text(data, "errorType") or "error")
        count(self.facts, "counts", "errors")
        self._observe(own_id, "error", EventKind.TURN_FAILED, at_us, {"error": error}, error=error)

    def _abort(self, data: Body, own_id: str, at_us: int) -> None:
        self.state.pop("answer", None)
        body = {"reason": text(data, "reason")}
        self._observe(own_id, "abort", EventKind.TURN_END, at_us, body, interrupted=True)

    def _compacted(self, data: Body, own_id: str, at_us: int) -> None:
        told = {"category": "compaction", "priority": 2, "data": "compacted"}
        self._observe(own_id, "compact_boundary", EventKind.COMPACT_END, at_us, {}, **told)

    def _end_turn(self) -> None:
        answer = self.state.pop("answer", None)
        if answer is not None and self.state.get("turn"):
            own_id, at_us, said = answer
            self._observe(
                f"end {own_id}", "turn_end", EventKind.TURN_END, at_us, {"answer": said}, answer=said
            )

    # What it cost.

    def _shutdown(self, data: Body, own_id: str, at_us: int) -> None:
        self._end_turn()
        for name in ("totalPremiumRequests", "totalNanoAiu", "totalApiDurationMs"):
            if isinstance(data.get(name), int | float):
                self.facts[name] = data[name]
        metrics = mapping(data, "modelMetrics")
        told = {
            model[:200]: Spent.of(mapping(mapping(metrics, model), "usage"))
            for model in list(metrics)[:LISTED]
        }
        for model in told:
            listed(self.facts, "models", model)
        for settled in self._segments.ended(own_id, at_us, told):
            usage = settled.usage
            assumed = "5-minute cache writes" if usage.cache_write_5m else ""
            self._out.iterate(
                self._iteration(
                    settled.own_id,
                    settled.model,
                    settled.at_us,
                    settled.turn_id,
                    usage=usage,
                    assumed=assumed,
                    whole=True,
                )
            )


_READERS = {
    "session.start": Reader._start,
    "session.resume": Reader._place,
    "session.context_changed": Reader._place,
    "session.model_change": Reader._model_change,
    "session.error": Reader._error,
    "session.compaction_complete": Reader._compacted,
    "session.shutdown": Reader._shutdown,
    "user.message": Reader._user,
    "assistant.message": Reader._assistant,
    "tool.execution_start": Reader._started,
    "tool.execution_complete": Reader._completed,
    "abort": Reader._abort,
}
