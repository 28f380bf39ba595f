"""What a call changed in files, as unified diffs: the client's own hunks, a patch, or old and new text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any

from contextdash.limits import KIB

type Body = Mapping[str, Any]

COMPARED_CHARS = 256 * KIB
"""Longer texts are told as removed and added whole: comparing two megabytes would take minutes."""

_PATCH_KEYS = ("patch", "patchText", "input", "command", "cmd")
_OLD = ("old_string", "oldString", "old_str")
_NEW = ("new_string", "newString", "new_str", "insert_text")
_FILE = re.compile(r"\*\*\* (Add File|Update File|Delete File): (.+)")


def path_of(given: Body, answer: Body) -> str:
    for body in (answer, given):
        for key in ("filePath", "file_path", "path", "notebook_path", "absolute_path", "target_file"):
            if isinstance(body.get(key), str) and body[key]:
                return str(body[key])
    return ""


def diff_of(given: Any, got: Any) -> str:
    """The diff of a call that changes files; empty where it tells none."""
    asked, answer = _mapping(given), _mapping(got)
    path = path_of(asked, answer)
    hunks = answer.get("structuredPatch")
    if isinstance(hunks, list) and hunks:
        return _from_hunks(path, hunks)
    patch = patch_of(given)
    if patch:
        return _from_patch(patch)
    edits = asked.get("edits")
    pairs = edits if isinstance(edits, list) else [asked]
    return "".join(_diff(path, pair) for pair in pairs if isinstance(pair, dict))


def patch_of(given: Any) -> str:
    """The patch in a call's input, wherever the client puts it."""
    values = [given] if isinstance(given, str) else [_mapping(given).get(key) for key in _PATCH_KEYS]
    texts = [part for value in values for part in (value if isinstance(value, list) else [value])]
    for text in texts:
        if isinstance(text, str) and ("*** Begin Patch" in text or text.startswith(("--- ", "diff --git "))):
            return text
    return ""


def _from_patch(patch: str) -> str:
    """As a unified diff; a patch of the form ``*** Begin Patch`` names files and no lines."""
    _, begins, rest = patch.partition("*** Begin Patch")
    return (
        "".join(f"{line}\n" for line in _patch_lines(rest.partition("*** End Patch")[0])) if begins else patch
    )


def _patch_lines(patch: str) -> Iterator[str]:
    for line in patch.strip("\n").split("\n"):
        if found := _FILE.match(line):
            yield f"--- {found[2]}"
            yield f"+++ {found[2]}"
            if found[1] == "Delete File":
                yield "\\ deleted"
        elif line.startswith("*** Move to: "):
            yield f"\\ moved to {line[13:]}"
        elif line.startswith("@@"):
            yield f"\\ {line[2:].strip()}"
        elif not line.startswith("*** "):
            yield line


def _from_hunks(path: str, hunks: Sequence[Any]) -> str:
    lines = [f"--- {path}", f"+++ {path}"]
    for hunk in hunks:
        if not isinstance(hunk, dict) or not isinstance(hunk.get("lines"), list):
            continue
        old = f"-{_whole(hunk.get('oldStart'))},{_whole(hunk.get('oldLines'))}"
        new = f"+{_whole(hunk.get('newStart'))},{_whole(hunk.get('newLines'))}"
        lines.append(f"@@ {old} {new} @@")
        lines += [str(line) for line in hunk["lines"]]
    return "\n".join(lines) + "\n"


def _diff(path: str, pair: Body) -> str:
    old, new = _text(pair, _OLD), _text(pair, _NEW)
    if old is None and new is None:
        return ""
    old, new = old or "", new or ""
    if len(old) + len(new) > COMPARED_CHARS:
        lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
        return "\n".join([f"--- {path}", f"+++ {path}", *lines]) + "\n"
    made = unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="")
    return "".join(f"{line}\n" for line in made)


def _text(body: Body, keys: Sequence[str]) -> str | None:
    return next((body[key] for key in keys if isinstance(body.get(key), str)), None)


def _mapping(value: Any) -> Body:
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0
