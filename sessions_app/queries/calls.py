"""One tool call as people read it: its input and output out of the ledger, each part in its own form."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from contextdash.cleaning import cut_bytes
from contextdash.errors import NotFound
from contextdash.limits import KIB
from sessions_app.models import Event, Session, ToolCall
from sessions_app.queries.changes import diff_of, patch_of, path_of
from sessions_app.queries.kept import erased_words, erasure_of
from sessions_app.queries.payloads import body_of, error_of, input_of, output_of, payload_of
from sessions_app.queries.session import Family
from sessions_app.queries.tool_operations import doubts
from sessions_app.vocabulary import Activity

PART_BYTES = 64 * KIB
"""How much of one input or output a page shows; "show all" fetches the rest of that one part."""

SHELLS = {"bash", "shell", "run_shell_command", "exec_command", "local_shell", "powershell"}
WRITERS = {
    *("edit", "multiedit", "write", "notebookedit", "edit_notebook", "edit_file", "str_replace_editor"),
    *("replace", "write_file", "create", "create_file", "str_replace", "search_replace"),
    *("apply_patch", "patch"),
}
READERS = {"read", "read_file", "notebookread", "view", "read_text_file"}
DELEGATES = {"agent", "task", "spawn_agent"}

_CONTENT = ("content", "contents", "file_text", "new_source")

type Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """One block of a call's detail."""

    slug: str
    """Its name in the address that fetches the whole of it."""
    title: str
    form: str
    """How it is drawn: terminal, diff, code, markdown or json."""
    text: str
    """Perhaps cut; ``size`` is the whole's, in bytes."""
    size: int
    language: str = ""

    @property
    def cut(self) -> bool:
        return len(self.text.encode("utf-8", "replace")) < self.size


@dataclass(frozen=True, slots=True)
class CallDetail:
    call: ToolCall
    parts: Sequence[Part]
    error: str
    purged: bool
    """The events that held input or output have been erased."""
    ordinals: Sequence[int]
    erased: str = ""
    """When and by whom, as the end of a sentence; empty where that is not known."""
    doubt: str = ""
    """What a ledger leaves open about it."""


def call_detail(family: Family, key: int) -> CallDetail:
    """A call of a session or of one of its subagents, parts cut at PART_BYTES.

    Raises:
        NotFound: no such call here.
    """
    call, events = _call_and_events(family, key)
    parts, error = _parts(call, events)
    wanted = {call.call_event_id, call.result_event_id} - {None}
    purged = bool(wanted - set(events))
    return CallDetail(
        call=call,
        parts=[_cut(part) for part in parts],
        error=error or call.error,
        purged=purged,
        ordinals=sorted(event.ordinal for event in events.values()),
        erased=_erased(family.by_key()[call.session_id], call) if purged else "",
        doubt=doubts(call, live=family.by_key()[call.session_id].activity == Activity.WORKING),
    )


def _erased(session: Session, call: ToolCall) -> str:
    purge = erasure_of(session, call.started_us)
    return "" if purge is None else erased_words(purge)


def call_part(family: Family, key: int, slug: str) -> Part:
    """One part of a call, whole.

    Raises:
        NotFound: no such part.
    """
    call, events = _call_and_events(family, key)
    for part in _parts(call, events)[0]:
        if part.slug == slug:
            return part
    raise NotFound("There is no such part of this call; its events may have been purged.")


def event_of(session: Session, ordinal: int) -> Event:
    """One entry of a session's ledger.

    Raises:
        NotFound: there is none of that number.
    """
    found = Event.objects.filter(session=session, ordinal=ordinal).first()
    if found is None:
        raise NotFound("There is no such entry in this session's ledger.")
    return found


def event_part(event: Event) -> Part:
    """An event's body as indented JSON, whole."""
    body = payload_of(event)
    if body is None:
        return _part("payload", "Payload", "code", "It cannot be read.")
    return _part("payload", "Payload", "json", _pretty(body), "json")


def shown(part: Part) -> Part:
    """The part as a page shows it, cut at PART_BYTES."""
    return _cut(part)


def _call_and_events(family: Family, key: int) -> tuple[ToolCall, dict[int, Event]]:
    call = ToolCall.objects.filter(session__in=family.keys, key=key).select_related("child").first()
    if call is None:
        raise NotFound("There is no such call in this session.")
    wanted = [event for event in (call.call_event_id, call.result_event_id) if event is not None]
    return call, Event.objects.in_bulk(wanted)


