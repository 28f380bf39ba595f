"""What one import gathers goes to the writer in parts that leave others their turn."""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic, sleep

from contextdash import clock
from contextdash.errors import Busy
from contextdash.limits import HOST_CHARS
from contextdash.writer import writer
from sessions_app.importers.gathering import Gatherer
from sessions_app.importers.storing import Part, store_parts
from sessions_app.ingest.observation import Delivery
from sessions_app.models import ImportSource, Quarantined
from sessions_app.services.quarantine import refused_row
from sessions_app.vocabulary import Source

PART_ROWS = 600
"""The first part's size; later ones are made to take PART_SECONDS, as far as they stay within bounds."""
LEAST_ROWS, MOST_ROWS = 400, 3000
"""A smaller part would mostly do what each costs: on a busy machine that makes all parts slow for ever."""
PART_SECONDS = 0.04
KEPT_SKIPPED = 100
"""How many skipped lines of one file are kept to look at; all are counted."""
BUSY_TRIES = 30

type Progress = Callable[[int], None]
"""Told how many bytes of the file are read."""


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
    finished: bool = True
    """False where it was paused; another import goes on."""
    source_id: int = 0
    """The ImportSource's."""
    session_ids: dict[str, None] = field(default_factory=dict)
    """The sessions that it told of, in order."""


class Intake:
    """The gatherer of one file, and how what it gathered is stored."""

    def __init__(
        self,
        source: ImportSource,
        place: Place,
        result: Result,
        progress: Progress | None,
        pause_at: float | None = None,
    ) -> None:
        self.source = source
        self.result = result
        self.gatherer = Gatherer(
            source.client, Delivery(received_us=clock.now_us(), host=place.host, owner_id=place.owner_id)
        )
        self._progress = progress
        self._pause_at = pause_at
        self._skipped: list[Quarantined] = []
        self._rows = PART_ROWS
        self.anew = False
        """Set it where what was read before is read again."""

    @property
    def full(self) -> bool:
        return self.gatherer.gathered.size >= self._rows

    @property
    def must_pause(self) -> bool:
        """Whether its time is over; what is stored so far is where the next import goes on."""
        return self._pause_at is not None and monotonic() >= self._pause_at

    def skip(
        self, where: str, why: str, raw: bytes, *, reason: str = "malformed", session_id: str = ""
    ) -> None:
        """Count something that cannot be used; the first of a file are kept to look at."""
        source = self.source
        source.skipped += 1
        self.result.skipped += 1
        if source.skipped <= KEPT_SKIPPED:
            self._skipped.append(
                refused_row(
                    client=source.client,
                    event="line",
                    reason=reason,
                    detail=f"{source.path}, {where}: {why}",
                    body=raw,
                    session_id=session_id,
                    source=Source.TRANSCRIPT,
                )
            )

    def store(self, session_id: str, title: str, done_bytes: int) -> None:
        """
        Raises:
            Busy: the database stayed locked.
        """
        source = self.source
        source.session_id = session_id[:128]
        part = Part(self.gatherer.take(), source, session_id, title, self._skipped, self.anew)
        self._skipped, self.anew = [], False
        began = monotonic()
        self.result.events += _in_turn(part)
        took = monotonic() - began
        self._rows = max(LEAST_ROWS, min(MOST_ROWS, int(self._rows * PART_SECONDS / max(took, 0.001))))
        self.result.lines, self.result.source_id = source.lines, source.pk
        if session_id and len(self.result.session_ids) < KEPT_SKIPPED:
            self.result.session_ids[session_id] = None
        if self._progress is not None:
            self._progress(done_bytes)


def _in_turn(part: Part) -> int:
    for attempt in range(BUSY_TRIES):
        try:
            return writer.submit(store_parts, [part])[0]
        except Busy:
            if attempt == BUSY_TRIES - 1:
                raise
            sleep(0.2)
    raise AssertionError("unreachable")
