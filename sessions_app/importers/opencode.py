"""OpenCode's messages, whichever of its stores holds them: a message and its parts tell one step whole."""

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from contextdash.cleaning import one_line
from contextdash.clock import parse_us
from contextdash.ids import digest16, session_id
from contextdash.limits import COST_OF_CALL
from sessions_app.importers.counting import count, listed, tokens
from sessions_app.importers.gathering import Gatherer, IterationSeen, Whose, shown, touched, whose
from sessions_app.ingest import opencode as hooks
from sessions_app.ingest import reading
from sessions_app.ingest.reading import Body, mapping, text
from sessions_app.pricing import Usage
from sessions_app.vocabulary import EventKind

CLIENT = "opencode"
PROVIDERS = {"google-vertex": "google", "vertex": "google", "amazon-bedrock": "aws", "xai": "x-ai"}
"""Where the price list names a provider otherwise."""
RESOLD = frozenset({"opencode", "github-copilot", "google-vertex-anthropic"})
"""Who sells other providers' models: priced by the model's name."""
_AGENT = re.compile(r"\(@(\S+) subagent\)\s*$")


class Reader:
    """Reads messages; one is understood by itself, once it is known whose session it is of."""

    def __init__(self, gatherer: Gatherer, facts: dict[str, Any]) -> None:
        self._out = gatherer
        self.facts = facts
        self._who = Whose("", "")
        self._session: Body = {}
        self._parent = ""
        self._agent = ""
        self.title = ""
        facts.setdefault("kind", "session")

    @property
    def session_id(self) -> str:
        return self._who.session_id

    def session(self, info: Body) -> None:
        """What follows is of this session: id, parentID, title, directory."""
        self._session = info
        self._who = whose(text(info, "id"))
        self._parent = session_id(parent)[0] if (parent := text(info, "parentID")) else ""
        title = hooks.title_of(info)
        found = _AGENT.search(title)
        self._agent = found[1][:200] if found and self._parent else ""
        self.title = one_line(shown(title), 200)

    def message(self, info: Body, parts: Sequence[Body]) -> bool:
        """Whether it is as it will stay: an answer that is still being written is told again."""
        role = text(info, "role")
        count(self.facts, "counts", role or "none")
        at_us = parse_us(mapping(info, "time").get("created"))
        at_us = self._out.delivery.received_us if at_us is None else at_us
        self.facts["first_us"] = min(self.facts.get("first_us", at_us), at_us)
        self.facts["last_us"] = max(self.facts.get("last_us", at_us), at_us)
        if role == "user":
            self._prompt(info, parts, at_us)
            return True
        if role == "assistant":
            return self._answer(info, parts, at_us)
        return True

    def _observe(self, own_id: str, name: str, kind: str, at_us: int, body: Any, **told: Any) -> None:
        seen = self._out.observe(
            self._who,
            own_id,
            name=name,
            kind=kind,
            at_us=at_us,
            body=body,
            cwd=text(self._session, "directory"),
            agent_name=self._agent,
            **told,
        )
        seen.parent_id = self._parent

    def _prompt(self, info: Body, parts: Sequence[Body], at_us: int) -> None:
        said = "\n".join(text(one, "text") for one in parts if _is_said(one))
        turn_id = text(info, "id", 200)
        if said.strip() and turn_id:
            said = hooks.unquoted(said)
            self._observe(
                f"prompt {turn_id}",
                "user",
                EventKind.PROMPT,
                at_us,
                {"prompt": said},
                turn_id=turn_id,
                prompt=shown(said),
            )
        self._compactions(info, parts, at_us)

    def _compactions(self, info: Body, parts: Sequence[Body], at_us: int) -> None:
        for part in parts:
            if part.get("type") == "compaction":
                count(self.facts, "counts", "compactions")
                told = {"category": "compaction", "priority": 2, "data": "compacted"}
                own_id = f"compaction {text(part, 'id') or text(info, 'id')}"
                self._observe(own_id, "compact_boundary", EventKind.COMPACT_END, at_us, {}, **told)

    def _answer(self, info: Body, parts: Sequence[Body], at_us: int) -> bool:
        times, error = mapping(info, "time"), mapping(info, "error")
        completed = parse_us(times.get("completed"))
        ended_us = at_us if completed is None else completed
        turn_id, own_id = text(info, "parentID", 200), text(info, "id", 200)
        listed(self.facts, "models", text(info, "modelID", 200))
        calls = [one for one in parts if one.get("type") == "tool"]
        rests = [self._call(one, turn_id, ended_us) for one in calls]
        prose = shown("\n\n".join(text(one, "text") for one in parts if _is_said(one) and text(one, "text")))
        self._iterate(info, parts, own_id, turn_id, at_us, ended_us, prose)
        finish = text(info, "finish", 60)
        if error:
            self._failed(own_id, error, turn_id, ended_us)
        elif completed is not None and finish not in ("tool-calls", "", "unknown"):
            body = {"answer": prose} if prose else {}
            told: dict[str, Any] = {"turn_id": turn_id, "answer": prose}
            self._observe(f"end {own_id}", "turn_end", EventKind.TURN_END, ended_us, body, **told)
        self._compactions(info, parts, at_us)
        return all(rests) and (completed is not None or bool(error))

    def _iterate(
        self,
        info: Body,
        parts: Sequence[Body],
        own_id: str,
        turn_id: str,
        at_us: int,
        ended_us: int,
        prose: str,
    ) -> None:
        provider = text(info, "providerID", 100)
        thought = (text(one, "text") for one in parts if one.get("type") == "reasoning")
        self._out.iterate(
            IterationSeen(
                identity=digest16(b"iteration", CLIENT.encode(), own_id.encode()),
                session_id=self.session_id,
                root_id=self._who.root_id,
                agent_id="",
                at_us=at_us,
                ended_us=ended_us,
                turn_id=turn_id,
                response_id=own_id,
                provider="" if provider in RESOLD else PROVIDERS.get(provider, provider),
                model=text(info, "modelID", 200),
                stop_reason=text(info, "finish", 60),
                thinking=shown("\n\n".join(one for one in thought if one)),
                prose=prose,
                call_ids=[text(one, "callID", 200) for one in parts if text(one, "callID")],
                usage=_usage(info),
                assumed="5-minute cache writes" if tokens(_cache(info), "write") else "",
                told_micro=_micro(info.get("cost")),
                whole=True,
            )
        )

    def _call(self, part: Body, turn_id: str, at_us: int) -> bool:
        """Whether the call has its result."""
        state = mapping(part, "state")
        status, asked, times = text(state, "status"), state.get("input"), mapping(state, "time")
        call_id, tool = (
            text(part, "callID", 200) or text(part, "id", 200),
            text(part, "tool", 200) or "unknown",
        )
        started, ended = parse_us(times.get("start")), parse_us(times.get("end"))
        started_us = at_us if started is None else started
        if status == "pending":
            return False  # what it asks for is not whole yet
        body = {"tool_name": tool, "tool_use_id": call_id, "tool_input": asked}
        told: dict[str, Any] = {
            "call_id": call_id,
            "turn_id": turn_id,
            "tool": tool,
            "summary": shown(reading.summary(asked)),
            "files": touched(tool, asked),
            "input_size": reading.size(body, "tool_input"),
        }
        own_id = f"{self.session_id} {call_id}"
        self._observe(f"call {own_id}", "tool", EventKind.TOOL_START, started_us, body, **told)
        if status not in ("completed", "error"):
            return False
        ended_us = started_us if ended is None else max(ended, started_us)
        error = hooks.failure_of(tool, state)
        kind = EventKind.TOOL_FAILED if error else EventKind.TOOL_END
        told["error"] = shown(error)[:4000]
        told["duration_us"] = None if started is None or ended is None else ended_us - started_us
        body = {
            "tool_use_id": call_id,
            "tool_response": state.get("error" if status == "error" else "output"),
        }
        told["output_size"] = reading.size(body, "tool_response")
        if not error:
            told |= self._spawned(tool, state)
            told["plans"] = hooks.written_plan(tool, mapping(state, "input"))
        self._observe(f"result {own_id}", "tool_result", kind, ended_us, body, **told)
        return True

    def _spawned(self, tool: str, state: Body) -> dict[str, Any]:
        child = text(mapping(state, "metadata"), "sessionId")
        if tool != "task" or not child:
            return {}
        asked = mapping(state, "input")
        listed(self.facts, "subagents", child[:200])
        return {
            "spawned_id": session_id(child)[0],
            "spawned_agent_name": text(asked, "subagent_type", 200),
            "spawned_prompt": shown(text(asked, "prompt"))[:100_000],
        }

    def _failed(self, own_id: str, error: Body, turn_id: str, at_us: int) -> None:
        count(self.facts, "counts", "errors")
        said = shown(text(mapping(error, "data"), "message") or text(error, "name") or "error")
        aborted = text(error, "name") == hooks.ABORTED
        kind = EventKind.TURN_END if aborted else EventKind.TURN_FAILED
        told: dict[str, Any] = {"turn_id": turn_id, "error": said, "interrupted": aborted}
        self._observe(f"end {own_id}", "turn_end", kind, at_us, {"error": said}, **told)


def _is_said(part: Body) -> bool:
    hidden = part.get("synthetic") is True or part.get("ignored") is True
    return part.get("type") == "text" and not hidden


def _cache(info: Body) -> Body:
    return mapping(mapping(info, "tokens"), "cache")


def _usage(info: Body) -> Usage | None:
    told, cache = mapping(info, "tokens"), _cache(info)
    if not told:
        return None
    return Usage(
        input=tokens(told, "input"),
        output=tokens(told, "output") + tokens(told, "reasoning"),
        cache_read=tokens(cache, "read"),
        cache_write_5m=tokens(cache, "write"),
        thinking=tokens(told, "reasoning"),
    )


def _micro(dollars: object) -> int | None:
    if isinstance(dollars, bool) or not isinstance(dollars, int | float):
        return None
    try:
        micro = int(Decimal(str(dollars)).scaleb(6).to_integral_value())
    except InvalidOperation:
        return None
    return micro if 0 < micro <= COST_OF_CALL else None  # nothing is what it says of subscriptions, too
