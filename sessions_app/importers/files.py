"""Files read into the database: incrementally, in parts that leave others their turn, restart-safe."""

import os
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import IO

from contextdash.ids import digest16
from contextdash.limits import MIB
from sessions_app.importers import clients, documents, opencode, opencode_stores
from sessions_app.importers.intake import Intake, Place, Progress, Result
from sessions_app.importers.lines import HEAD_BYTES, Line, head_of, lines, record_of
from sessions_app.importers.stamps import Stamp, stamp_of
from sessions_app.models import ImportSource

__all__ = ["Place", "Result", "import_file"]

PART_BYTES = 4 * MIB
REMEMBERED_RECORDS = 20_000


def import_file(
    path: Path,
    *,
    place: Place,
    name: str = "",
    progress: Progress | None = None,
    seconds: float | None = None,
) -> Result:
    """Read what is new in a file.

    ``name`` is the path that it has at home, for one that was uploaded; ``seconds`` is after how long it is
    paused (the result is not ``finished`` then, and another call goes on).

    Raises:
        OSError: it cannot be read.
        Busy: the database stayed locked; what is read so far is stored.
    """
    name = name or os.path.realpath(path)
    source = _source(place, path, name)
    result = Result(name, source_id=source.pk or 0)
    now = stamp_of(path)
    before = Stamp(source.inode, source.size, source.modified_ns)
    if source.pk and now == before and (source.offset >= source.size or source.partial_tail):
        result.unchanged = True
        if source.session_id:
            result.session_ids[source.session_id] = None
        return result
    pause_at = None if seconds is None else monotonic() + seconds
    intake = Intake(source, place, result, progress, pause_at)
    if source.client == opencode.CLIENT:
        source.inode, source.size, source.modified_ns = now
        opencode_stores.read(path, intake)
        return result
    with path.open("rb") as file:
        whole = documents.is_document(name)
        goes_on = now == before if whole else now.size >= source.offset and _same_head(file, source)
        if source.pk and not goes_on:
            _begin_anew(source)
            intake.anew = True
        source.inode, source.size, source.modified_ns = now
        source.head_size = min(now.size, HEAD_BYTES)
        source.head = head_of(file, source.head_size)
        _Import(path, file, intake, whole=whole).run()
    return result


def _source(place: Place, path: Path, name: str) -> ImportSource:
    digest = digest16(b"import", place.host.encode(), name.encode("utf-8", "surrogateescape"))
    shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    found = ImportSource.objects.filter(path_digest=digest).first()
    if found is not None and found.records:
        return found
    client = clients.client_of(path) or clients.FALLBACK
    if found is not None:  # its first record was not whole yet
        found.client = client
    return found or ImportSource(host=place.host, path=shown, path_digest=digest, client=client, head=b"")


def _same_head(file: IO[bytes], source: ImportSource) -> bool:
    """Whether it is the file that was read before, perhaps grown."""
    return head_of(file, source.head_size) == bytes(source.head)


def _begin_anew(source: ImportSource) -> None:
    source.offset = source.lines = source.blank = source.records = 0
    source.skipped = source.duplicates = source.copied = 0
    source.error = ""
    given = source.facts.get("title_given")
    source.state, source.facts = {}, {"title_given": given} if given else {}


class _Import:
    def __init__(self, path: Path, file: IO[bytes], intake: Intake, *, whole: bool) -> None:
        self._file = file
        self._intake = intake
        self._source = source = intake.source
        self._whole = whole
        client = clients.CLIENTS[source.client]
        self._reader = client.reader(
            intake.gatherer, Path(source.path), client.beside(path), source.state, source.facts
        )
        self._recent: OrderedDict[str, None] = OrderedDict()

    def run(self) -> None:
        source, intake = self._source, self._intake
        source.partial_tail = False
        since = source.offset
        for line in self._pieces():
            if not line.whole and not self._is_whole(line):
                source.partial_tail = True
                break
            self._take(line)
            source.offset = line.end
            full = intake.full and self._reader.between_calls
            if full or source.offset - since > PART_BYTES:
                self._store()
                since = source.offset
                if intake.must_pause:
                    intake.result.finished = False
                    return
        self._reader.finish()
        self._store()

    def _pieces(self) -> Iterator[Line]:
        if self._whole:
            return documents.messages(self._file, self._source.offset, self._source.state)
        return lines(self._file, self._source.offset)

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
        where = f"line {self._source.lines}, byte {line.end - len(line.raw)}"
        reason, why = (
            ("too_large", "longer than LINE_BYTES") if line.too_long else ("malformed", "no JSON object")
        )
        self._intake.skip(where, why, line.raw, reason=reason, session_id=self._reader.session_id)

    def _store(self) -> None:
        self._intake.store(self._reader.session_id, self._reader.title[0], self._source.offset)
