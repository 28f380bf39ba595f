"""Claude Code's transcripts: a JSON object a line, sessions and their subagents in files of their own."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from contextdash.cleaning import one_line
from contextdash.clock import parse_us
from contextdash.ids import child_session_id, digest16
from sessions_app.importers import claude_plans
from sessions_app.importers.claude_facts import Notes
from sessions_app.importers.claude_records import (
    CHAIN,
    EDITS,
    SPAWNS,
    is_human,
    plain,
    said_in,
    usage_of,
    without_images,
)
from sessions_app.importers.counting import LISTED, count, listed, remember
from sessions_app.importers.gathering import Gatherer, IterationSeen, Whose, shown, touched, whose
from sessions_app.importers.lines import record_of
from sessions_app.ingest import reading
from sessions_app.ingest.reading import Body, mapping, text
from sessions_app.vocabulary import EventKind

CLIENT = "claude-code"
SYNTHETIC = "<synthetic>"
SIDECHAIN = "sidechain"
"""The agent of very old releases' inline subagents, which had no id."""
_COMMAND = re.compile(r"<command-name>\s*(/?[^<\s]+)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)


def is_agent_file(path: PurePath) -> bool:
    return path.stem.startswith("agent-")


def beside(path: Path) -> Mapping[str, Any]:
    """What stands beside a subagent's file about it."""
    other = path.with_name(f"{path.stem}.meta.json")
    if not is_agent_file(path) or not other.is_file():
        return {}
    try:
        return record_of(other.read_bytes()[:100_000]) or {}
    except OSError:
        return {}


class Reader:
    """Reads the records of one file. ``state`` and ``facts`` are plain JSON, for a later run."""

    def __init__(
        self, gatherer: Gatherer, path: PurePath, meta: Body, state: dict[str, Any], facts: dict[str, Any]
    ) -> None:
        self._out = gatherer
        self._meta = meta
        self.state = state
        self.facts = facts
        self._notes = Notes(facts, state)
        self._who: dict[str, Whose] = {}
        self._agent_id = path.stem.removeprefix("agent-") if is_agent_file(path) else ""
        self._file_session = "" if self._agent_id else path.stem
        if self._agent_id and path.parent.name == "subagents":
            self._file_session = path.parent.parent.name
        self.between_calls = True
        """Whether the last record was no piece of a model call: a good place to store what there is."""
        self.facts.setdefault("kind", "subagent" if self._agent_id else "session")

    @property
    def session_id(self) -> str:
        """The session that this file tells of."""
        return whose(self._file_session, self._agent_id).session_id if self._file_session else ""

    @property
    def title(self) -> tuple[str, str]:
        """The title that the file gives its session, and where from; empty where the prompt gives it."""
        return self._notes.title

    def count(self, record: Body) -> None:
        """Count a record that is not read: it was there before."""
        count(self.facts, "record_types", text(record, "type", 60) or "none")

    def finish(self) -> None:
        self._notes.finish()

    def read(self, record: Body) -> None:
        self.count(record)
        sort = text(record, "type")
        self.between_calls = sort != "assistant"
        if not self._file_session:
            self._file_session = text(record, "sessionId")  # an agent's file of the old layout
        if sort in CHAIN:
            self._chain(record, sort)
        else:
            self._notes.metadata(record, sort)

    def _chain(self, record: Body, sort: str) -> None:
        at_us = parse_us(record.get("timestamp"))
        at_us = self.state.get("last_us", self._out.delivery.received_us) if at_us is None else at_us
        self.state["last_us"] = at_us
        self._notes.note(record, at_us)
        if not self._file_session:
            return
        self._out.on_branch(text(record, "gitBranch"))
        who = self._whose(record)
        if sort == "user":
            self._user(record, who, at_us)
        elif sort == "assistant":
            self._assistant(record, who, at_us)
        elif sort == "system":
            self._system(record, who, at_us)
        elif sort == "attachment":
            self._attachment(record, who, at_us)

    def _whose(self, record: Body) -> Whose:
        agent_id = self._agent_id or (SIDECHAIN if record.get("isSidechain") is True else "")
        who = self._who.get(agent_id)
        if who is None:
            agent_name = text(self._meta, "agentType", 200) if agent_id else ""
            who = self._who[agent_id] = whose(self._file_session, agent_id, agent_name)
        return who

    # What a person or a tool said.

    def _user(self, record: Body, who: Whose, at_us: int) -> None:
        content = mapping(record, "message").get("content")
        blocks = content if isinstance(content, list) else []
        results = [one for one in blocks if isinstance(one, dict) and one.get("type") == "tool_result"]
        for result in results:
            self._result(record, result, who, at_us, alone=len(results) == 1)
        if results or record.get("isMeta") is True or record.get("isCompactSummary") is True:
            return
        said = said_in(content)
        turn_id = text(record, "promptId", 200) or text(record, "uuid", 200)
        if said.startswith("[Request interrupted"):
            self._end(record, who, at_us, EventKind.TURN_END, interrupted=True)
        elif found := _COMMAND.search(said[:2000]):
            self._command(record, who, at_us, found[1], said)
        elif is_human(record, said) or who.agent_id:
            self._prompt(record, who, at_us, turn_id, said)

    def _prompt(
        self, record: Body, who: Whose, at_us: int, turn_id: str, said: str, *, queued: bool = False
    ) -> None:
        if not queued:
            self._rewind(record, turn_id)
            self._set_turn(who, turn_id)
        self.state.pop("command", None)
        told: dict[str, Any] = {}
        if who.agent_id and (title := text(self._meta, "description")):
            told["title"] = one_line(shown(title), 200)
        prompt = shown(said)
        self._out.observe(
            who,
            text(record, "uuid") or turn_id,
            name="user",
            kind=EventKind.PROMPT,
            at_us=at_us,
            body={"prompt": said},
            turn_id=turn_id,
            prompt=prompt,
            cwd=text(record, "cwd"),
            permission_mode=text(record, "permissionMode", 40),
            queued=queued,
            **told,
        )

    def _rewind(self, record: Body, turn_id: str) -> None:
        """Two prompts with one parent: the conversation was wound back before the second."""
        parent = text(record, "parentUuid")
        if not parent:
            return
        parents = self.state.setdefault("prompt_parents", {})
        if parent in parents:
            listed(self.facts, "rewound_turns", parents[parent])
        parents[parent] = turn_id
        while len(parents) > LISTED:
            del parents[next(iter(parents))]

    def _command(self, record: Body, who: Whose, at_us: int, name: str, said: str) -> None:
        """A slash command: a prompt only where the model answers it and it has a turn of its own."""
        name = name if name.startswith("/") else f"/{name}"
        self._notes.command(name)
        turn_id = text(record, "promptId", 200)
        if turn_id and turn_id != self._turn(who):
            arguments = _ARGUMENTS.search(said)
            self.state["command"] = {
                "turn": turn_id,
                "uuid": text(record, "uuid"),
                "at_us": at_us,
                "cwd": text(record, "cwd"),
                "said": f"{name} {arguments[1].strip()}".strip()[:8000] if arguments else name,
            }

    def _answered_command(self, who: Whose) -> None:
        command = self.state.pop("command", None)
        if command is not None:
            record = {"uuid": command["uuid"], "cwd": command["cwd"]}
            self._prompt(record, who, command["at_us"], command["turn"], command["said"])

    def _result(self, record: Body, block: Body, who: Whose, at_us: int, *, alone: bool) -> None:
        call_id = text(block, "tool_use_id", 200)
        if not call_id:
            return
        content = block.get("content")
        rich = record.get("toolUseResult") if alone else None
        response = without_images(content if rich is None or isinstance(rich, str) else rich)
        denial = text(record, "toolDenialKind")
        told: dict[str, Any] = {}
        kind: str = EventKind.TOOL_END
        if denial == "interrupted":
            kind, told["interrupted"], told["error"] = EventKind.TOOL_FAILED, True, denial
        elif denial:
            kind, told["error"] = EventKind.TOOL_DENIED, shown(plain(content))[:4000] or denial
        elif block.get("is_error") is True:
            kind, told["error"] = EventKind.TOOL_FAILED, shown(plain(content))[:4000] or "failed"
        elif isinstance(rich, dict):
            told |= self._spawned(call_id, rich, who)
            told["plans"] = claude_plans.answered(self.state, call_id, rich, who.root_id)
            if self.state.get("edits", {}).pop(call_id, None):
                listed(self.facts, "files_touched", shown(text(rich, "filePath", 4096)))
        body = {"tool_use_id": call_id, "tool_response": response}
        self._out.observe(
            who,
            f"result {call_id} {at_us}",
            name="tool_result",
            kind=kind,
            at_us=at_us,
            body=body,
            call_id=call_id,
            turn_id=text(record, "promptId", 200) or self._turn(who),
            tool="unknown",
            output_size=reading.size(body, "tool_response"),
            cwd=text(record, "cwd"),
            **told,
        )

    def _spawned(self, call_id: str, rich: Body, who: Whose) -> dict[str, Any]:
        asked = self.state.setdefault("spawns", {}).pop(call_id, None)
        agent_id = text(rich, "agentId", 200)
        if not agent_id or asked is None:
            return {}
        listed(self.facts, "subagents", agent_id)
        return {
            "spawned_id": child_session_id(who.root_id, agent_id),
            "spawned_agent_id": agent_id,
            "spawned_agent_name": asked["name"] or text(rich, "agentType", 200),
            "spawned_title": asked["title"],
            "spawned_prompt": asked["prompt"],
            "spawned_model": text(rich, "resolvedModel", 200),
        }

    # What the model said.

    def _assistant(self, record: Body, who: Whose, at_us: int) -> None:
        message = mapping(record, "message")
        content = message.get("content")
        model = text(message, "model", 200)
        if record.get("isApiErrorMessage") is True:
            count(self.facts, "counts", "api_errors")
            self._end(record, who, at_us, EventKind.TURN_FAILED, error=shown(plain(content)))
        if model == SYNTHETIC:
            count(self.facts, "counts", "synthetic")
            count(self.facts, "counts", "assistant_records")
            return
        count(self.facts, "counts", "assistant_records")
        self._answered_command(who)
        seen = self._iteration(record, message, who, at_us, model)
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict):
                self._block(record, block, who, at_us, seen)
        if isinstance(content, str):
            seen.prose = shown(content)
        self._out.iterate(seen)
        if seen.prose and seen.stop_reason in ("end_turn", "stop_sequence", "max_tokens", "refusal"):
            self._end(record, who, at_us, EventKind.TURN_END, answer=seen.prose)

    def _iteration(self, record: Body, message: Body, who: Whose, at_us: int, model: str) -> IterationSeen:
        response_id = text(message, "id", 200)
        request_id = text(record, "requestId", 200)
        own_id = response_id or request_id or text(record, "uuid", 200)
        usage, assumed, speed = usage_of(message.get("usage"))
        return IterationSeen(
            identity=digest16(b"iteration", CLIENT.encode(), own_id.encode()),
            session_id=who.session_id,
            root_id=who.root_id,
            agent_id=who.agent_id,
            at_us=at_us,
            ended_us=at_us,
            turn_id=self._turn(who),
            response_id=response_id,
            request_id=request_id,
            provider="anthropic",
            model=model,
            speed=speed,
            stop_reason=text(message, "stop_reason", 60),
            usage=usage,
            assumed=assumed,
        )

    def _block(self, record: Body, block: Body, who: Whose, at_us: int, seen: IterationSeen) -> None:
        sort = block.get("type")
        if sort == "text":
            seen.prose += shown(text(block, "text"))
        elif sort == "thinking":
            seen.thinking += shown(text(block, "thinking"))
        elif sort == "tool_use" and (call_id := text(block, "id", 200)):
            seen.call_ids.append(call_id)
            self._call(record, block, call_id, who, at_us)

    def _call(self, record: Body, block: Body, call_id: str, who: Whose, at_us: int) -> None:
        name = text(block, "name", 200) or "unknown"
        body = {"tool_name": name, "tool_use_id": call_id, "tool_input": block.get("input")}
        asked = mapping(block, "input")
        if name in SPAWNS:
            remember(
                self.state,
                "spawns",
                call_id,
                {
                    "name": text(asked, "subagent_type", 200),
                    "title": one_line(shown(text(asked, "description") or text(asked, "prompt")), 200),
                    "prompt": shown(text(asked, "prompt"))[:100_000],
                },
            )
        elif name in EDITS:
            remember(self.state, "edits", call_id, 1)
        self._out.observe(
            who,
            f"call {call_id} {at_us}",
            name="tool_use",
            kind=EventKind.TOOL_START,
            at_us=at_us,
            body=body,
            call_id=call_id,
            turn_id=self._turn(who),
            tool=name,
            summary=shown(reading.summary(block.get("input"))),
            files=touched(name, block.get("input")),
            plans=claude_plans.asked(self.state, call_id, name, asked, who.root_id),
            input_size=reading.size(body, "tool_input"),
            cwd=text(record, "cwd"),
        )

    def _end(self, record: Body, who: Whose, at_us: int, kind: str, **told: Any) -> None:
        turn_id = text(record, "promptId", 200) or self._turn(who)
        if turn_id:
            body = {name: value for name, value in told.items() if value}
            own_id = f"end {text(record, 'uuid') or at_us}"
            self._out.observe(
                who, own_id, name="turn_end", kind=kind, at_us=at_us, body=body, turn_id=turn_id, **told
            )

    # What the program noted.

    def _system(self, record: Body, who: Whose, at_us: int) -> None:
        subtype = text(record, "subtype")
        if subtype == "api_error":
            count(self.facts, "counts", "api_retries")
        elif subtype == "compact_boundary":
            told = mapping(record, "compactMetadata")
            trigger, before, after = (text(told, key) for key in ("trigger", "preTokens", "postTokens"))
            self._notes.compaction(trigger, told)
            self._out.observe(
                who,
                text(record, "uuid") or f"compaction {at_us}",
                name="compact_boundary",
                kind=EventKind.COMPACT_END,
                at_us=at_us,
                body=told,
                category="compaction",
                priority=2,
                data=one_line(f"{trigger}: {before} to {after} tokens" if before else trigger, 300),
            )

    def _attachment(self, record: Body, who: Whose, at_us: int) -> None:
        attached = mapping(record, "attachment")
        if attached.get("type") == "queued_command" and attached.get("commandMode") == "prompt":
            said = said_in(attached.get("prompt"))
            if said:
                self._prompt(record, who, at_us, text(record, "uuid", 200), said, queued=True)

    def _turn(self, who: Whose) -> str:
        turns: dict[str, str] = self.state.get("turns", {})
        return turns.get(who.agent_id, "")

    def _set_turn(self, who: Whose, turn_id: str) -> None:
        self.state.setdefault("turns", {})[who.agent_id] = turn_id
