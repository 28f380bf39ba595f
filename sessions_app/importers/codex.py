"""Codex rollouts: a JSON object a line; each text stands there twice, and tokens as cumulative counters."""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from contextdash.cleaning import one_line
from contextdash.clock import parse_us
from contextdash.ids import child_session_id, digest16
from sessions_app.importers.counting import count, listed, tokens
from sessions_app.importers.gathering import Gatherer, IterationSeen, Whose, joined, shown, touched, whose
from sessions_app.ingest import reading
from sessions_app.ingest.reading import decoded, mapping, text
from sessions_app.models import ImportSource, Turn
from sessions_app.pricing import Usage
from sessions_app.vocabulary import EventKind

CLIENT = "codex"
FALLBACK_MODEL = "gpt-5"
SYNTHETIC = (
    *("# AGENTS.md", "<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "<turn_aborted>"),
    *("<skill>", "<subagent_notification>", "<permissions instructions>"),
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_EXIT = re.compile(r"(?:Process exited with code|Exit code:) (-?\d+)")
_COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
_SERVED = frozenset({"web_search_call", "image_generation_call"})
"""Calls of the provider's own tools: their results are not told."""
_CALLS = _SERVED | {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_BARE = frozenset({"message", "reasoning", *_CALLS, *_OUTPUTS})
"""The first releases wrote items as they are: without times, turns and tokens."""
_OWN_TURN = "prompt "
"""What the id of a turn begins with that the file does not name."""

type Record = Mapping[str, Any]


class Reader:
    """Reads the records of one file. ``state`` and ``facts`` are plain JSON, for a later run."""

    def __init__(
        self, gatherer: Gatherer, path: PurePath, meta: Record, state: dict[str, Any], facts: dict[str, Any]
    ) -> None:
        self._out = gatherer
        self.state = state
        self.facts = facts
        found = _UUID.search(path.stem)
        state.setdefault("session", found[0] if found else path.stem)
        self.between_calls = True
        facts.setdefault("kind", "session")

    @property
    def session_id(self) -> str:
        return self._who.session_id

    @property
    def title(self) -> tuple[str, str]:
        return "", ""

    def count(self, record: Record) -> None:
        """Count a record by its types."""
        sort, inner = text(record, "type", 60), text(mapping(record, "payload"), "type", 60)
        count(
            self.facts, "record_types", f"{sort}/{inner}" if sort in ("event_msg", "response_item") else sort
        )

    def finish(self) -> None:
        """Nothing waits for the end of the file."""

    def read(self, record: Record) -> None:
        self.count(record)
        state, sort, payload = self.state, text(record, "type"), mapping(record, "payload")
        at_us = parse_us(record.get("timestamp"))
        bare = "payload" not in record
        if bare:
            sort, payload = _as_now(record)
            if at_us is None and "last_us" in state:
                at_us = state["last_us"] + 1  # in the order of the lines
        at_us = state.get("last_us", self._out.delivery.received_us) if at_us is None else at_us
        state["last_us"] = at_us
        if sort == "session_meta":
            self._meta(payload)
        if self._copied(payload, sort):
            return
        self.facts["first_us"] = min(self.facts.get("first_us", at_us), at_us)
        self.facts["last_us"] = max(self.facts.get("last_us", at_us), at_us)
        if sort == "turn_context":
            self._turn_context(payload)
        elif sort == "response_item":
            self._item(payload, at_us)
            if bare and text(payload, "role") == "assistant":
                self._iterate(None, at_us)
        elif sort == "event_msg":
            self._event(payload, at_us)
        elif sort == "compacted":
            self._compacted(at_us)

    # What the file is of.

    def _meta(self, payload: Record) -> None:
        state = self.state
        if state.get("met"):
            return  # the parent's, copied
        state["met"] = True
        state["session"] = text(payload, "id") or state["session"]
        state["cwd"] = text(payload, "cwd")
        state["provider"] = text(payload, "model_provider", 100) or "openai"
        state["branch"] = text(mapping(payload, "git"), "branch", 255)
        state["remote"] = text(mapping(payload, "git"), "repository_url", 2000)
        spawned = mapping(mapping(mapping(payload, "source"), "subagent"), "thread_spawn")
        if parent := text(spawned, "parent_thread_id"):
            state["parent"] = parent
            state["agent"] = text(spawned, "agent_role", 200) or text(spawned, "agent_nickname", 200)
            state["copying"] = parse_us(payload.get("timestamp"))
            self.facts["kind"] = "subagent"
        elif text(payload, "forked_from_id"):
            self.facts["forked_from"] = text(payload, "forked_from_id", 200)
            state["copying"] = parse_us(payload.get("timestamp"))
        self._out.on_branch(state["branch"])

    def _copied(self, payload: Record, sort: str) -> bool:
        """Whether a line is of the history that a fork begins with: all copied within one second.

        The cumulative counter goes on from the copy, so it is still read.
        """
        if self.state.get("copying") is None:
            return False
        if self._begins_own(payload, sort):
            self.state["copying"] = None
            return False
        if text(payload, "type") == "token_count":
            total = mapping(mapping(payload, "info"), "total_token_usage")
            self.state["total"] = (
                [tokens(total, name) for name in _COUNTS] if total else self.state.get("total")
            )
        if sort == "turn_context":
            self.state["model"] = text(payload, "model", 200)
        return True

    def _begins_own(self, payload: Record, sort: str) -> bool:
        """Whether a line begins a turn that was not copied: one that began later than the copy was made."""
        turn_id = text(payload, "turn_id", 200)
        if text(payload, "type") != "task_started" and not (sort == "turn_context" and turn_id):
            return False
        copied_us: int = self.state["copying"]
        if self.state["last_us"] - copied_us >= 1_000_000:
            return True
        started = payload.get("started_at")
        if isinstance(started, int):
            return started >= copied_us // 1_000_000
        source = whose(self.state.get("parent") or self.facts["forked_from"]).session_id
        known = ImportSource.objects.filter(session_id=source, client=CLIENT).exists()
        return known and not Turn.objects.filter(session__id=source, turn_id=turn_id).exists()

    def _turn_context(self, payload: Record) -> None:
        self.state["turn"] = text(payload, "turn_id", 200) or self.state.get("turn", "")
        self.state["model"] = text(payload, "model", 200)
        self.state["cwd"] = text(payload, "cwd") or self.state.get("cwd", "")
        listed(self.facts, "models", self.state["model"])

    @property
    def _who(self) -> Whose:
        parent = self.state.get("parent")
        if parent:  # hooks name it as an agent of its parent
            return whose(parent, self.state["session"], self.state.get("agent", ""))
        return whose(self.state["session"])

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
            cwd=self.state.get("cwd", ""),
            model=self.state.get("model", ""),
            **told,
        )

    # What was said and done.

    def _item(self, payload: Record, at_us: int) -> None:
        sort = text(payload, "type")
        if sort == "message":
            self._message(payload, at_us)
        elif sort == "reasoning":
            parts = payload.get("summary")
            texts = (
                [text(one, "text") for one in parts if isinstance(one, dict)]
                if isinstance(parts, list)
                else []
            )
            self.state["thinking"] = joined(self.state.get("thinking", ""), shown("\n".join(texts)))[:200_000]
        elif sort in _CALLS:
            self._call(payload, sort, at_us)
        elif sort in _OUTPUTS:
            self._output(payload, at_us)

    def _message(self, payload: Record, at_us: int) -> None:
        said = _plain(payload.get("content"))
        role = text(payload, "role")
        if role == "assistant":
            self.state["prose"] = joined(self.state.get("prose", ""), shown(said))[:1_000_000]
            count(self.facts, "counts", "assistant_messages")
        elif role == "user" and said.strip() and not said.lstrip().startswith(SYNTHETIC):
            turn_id, queued = self._prompted(at_us)
            self._observe(
                f"prompt {turn_id} {at_us}",
                "user",
                EventKind.PROMPT,
                at_us,
                {"prompt": said},
                prompt=shown(said),
                turn_id=turn_id,
                queued=queued,
            )

    def _prompted(self, at_us: int) -> tuple[str, bool]:
        """The turn of a prompt, and whether it was typed while the agent worked on another."""
        state = self.state
        turn_id: str = state.get("turn", "")
        if not turn_id or turn_id.startswith(_OWN_TURN):
            turn_id = state["turn"] = f"{_OWN_TURN}{at_us}"
            return turn_id, False
        if turn_id == state.get("prompted"):
            return f"{turn_id} {at_us}", True
        state["prompted"] = turn_id
        return turn_id, False

    def _call(self, payload: Record, sort: str, at_us: int) -> None:
        call_id = text(payload, "call_id", 200) or f"{sort} {at_us}"
        name = text(payload, "name", 200) or sort.removesuffix("_call")
        name = text(payload, "namespace", 200) + name
        asked = payload.get("arguments", payload.get("input", payload.get("action")))
        asked = decoded(asked)
        body = {"tool_name": name, "tool_use_id": call_id, "tool_input": asked}
        self.state.setdefault("calls", []).append(call_id)
        told = {
            "call_id": call_id,
            "tool": name,
            "summary": shown(reading.summary(asked)),
            "files": touched(name, asked),
            "input_size": reading.size(body, "tool_input"),
        }
        self._observe(f"call {call_id}", sort, EventKind.TOOL_START, at_us, body, **told)
        if sort in _SERVED and text(payload, "status") == "completed":
            told["output_size"] = 0
            self._observe(f"result {call_id}", "web_search_end", EventKind.TOOL_END, at_us, {}, **told)

    def _output(self, payload: Record, at_us: int) -> None:
        call_id = text(payload, "call_id", 200)
        output = payload.get("output")
        said = output if isinstance(output, str) else _plain(output)
        told: dict[str, Any] = {"call_id": call_id, "tool": "unknown"}
        kind: str = EventKind.TOOL_END
        if said.startswith("aborted by user"):
            kind, told["interrupted"], told["error"] = EventKind.TOOL_FAILED, True, one_line(said, 300)
        elif _failed(said):
            kind, told["error"] = EventKind.TOOL_FAILED, shown(said)[:4000]
        told |= self.state.get("spawned", {}).pop(call_id, {})
        body = {"tool_use_id": call_id, "tool_response": output}
        told["output_size"] = reading.size(body, "tool_response")
        self._observe(f"result {call_id}", "output", kind, at_us, body, **told)

    def _event(self, payload: Record, at_us: int) -> None:
        sort = text(payload, "type")
        if sort == "token_count":
            self._tokens(mapping(payload, "info"), at_us)
        elif sort == "task_started":
            self.state["turn"] = text(payload, "turn_id", 200)
            count(self.facts, "counts", "turns")
        elif sort == "task_complete":
            answer = shown(text(payload, "last_agent_message"))
            self._end(payload, at_us, EventKind.TURN_END, answer=answer)
        elif sort == "turn_aborted":
            count(self.facts, "counts", "aborted_turns")
            self._end(payload, at_us, EventKind.TURN_END, interrupted=True)
        elif sort == "error":
            self._end(payload, at_us, EventKind.TURN_FAILED, error=shown(text(payload, "message")))
        elif sort == "collab_agent_spawn_end" and (child := text(payload, "new_thread_id", 200)):
            listed(self.facts, "subagents", child)
            self.state.setdefault("spawned", {})[text(payload, "call_id", 200)] = {
                "spawned_id": child_session_id(self._who.root_id, child),
                "spawned_agent_id": child,
                "spawned_agent_name": text(payload, "new_agent_role", 200),
                "spawned_title": one_line(shown(text(payload, "prompt")), 200),
                "spawned_prompt": shown(text(payload, "prompt"))[:100_000],
            }

    def _end(self, payload: Record, at_us: int, kind: str, **told: Any) -> None:
        turn_id = text(payload, "turn_id", 200) or self.state.get("turn", "")
        if turn_id:
            body = {name: value for name, value in told.items() if value}
            self._observe(f"end {turn_id}", "turn_end", kind, at_us, body, turn_id=turn_id, **told)

    def _compacted(self, at_us: int) -> None:
        count(self.facts, "counts", "compactions")
        told = {"category": "compaction", "priority": 2, "data": "compacted"}
        self._observe(f"compacted {at_us}", "compact_boundary", EventKind.COMPACT_END, at_us, {}, **told)

    # What it cost.

    def _tokens(self, info: Record, at_us: int) -> None:
        """One model call for each time that the total moved: it is also told when only a limit changed."""
        total = mapping(info, "total_token_usage")
        if not total:
            return
        now = [tokens(total, name) for name in _COUNTS]
        before = self.state.get("total") or [0] * len(_COUNTS)
        before += now[len(before) :]  # what an earlier release of ours did not keep
        if now == before:
            return
        self.state["total"] = now
        restarted = now[0] + now[2] < before[0] + before[2]
        fresh = now if restarted else [new - old for new, old in zip(now, before, strict=True)]
        read = min(max(0, fresh[1]), max(0, fresh[0]))
        usage = Usage(
            input=max(0, fresh[0]) - read,
            output=max(0, fresh[2]),
            cache_read=read,
            thinking=min(max(0, fresh[3]), max(0, fresh[2])),
        )
        self._iterate(usage, at_us)

    def _iterate(self, usage: Usage | None, at_us: int) -> None:
        number = self.state["requests"] = self.state.get("requests", 0) + 1
        own_id = f"{self.state['session']} {number}"
        self._out.iterate(
            IterationSeen(
                identity=digest16(b"iteration", CLIENT.encode(), own_id.encode()),
                session_id=self.session_id,
                root_id=self._who.root_id,
                agent_id=self._who.agent_id,
                at_us=at_us,
                ended_us=at_us,
                turn_id=self.state.get("turn", ""),
                provider=self.state.get("provider", "openai"),
                model=self.state.get("model") or FALLBACK_MODEL,
                thinking=self.state.pop("thinking", ""),
                prose=self.state.pop("prose", ""),
                call_ids=self.state.pop("calls", []),
                usage=usage,
                assumed="" if self.state.get("model") else f"model {FALLBACK_MODEL}",
            )
        )


def _as_now(record: Record) -> tuple[str, Record]:
    """(type, payload) of a record of the first releases, as later ones would tell it."""
    if text(record, "type") in _BARE:
        return "response_item", record
    if "type" not in record and "id" in record:
        return "session_meta", record
    return text(record, "type"), {}


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(text(one, "text") for one in parts if isinstance(one, dict) and "text" in one)


def _failed(said: str) -> bool:
    if found := _EXIT.search(said[:2000]):
        return int(found[1]) != 0
    if said.startswith("{"):
        told = decoded(said)
        code = mapping(told, "metadata").get("exit_code") if isinstance(told, dict) else None
        return isinstance(code, int) and code != 0
    return False
