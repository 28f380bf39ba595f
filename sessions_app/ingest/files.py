"""Which files a tool call reads or changes, as its input tells: of every client, by the names of its tools.

What a shell command does to files is not guessed; a patch that it carries is read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from contextdash.limits import FILE_PATH_CHARS, FILES_OF_CALL
from sessions_app.vocabulary import FileAction


class FileSeen(NamedTuple):
    path: str
    action: str


_ACTIONS: dict[str, str] = {
    **dict.fromkeys(
        (
            *("read", "read_file", "readfile", "notebookread", "view", "view_file", "view_image"),
            *("read_text_file", "read_media_file", "read_multiple_files", "read_many_files"),
        ),
        FileAction.READ,
    ),
    **dict.fromkeys(("write", "write_file", "writefile", "create", "create_file"), FileAction.WRITE),
    **dict.fromkeys(
        (
            *("edit", "multiedit", "edit_file", "notebookedit", "edit_notebook", "replace", "str_replace"),
            *("search_replace", "strreplace", "str_replace_editor", "str_replace_based_edit_tool"),
        ),
        FileAction.EDIT,
    ),
    **dict.fromkeys(("delete", "delete_file"), FileAction.DELETE),
}
_PATCHES = frozenset(
    {"apply_patch", "patch", "bash", "shell", "exec_command", "local_shell", "container.exec"}
)
_PATCH_KEYS = ("input", "patch", "patchText", "command", "cmd")
_PATH_KEYS = (
    *("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file", "target_notebook"),
    *("filename", "file"),
)
_COMMANDS = {"view": FileAction.READ, "create": FileAction.WRITE}
"""Of the one tool that reads, writes and edits."""
_PATCH_BEGINS = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_PATCHED_HOW = {"Add File": FileAction.WRITE, "Delete File": FileAction.DELETE, "Move to": FileAction.WRITE}


def files_of(tool: str, given: Any) -> tuple[FileSeen, ...]:
    """Each file of a call once for each thing done to it; at most FILES_OF_CALL."""
    name = tool.rpartition("__")[2].lower()
    if name in _PATCHES:
        found = _patched(given)
    elif name in _ACTIONS and isinstance(given, dict):
        action = _ACTIONS[name]
        if "command" in given and name.startswith("str_replace"):
            action = _COMMANDS.get(str(given["command"]), action)
        found = (FileSeen(path, action) for path in _paths(given))
    else:
        return ()
    return tuple(dict.fromkeys(FileSeen(_short(one.path), one.action) for one in found))[:FILES_OF_CALL]


def _paths(given: Mapping[str, Any]) -> Iterator[str]:
    several = given.get("paths")
    named = several if isinstance(several, list) else [given.get(key) for key in _PATH_KEYS]
    texts = [one for one in named if isinstance(one, str) and one.strip() and "*" not in one]
    yield from texts if isinstance(several, list) else texts[:1]


def _patched(given: Any) -> Iterator[FileSeen]:
    for text in _texts(given):
        if _PATCH_BEGINS in text:
            for how, path in _PATCHED.findall(text):
                yield FileSeen(path, _PATCHED_HOW.get(how, FileAction.EDIT))


def _texts(given: Any) -> Iterator[str]:
    values = [given.get(key) for key in _PATCH_KEYS] if isinstance(given, dict) else [given]
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):  # argv
            yield from (part for part in value if isinstance(part, str))


def _short(path: str) -> str:
    """Of a path that is too long to be indexed its end, which tells more than its beginning."""
    return path if len(path) <= FILE_PATH_CHARS else f"…{path[-FILE_PATH_CHARS + 1 :]}"