def _parts(call: ToolCall, events: Mapping[int, Event]) -> tuple[list[Part], str]:
    before = body_of(events.get(call.call_event_id or 0))
    after = body_of(events.get(call.result_event_id or 0))
    given = input_of(before)
    if given is None:
        given = input_of(after)
    got = output_of(after)
    error = error_of(after)
    if error is None and call.state == "denied":
        error = after.get("reason")
    out = _output_parts(call.name, given, got)
    # What was read says itself where it came from.
    told = bool(out) and tool_word(call.name) in READERS
    parts = out if told else _input_parts(call.name, given, got) + out
    return parts, error if isinstance(error, str) else ("" if error is None else _pretty(error))


def _input_parts(name: str, given: Any, got: Any) -> list[Part]:
    if given is None:
        return []
    tool = tool_word(name)
    if tool in SHELLS | WRITERS and patch_of(given):
        return [_part("change", "Patch", "diff", diff_of(given, got))]
    if not isinstance(given, dict):
        return [_free("input", "Input", given)]
    if tool in SHELLS:
        command = given.get("command", given.get("cmd"))
        if isinstance(command, list):
            command = " ".join(str(word) for word in command)
        if isinstance(command, str):
            return [_part("input", "Command", "code", command, "bash")]
    if tool in DELEGATES and isinstance(given.get("prompt"), str):
        return [_part("input", "Task", "markdown", given["prompt"])]
    if tool in WRITERS:
        change = _change(given, got)
        if change is not None:
            return [change]
    return [_part("input", "Input", "json", _pretty(given), "json")]


def _output_parts(name: str, given: Any, got: Any) -> list[Part]:
    if got is None:
        return []
    tool = tool_word(name)
    if isinstance(got, dict):
        if "stdout" in got or "stderr" in got:
            return _streams(got)
        file = got.get("file")
        if tool in READERS and isinstance(file, dict) and isinstance(file.get("content"), str):
            path = file.get("filePath")
            return [_part("output", str(path), "code", file["content"], _language(path))]
        if tool in WRITERS and _change(given, got) is not None:
            return []  # the diff has told it
        texts = _texts(got.get("content"))
        if texts:
            return [_part("output", "Answer", "markdown" if tool in DELEGATES else "terminal", texts)]
    if tool in READERS and isinstance(got, str) and isinstance(given, dict):
        path = path_of(given, {})
        return [_part("output", str(path), "code", got, _language(path))]
    return [_free("output", "Output", got)]


def _streams(got: Body) -> list[Part]:
    parts = [
        _part(slug, title, "terminal", got[slug])
        for slug, title in (("stdout", "Output"), ("stderr", "Error output"))
        if isinstance(got.get(slug), str) and got[slug]
    ]
    return parts or [_part("stdout", "Output", "terminal", "")]


def _change(given: Any, got: Any) -> Part | None:
    """What an edit changed: as a diff, or the whole of a file that was written."""
    asked = given if isinstance(given, dict) else {}
    answer = got if isinstance(got, dict) else {}
    path = path_of(asked, answer)
    made = diff_of(given, got)
    if made:
        return _part("change", path, "diff", made)
    content = next(
        (body[key] for body in (asked, answer) for key in _CONTENT if isinstance(body.get(key), str)), None
    )
    return None if content is None else _part("change", path, "code", content, _language(path))


def _texts(content: Any) -> str:
    """The texts of a list of content blocks, as MCP and Claude answer; empty when there are none."""
    blocks = content if isinstance(content, list) else []
    found = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n\n".join(text for text in found if isinstance(text, str))


def tool_word(name: str) -> str:
    """A tool's name without the server that offers it."""
    return name.rpartition("__")[2].lower()


def _free(slug: str, title: str, value: Any) -> Part:
    if isinstance(value, str):
        return _part(slug, title, "terminal", value)
    texts = _texts(value)
    if texts:
        return _part(slug, title, "terminal", texts)
    return _part(slug, title, "json", _pretty(value), "json")


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _language(path: Any) -> str:
    """The ending of a file's name, which the highlighter knows a language by."""
    return PurePosixPath(path).name if isinstance(path, str) else ""


def _part(slug: str, title: str, form: str, text: str, language: str = "") -> Part:
    return Part(slug, title, form, text, len(text.encode("utf-8", "replace")), language)


def _cut(part: Part) -> Part:
    kept = cut_bytes(part.text, PART_BYTES)
    return Part(part.slug, part.title, part.form, kept, part.size, part.language)
