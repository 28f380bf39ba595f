"""Gemini CLI's chats: a message a line, told again when it changed; wound back and replaced as a whole.

Older releases wrote one JSON document (``documents.py``), whose messages are the same.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from contextdash.cleaning import clean, one_line
from contextdash.clock import parse_us
from contextdash.ids import child_session_id, digest16
from sessions_app.importers.counting import LISTED, count, listed, tokens
from sessions_app.importers.gathering import Gatherer, IterationSeen, Whose, shown, touched, whose
from sessions_app.ingest import gemini as hooks
from sessions_app.ingest import reading
from sessions_app.ingest.reading import Body, mapping, text
from sessions_app.pricing import Usage
from sessions_app.vocabulary import EventKind

CLIENT = "gemini"
TYPES = frozenset({"user", "gemini", "info", "warning", "error"})
CONTEXT = "<session_context>"
"""What the program itself says first, as if the user had."""
REMEMBERED = 2000
"""How many messages of a conversation are remembered, for a rewind to one of them."""
_ENDED = frozenset({"success", "error", "cancelled"})
_AGENT_NUMBER = re.compile(r"[-_][0-9a-z]*\d[0-9a-z]*$")


def beside(path: Path) -> Mapping[str, Any]:
    """The project's folder, which a file beside the chats names, or one of a project with the same digest."""
    folder = path.parent if path.parent.name == "chats" else path.parent.parent
    if folder.name != "chats":
        return {}
    project = folder.parent
    if root := _root(project):
        return {"root": root}
    if re.fullmatch(r"[0-9a-f]{64}", project.name):
        for other in sorted(project.parent.iterdir())[:LISTED]:
            root = _root(other)
            if root and hashlib.sha256(root.encode()).hexdigest() == project.name:
                return {"root": root}
    return {}


def _root(project: Path) -> str:
    try:
        with (project / ".project_root").open("rb") as file:
            return clean(file.read(4096).decode("utf-8", "replace")).strip()
    except OSError:
        return ""


