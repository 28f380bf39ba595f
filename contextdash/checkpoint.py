"""Moves SQLite's write-ahead log into the database file, apart from the writer."""

import logging
import sqlite3
import threading
from pathlib import Path

from django.db import DatabaseError
from django.db import connection as django_connection

log = logging.getLogger("contextdash.writer")

INTERVAL_SECONDS = 0.5
FULL_FRAMES = 4000
"""Beyond so many frames (16 MB) the writer waits for a checkpoint itself, so that the log stays small."""

_FRAME_BYTES = 4096 + 24


class Checkpointer:
    def __init__(self, database: Path) -> None:
        self._database = database
        self._log = Path(f"{database}-wal")
        self._stop = threading.Event()
        self._said = ""
        self._thread = threading.Thread(target=self._loop, name="checkpoint", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(5)

    def hold_back(self) -> None:
        """Called by the writer after a commit: checkpoint here and now when the log has grown too long."""
        try:
            frames = self._log.stat().st_size // _FRAME_BYTES
        except FileNotFoundError:
            return
        # journal_size_limit cuts the file when the log starts again: its length tells how far it has grown.
        if frames > FULL_FRAMES:
            try:
                with django_connection.cursor() as cursor:
                    cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
            except DatabaseError as error:
                self._put_off(error)

    def _put_off(self, error: Exception) -> None:
        """Say so once: a disk that is full stays so for a while, and the log is on it."""
        if str(error) != self._said:
            self._said = str(error)
            log.warning("checkpoint put off: %s", error)

    def _loop(self) -> None:
        connection = sqlite3.connect(self._database, timeout=0.2, isolation_level=None)
        try:
            while not self._stop.wait(INTERVAL_SECONDS):
                try:
                    # PASSIVE waits for nobody: what a reader still needs is left for the next round.
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                    self._said = ""
                except sqlite3.Error as error:
                    self._put_off(error)
        finally:
            connection.close()
