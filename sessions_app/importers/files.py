"""Files read into the database: incrementally, in parts that leave others their turn, restart-safe."""

import os
import socket
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any

from contextdash import clock
from contextdash.errors import Busy
from contextdash.ids import digest16
from contextdash.limits import HOST_CHARS
from contextdash.writer import writer
from sessions_app.importers import claude_code, codex, finding
from sessions_app.importers.gathering import Gatherer
from sessions_app.importers.lines import HEAD_BYTES, Line, head_of, lines, record_of
from sessions_app.importers.storing import Part, store_parts
from sessions_app.ingest.observation import Delivery
from sessions_app.models import ImportSource
from sessions_app.services.quarantine import refused_row
from sessions_app.vocabulary import Source

PART_ROWS = 600
"""The first part's size; later ones are made to take PART_SECONDS."""
PART_SECONDS = 0.04
PART_BYTES = 4 * 1024 * 1024
KEPT_SKIPPED = 100
"""How many skipped lines of one file are kept to look at; all are counted."""
REMEMBERED_RECORDS = 20_000
BUSY_TRIES = 30


@dataclass(frozen=True, slots=True)
class Place:
    """Whose files these are."""

    host: str
    owner_id: int | None = None

    @classmethod
    def here(cls) -> "Place":
        return cls(host=socket.gethostname()[:HOST_CHARS])


@dataclass(slots=True)
class Result:
    path: str
    events: int = 0
    """New ones."""
    lines: int = 0
    skipped: int = 0
    unchanged: bool = False


READERS: dict[str, type[claude_code.Reader] | type[codex.Reader]] = {
    claude_code.CLIENT: claude_code.Reader,
    codex.CLIENT: codex.Reader,
}

type Progress = Callable[[int], None]
"""Told how many bytes of the file are read."""


def import_file(path: Path, *, place: Place, name: str = "", progress: Progress | None = None) -> Result:
    """Read what is new in a file. ``name`` is the path that it has at home, for one that was uploaded.

    Raises:
        OSError: it cannot be read.
        Busy: the database stayed locked; what is read so far is stored.
    """
    name = name or os.path.realpath(path)
    with path.open("rb") as file:
        stat = os.fstat(file.fileno())
        source = _source(place, path, name)
        result = Result(name)
        same = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if source.pk and same == (source.inode, source.size, source.modified_ns):
            result.unchanged = True
            return result
        if source.pk and not _goes_on(file, source, stat.st_size):
            _begin_anew(source)
        source.inode, source.size, source.modified_ns = same
        source.head_size = min(stat.st_size, HEAD_BYTES)
        source.head = head_of(file, source.head_size)
        _Import(path, file, source, place, result, progress).run()
    return result


def _source(place: Place, path: Path, name: str) -> ImportSource:
    digest = digest16(b"import", place.host.encode(), name.encode("utf-8", "surrogateescape"))
    shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    found = ImportSource.objects.filter(path_digest=digest).first()
    client = finding.client_of(path) or claude_code.CLIENT if found is None else found.client
    return found or ImportSource(host=place.host, path=shown, path_digest=digest, client=client, head=b"")


def _goes_on(file: IO[bytes], source: ImportSource, size: int) -> bool:
    """Whether it is the file that was read before, perhaps grown."""
    return size >= source.offset and head_of(file, source.head_size) == bytes(source.head)


def _begin_anew(source: ImportSource) -> None:
    source.offset = source.lines = source.blank = source.records = 0
    source.skipped = source.duplicates = source.copied = 0
    given = source.facts.get("title_given")
    source.state, source.facts = {}, {"title_given": given} if given else {}


class _Import:
    def __init__(
        self,
        path: Path,
        file: IO[bytes],
        source: ImportSource,
        place: Place,
        result: Result,
        progress: Progress | None,
    ) -> None:
        self._file = file
        self._source = source
        self._result = result
        self._progress = progress
        self._gatherer = Gatherer(
            source.client,
            Delivery(received_us=clock.now_us(), host=place.host, owner_id=place.owner_id),
        )
        self._reader: claude_code.Reader | codex.Reader = READERS[source.client](
            self._gatherer, Path(source.path), _meta(path), source.state, source.facts
        )
        self._skipped: list[Any] = []
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._rows = PART_ROWS

    def run(self) -> None:
        source = self._source
        source.partial_tail = False
        since = source.offset
        for line in lines(self._file, source.offset):
            if not line.whole and not self._is_whole(line):
                source.partial_tail = True
                break
            self._take(line)
            source.offset = line.end
            full = self._gatherer.gathered.size >= self._rows and self._reader.between_calls
            if full or source.offset - since > PART_BYTES:
                self._store()
                since = source.offset
        self._store()

    @staticmethod
    def _is_whole(line: Line) -> bool:
        return not line.too_long and record_of(line.raw) is not None

    def _take(self, line: Line) -> None:
        source = self._source
        source.lines += 1
        if not line.raw.strip():
            source.blank += 1
            return
        record = None if line.too_long else record_of(line.raw)
        if record is None:
            self._skip(line)
            return
        source.records += 1
        uuid = record.get("uuid")
        if isinstance(uuid, str) and self._seen_before(uuid):
            source.duplicates += 1
            self._reader.count(record)
            return
        self._reader.read(record)

    def _seen_before(self, uuid: str) -> bool:
        if uuid in self._recent:
            return True
        self._recent[uuid] = None
        if len(self._recent) > REMEMBERED_RECORDS:
            self._recent.popitem(last=False)
        return False

    def _skip(self, line: Line) -> None:
        source = self._source
        source.skipped += 1
        self._result.skipped += 1
        if source.skipped <= KEPT_SKIPPED:
            begins = line.end - len(line.raw)
            reason = "too_large" if line.too_long else "malformed"
            self._skipped.append(
                refused_row(
                    client=source.client,
                    event="line",
                    reason=reason,
                    detail=f"{source.path}, line {source.lines}, byte {begins}: no JSON object",
                    body=line.raw,
                    session_id=self._reader.session_id,
                    source=Source.TRANSCRIPT,
                )
            )

    def _store(self) -> None:
        source, reader = self._source, self._reader
        source.session_id = reader.session_id[:128]
        part = Part(self._gatherer.take(), source, reader.session_id, reader.title[0], self._skipped)
        self._skipped = []
        began = monotonic()
        self._result.events += _in_turn(part)
        took = monotonic() - began
        self._rows = max(100, min(3000, int(self._rows * PART_SECONDS / max(took, 0.001))))
        self._result.lines = source.lines
        if self._progress is not None:
            self._progress(source.offset)


def _in_turn(part: Part) -> int:
    for attempt in range(BUSY_TRIES):
        try:
            return writer.submit(store_parts, [part])[0]
        except Busy:
            if attempt == BUSY_TRIES - 1:
                raise
            sleep(0.2)
    raise AssertionError("unreachable")


def _meta(path: Path) -> Mapping[str, Any]:
    """What stands beside a subagent's file about it."""
    beside = path.with_name(f"{path.stem}.meta.json")
    if not claude_code.is_agent_file(path) or not beside.is_file():
        return {}
    try:
        return record_of(beside.read_bytes()[:100_000]) or {}
    except OSError:
        return {}
