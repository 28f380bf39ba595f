"""Where clients keep their transcripts, and in what order to read them."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sessions_app.importers import claude_code, codex
from sessions_app.importers.clients import HEAD_LINES, client_of, records
from sessions_app.ingest.reading import text

FORK_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Found:
    path: Path
    client: str


def standard_folders(environ: Mapping[str, str], home: Path) -> list[Path]:
    """The folders of this machine's clients that are there."""
    named = [Path(part).expanduser() for part in environ.get("CLAUDE_CONFIG_DIR", "").split(",") if part]
    claude = [folder / "projects" for folder in (*named, home / ".claude", home / ".config" / "claude")]
    rollouts = Path(environ.get("CODEX_HOME") or home / ".codex").expanduser()
    gemini = Path(environ.get("GEMINI_CLI_HOME") or home).expanduser() / ".gemini"
    shared = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share").expanduser()
    kept = (
        *claude,
        *(rollouts / "sessions", rollouts / "archived_sessions"),
        *(gemini / "tmp", shared / "opencode", home / ".copilot" / "session-state"),
    )
    return list(dict.fromkeys(folder for folder in kept if folder.is_dir()))


def find(roots: Iterable[Path]) -> list[Found]:
    """The transcripts in files and folders, each once: what others were forked from comes first.

    Raises:
        OSError: a root is not there.
    """
    paths: dict[Path, Path] = {}
    for root in roots:
        for path in files_below(root):
            paths.setdefault(path.resolve(), path)
    found = [Found(path, client) for path in paths.values() if (client := client_of(path))]
    found.sort(key=lambda one: (one.path.stat().st_mtime_ns, str(one.path)))
    # A rollout's name begins with its time, and whoever starts a thread began before it.
    rollouts = iter(
        sorted((one for one in found if one.client == codex.CLIENT), key=lambda one: one.path.name)
    )
    found = [next(rollouts) if one.client == codex.CLIENT else one for one in found]
    return _sources_first(found)


def files_below(root: Path) -> Iterator[Path]:
    """
    Raises:
        OSError: the root is not there.
    """
    if root.is_file():
        yield root
        return
    if not root.is_dir():
        raise FileNotFoundError(f"There is no file or folder {root}.")
    for folder, inner, names in os.walk(root):
        if Path(folder).name == "storage":  # OpenCode's messages are found by their sessions
            inner[:] = [name for name in inner if name not in ("message", "part")]
        elif "opencode.db" in names:  # copies of repositories lie there, too
            inner[:] = [name for name in inner if name == "storage"]
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file():
                yield path


def _sources_first(found: list[Found]) -> list[Found]:
    """A fork begins with its source's records; of files that begin alike the one that went on first leads."""
    alike: defaultdict[str, list[Found]] = defaultdict(list)
    for one in found:
        if one.client == claude_code.CLIENT and (begin := _first_uuid(one.path)):
            alike[begin].append(one)
    place = {one.path: index for index, one in enumerate(found)}
    for group in alike.values():
        if len(group) > 1:
            places = sorted(place[one.path] for one in group)
            for index, one in zip(places, _by_going_on(group), strict=True):
                place[one.path] = index
    return sorted(found, key=lambda one: place[one.path])


def _by_going_on(group: list[Found]) -> list[Found]:
    told = {one.path: list(_uuids(one.path)) for one in group}
    files: defaultdict[str, int] = defaultdict(int)
    for pairs in told.values():
        for uuid in {uuid for uuid, _ in pairs}:
            files[uuid] += 1

    def went_on(one: Found) -> str:
        """The time of the first record that no other file has; nothing of its own comes first."""
        return next((at for uuid, at in told[one.path] if files[uuid] == 1), "")

    return sorted(group, key=went_on)


def _first_uuid(path: Path) -> str:
    return next((uuid for uuid, _ in _uuids(path, HEAD_LINES)), "")


def _uuids(path: Path, limit: int = FORK_LINES) -> Iterator[tuple[str, str]]:
    for record in records(path, limit):
        if uuid := text(record, "uuid"):
            yield uuid, text(record, "timestamp")
