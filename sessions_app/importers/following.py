"""Transcripts read as they grow: what has not changed since the last look is not even opened."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from contextdash.errors import Busy
from sessions_app.importers import finding
from sessions_app.importers.files import Place, import_file
from sessions_app.importers.stamps import Stamp, stamp_of


class Follower:
    """Looks again and again. Without roots it follows what the clients on this machine keep."""

    def __init__(self, roots: Sequence[Path], environ: Mapping[str, str], home: Path) -> None:
        self._roots = roots
        self._environ = environ
        self._home = home
        self._seen: dict[Path, Stamp] = {}
        self._problems: list[str] = []

    def look(self) -> Iterator[tuple[Path, int]]:
        """Import what is new or has changed; each file with how many events were new in it."""
        changed: dict[Path, Stamp] = {}
        for root in self._roots or finding.standard_folders(self._environ, self._home):
            changed |= self._changed(root)
        for one in self._found(list(changed)):
            try:
                result = import_file(one.path, place=Place.here())
            except (OSError, Busy) as error:
                self._problems.append(f"{one.path}: {error}")
                changed.pop(one.path, None)  # the next look tries again
                continue
            if result.events:
                yield one.path, result.events
        self._seen |= changed

    def problems(self) -> list[str]:
        """What went wrong since this was asked last."""
        told, self._problems = self._problems, []
        return told

    def _changed(self, root: Path) -> dict[Path, Stamp]:
        found: dict[Path, Stamp] = {}
        try:
            paths = list(finding.files_below(root))
        except OSError as error:
            self._problems.append(str(error))
            return found
        for path in paths:
            try:
                stamp = stamp_of(path)
            except OSError:
                continue  # it went away in this moment
            if self._seen.get(path) != stamp:
                found[path] = stamp
        return found

    def _found(self, paths: list[Path]) -> list[finding.Found]:
        try:
            return finding.find(paths)
        except OSError as error:
            self._problems.append(str(error))
            return []
