"""The hash by which a diff and its review find each other. Standard library only: the git hook uses it too.

It is what a .NET gate computes of ``git diff --staged``: the bytes read as UTF-8, encoded again, SHA-256 in
lower hex. For valid UTF-8 that equals ``git diff --staged | sha256sum``.
"""

import hashlib
from collections.abc import Iterable
from pathlib import PurePosixPath

UTF8_BOM = b"\xef\xbb\xbf"
DOCUMENT_SUFFIXES = frozenset({".md", ".mdc", ".txt"})
PLANS_FOLDER = ".claude/plans/"

_HEADER = "diff --git "


def diff_hash(raw: bytes) -> str:
    """64 lower hex digits. A leading byte order mark is dropped and bytes that are not UTF-8 count as
    U+FFFD, as the reader of a .NET process does it."""
    return hashlib.sha256(raw.removeprefix(UTF8_BOM).decode("utf-8", "replace").encode("utf-8")).hexdigest()


def documents_only(files: Iterable[str]) -> bool:
    """Whether there are files and each is a document or lies in the plans folder: nothing to review."""
    names = list(files)
    return bool(names) and all(
        PurePosixPath(name).suffix.lower() in DOCUMENT_SUFFIXES or name.startswith(PLANS_FOLDER)
        for name in names
    )


def files_of(raw: bytes) -> list[str]:
    """The files that a git diff changes, by their new names, from its ``diff --git`` lines.

    Lines of a file's content begin with a space, plus or minus, so none of them is taken for a header.
    """
    lines = raw.decode("utf-8", "replace").split("\n")
    return [_new_name(line.removeprefix(_HEADER)) for line in lines if line.startswith(_HEADER)]


def _new_name(pair: str) -> str:
    """The new name of ``a/old b/new``, with any prefix letters or none, quoted or not."""
    half = len(pair) // 2
    first, second = pair[:half], pair[half + 1 :]
    if _without_prefix(first) == _without_prefix(second):  # not renamed: both halves are the same
        return _without_prefix(second)
    for mark in (' "b/', " b/"):
        _, found, tail = pair.rpartition(mark)
        if found:
            return tail.rstrip('"')
    return second


def _without_prefix(name: str) -> str:
    name = name.strip('"')
    return name[2:] if name[1:2] == "/" else name