class Reader:
    """Reads the records of one file. ``state`` and ``facts`` are plain JSON, for a later run."""

    def __init__(
        self, gatherer: Gatherer, path: PurePath, near: Body, state: dict[str, Any], facts: dict[str, Any]
    ) -> None:
        self._out = gatherer
        self.state = state
        self.facts = facts
        self._stem = path.stem
        self._parent = path.parent.name if path.parent.parent.name == "chats" else ""
        self.between_calls = True
        state.setdefault("cwd", text(near, "root"))
        state.setdefault("order", {})
        facts.setdefault("kind", "subagent" if self._parent else "session")
        if state["cwd"]:
            facts["project_root"] = state["cwd"]

    @property
    def session_id(self) -> str:
        return self._who.session_id

    @property
    def title(self) -> tuple[str, str]:
        summary = self.facts.get("summary", "")
        return (summary, "summary") if summary else ("", "")

    def count(self, record: Body) -> None:
        """Count a record by its type."""
        sort = text(record, "type", 60) or next((key for key in record if key.startswith("$")), "metadata")
        count(self.facts, "record_types", sort[:60])

    def read(self, record: Body) -> None:
        self.count(record)
        if isinstance(changed := record.get("$set"), dict):
            self._metadata(changed)
        elif "$rewindTo" in record:
            self._rewind(text(record, "$rewindTo", 200))
        elif text(record, "type") in TYPES:
            self._message(record)
        elif "sessionId" in record:
            self._metadata(record)

    def finish(self) -> None:
        """The last answer ends its turn, until more of it comes."""
        self._end_turn()
        kinds = Counter(self.state["order"].values())
        kinds["user"] += kinds["prompt"]
        self.facts["surviving"] = {"messages": len(self.state["order"]), **kinds}

    # What the file is of.

    @property
    def _own_id(self) -> str:
        own: str = self.state.get("session") or self._stem
        return own

    @property
    def _who(self) -> Whose:
        return (
            whose(self._parent, self._own_id, agent_of(self._own_id)) if self._parent else whose(self._own_id)
        )

    def _metadata(self, told: Body) -> None:
        if own_id := text(told, "sessionId"):
            self.state.setdefault("session", own_id)
        for key in ("startTime", "lastUpdated"):
            if (at_us := parse_us(told.get(key))) is not None:
                self._note(at_us)
        folders = told.get("directories")
        if isinstance(folders, list) and folders and isinstance(folders[0], str) and not self.state["cwd"]:
            self.state["cwd"] = folders[0]
        if own_id and "begun" not in self.state:
            at_us = self.facts.get("first_us", self._out.delivery.received_us)
            self.state["begun"] = True
            self._observe("start", "metadata", EventKind.SESSION_START, at_us, {}, turn_id="")
        if "summary" in told:
            self.facts["summary"] = one_line(shown(text(told, "summary")), 200)
        messages = told.get("messages")
        if isinstance(messages, list) and messages:
            self._checkpoint([one for one in messages if isinstance(one, dict)])

    def _checkpoint(self, messages: list[Body]) -> None:
        """The whole conversation as it is now: what is not in it was wound back or compacted away."""
        kept = {text(one, "id", 200) for one in messages}
        self._drop([one for one in self.state["order"] if one not in kept])
        for message in messages:
            self._message(message)
        order = self.state["order"]
        self.state["order"] = {
            one: order[one] for message in messages if (one := text(message, "id", 200)) in order
        }

    def _rewind(self, to: str) -> None:
        """Drop a message and all after it; one that is not known drops all."""
        order = list(self.state["order"])
        self._end_turn()
        self._drop(order[order.index(to) :] if to in order else order)

    def _drop(self, ids: list[str]) -> None:
        for one in ids:
            if self.state["order"].pop(one, "") == "prompt":
                listed(self.facts, "rewound_turns", one)

    def _note(self, at_us: int) -> None:
        self.facts["first_us"] = min(self.facts.get("first_us", at_us), at_us)
        self.facts["last_us"] = max(self.facts.get("last_us", at_us), at_us)

    # What was said and done.

    def _message(self, message: Body) -> None:
        own_id, sort = text(message, "id", 200), text(message, "type")
        at_us = parse_us(message.get("timestamp"))
        at_us = self.state.get("last_us", self._out.delivery.received_us) if at_us is None else at_us
        own_id = own_id or f"{sort} {at_us}"
        self.state["last_us"] = at_us
        self._note(at_us)
        fresh = own_id not in self.state["order"]
        if fresh:
            count(self.facts, "counts", sort)
        self._place(own_id, sort)
        if sort == "user":
            self._user(message, own_id, at_us, fresh=fresh)
        elif sort == "gemini":
            self._answer(message, own_id, at_us)
        elif sort == "error":
            self._failure(message, own_id, at_us)

    def _place(self, own_id: str, sort: str) -> None:
        order: dict[str, str] = self.state["order"]
        order.setdefault(own_id, sort)
        while len(order) > REMEMBERED:
            del order[next(iter(order))]

    def _observe(self, own_id: str, name: str, kind: str, at_us: int, body: Any, **told: Any) -> None:
        turn_id = told.pop("turn_id", self.state.get("turn", ""))
        self._out.observe(
            self._who,
            f"{self._own_id} {own_id}",
            name=name,
            kind=kind,
            at_us=at_us,
            body=body,
            turn_id=turn_id,
            cwd=self.state["cwd"],
            **told,
        )

    def _user(self, message: Body, own_id: str, at_us: int, *, fresh: bool) -> None:
        said = plain(message.get("displayContent")) or plain(message.get("content"))
        if not said.strip() or said.startswith(CONTEXT):
            return  # a tool's answer, or the program's own words
        if said.lstrip().startswith("/"):
            commands = self.facts.setdefault("slash_commands", [])
            if fresh and len(commands) < LISTED:
                commands.append(one_line(said.split()[0], 200))
            return
        if fresh:
            self._end_turn()
        self.state["turn"] = own_id
        self.state["order"][own_id] = "prompt"
        self._observe(
            own_id, "user", EventKind.PROMPT, at_us, {"prompt": said}, prompt=shown(said), turn_id=own_id
        )

    def _answer(self, message: Body, own_id: str, at_us: int) -> None:
        model = text(message, "model", 200)
        listed(self.facts, "models", model)
        prose = shown(plain(message.get("content")))
        made = message.get("toolCalls")
        calls = [one for one in made if isinstance(one, dict)] if isinstance(made, list) else []
        ids = [text(one, "id", 200) or f"{own_id} {place}" for place, one in enumerate(calls)]
        for call_id, call in zip(ids, calls, strict=True):
            self._call(call, call_id, at_us)
        self._out.iterate(
            IterationSeen(
                identity=digest16(b"iteration", CLIENT.encode(), f"{self._own_id} {own_id}".encode()),
                session_id=self.session_id,
                root_id=self._who.root_id,
                agent_id=self._who.agent_id,
                at_us=at_us,
                ended_us=at_us,
                turn_id=self.state.get("turn", ""),
                response_id=own_id,
                provider="google",
                model=model,
                thinking=shown("\n\n".join(_thoughts(message.get("thoughts")))),
                prose=prose,
                call_ids=ids,
                usage=usage_of(message.get("tokens")),
                whole=True,
            )
        )
        if calls:
            self.state.pop("answer", None)
        elif prose:
            self.state["answer"] = [own_id, at_us, prose[:200_000]]

    def _call(self, call: Body, call_id: str, at_us: int) -> None:
        name, asked, status = text(call, "name", 200) or "unknown", call.get("args"), text(call, "status")
        ended_us = parse_us(call.get("timestamp"))
        ended_us = at_us if ended_us is None else ended_us
        body = {"tool_name": name, "tool_use_id": call_id, "tool_input": asked}
        told: dict[str, Any] = {
            "call_id": call_id,
            "tool": name,
            "summary": shown(reading.summary(asked)),
            "files": touched(name, asked),
            "input_size": reading.size(body, "tool_input"),
        }
        self._observe(
            f"call {call_id}", "tool_call", EventKind.TOOL_START, min(at_us, ended_us), body, **told
        )
        if status not in _ENDED:
            return
        kind: str = EventKind.TOOL_END
        response = [mapping(one, "functionResponse").get("response") for one in _parts(call.get("result"))]
        display = call.get("resultDisplay")
        failure = hooks.failure_in(display) if isinstance(display, str) else ""
        if status == "cancelled":
            kind, told["interrupted"], told["error"] = EventKind.TOOL_FAILED, True, "cancelled"
        elif status == "error" or failure:
            said = failure or _error(response) or (display if isinstance(display, str) else "")
            kind, told["error"] = EventKind.TOOL_FAILED, shown(said)[:4000] or "failed"
        elif name == "write_file":
            told["plans"] = reading.written_plans(
                text(mapping(call, "args"), "file_path"), text(mapping(call, "args"), "content")
            )
        if agent_id := text(call, "agentId", 200):
            told |= self._spawned(agent_id, asked)
        body = {"tool_use_id": call_id, "tool_response": response if len(response) != 1 else response[0]}
        told["output_size"] = reading.size(body, "tool_response")
        self._observe(f"result {call_id}", "tool_result", kind, ended_us, body, **told)

    def _spawned(self, agent_id: str, asked: Any) -> dict[str, Any]:
        listed(self.facts, "subagents", agent_id)
        said = shown(text(asked, "objective") or reading.summary(asked)) if isinstance(asked, dict) else ""
        return {
            "spawned_id": child_session_id(self._who.root_id, agent_id),
            "spawned_agent_id": agent_id,
            "spawned_agent_name": agent_of(agent_id),
            "spawned_title": one_line(said, 200),
            "spawned_prompt": said[:100_000],
        }

    def _failure(self, message: Body, own_id: str, at_us: int) -> None:
        error = shown(plain(message.get("content")))
        self._observe(f"error {own_id}", "error", EventKind.TURN_FAILED, at_us, {"error": error}, error=error)

    def _end_turn(self) -> None:
        answer = self.state.pop("answer", None)
        if answer is not None and self.state.get("turn"):
            own_id, at_us, said = answer
            self._observe(
                f"end {own_id}", "turn_end", EventKind.TURN_END, at_us, {"answer": said}, answer=said
            )


def agent_of(agent_id: str) -> str:
    """The agent's name: its id without the number at the end."""
    return _AGENT_NUMBER.sub("", agent_id) or agent_id


def plain(content: object) -> str:
    """The text of a message or of its parts."""
    if isinstance(content, str):
        return content
    return "\n".join(text(one, "text") for one in _parts(content) if "text" in one)


def usage_of(told: object) -> Usage | None:
    """A prompt's tokens include those from the cache; an answer's do not include the thoughts."""
    if not isinstance(told, dict):
        return None
    whole, cached = tokens(told, "input"), tokens(told, "cached")
    return Usage(
        input=max(0, whole - cached),
        output=tokens(told, "output") + tokens(told, "thoughts"),
        cache_read=cached,
        tool=tokens(told, "tool"),
        thinking=tokens(told, "thoughts"),
    )


def _thoughts(told: object) -> Iterator[str]:
    for one in _parts(told):
        subject, description = text(one, "subject"), text(one, "description")
        yield f"{subject}: {description}" if subject and description else subject or description


def _parts(value: object) -> list[Body]:
    if isinstance(value, dict):
        return [value]
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _error(response: list[Any]) -> str:
    return next((text(one, "error") for one in response if isinstance(one, dict) and text(one, "error")), "")
