"""The one writer: every write of a server process on SQLite passes one thread with group commit.

SQLite admits one writer at a time, and its wait for the lock is a retry loop, not a queue: eight request
threads that write by themselves make some wait for more than a second. Here they queue instead. The thread
takes the lock first and then everything that waits, stores it in one transaction, and answers after the
commit. On PostgreSQL, in commands beside the server, and inside a caller's own ``atomic()`` the same
functions run on the caller's connection.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from functools import wraps
from queue import SimpleQueue
from typing import Any

from django.db import DatabaseError, OperationalError, connection, transaction

from contextdash.checkpoint import Checkpointer
from contextdash.db import database_file
from contextdash.errors import Busy, Unwritable
from contextdash.limits import WRITE_WAIT_SECONDS

log = logging.getLogger("contextdash.writer")

GROUP_ITEMS = 500
"""The most items in one transaction: keeps it to some tens of milliseconds."""

type Batch[I, R] = Callable[[Sequence[I]], Sequence[R]]


@dataclass(slots=True, eq=False)
class _Job:
    run: Callable[[Sequence[Any]], Sequence[Any]]
    items: Sequence[Any]
    future: Future[Sequence[Any]] = field(default_factory=Future)


class Writer:
    def __init__(self) -> None:
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._checkpointer: Checkpointer | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread. Call it once, in the process that serves, after any fork."""
        if self.running:
            return
        path = database_file()
        if path is not None:
            self._checkpointer = Checkpointer(path)
            self._checkpointer.start()
        self._thread = threading.Thread(target=self._loop, name="writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Store what waits, then end the thread."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(WRITE_WAIT_SECONDS * 2)
            self._thread = None
        if self._checkpointer is not None:
            self._checkpointer.stop()
            self._checkpointer = None

    def submit[I, R](self, run: Batch[I, R], items: Sequence[I]) -> Sequence[R]:
        """Store items in one transaction and return their results in order, after the commit.

        Jobs that wait together and name the same ``run`` are given to it in one call.

        Raises:
            Busy: the turn did not come within WRITE_WAIT_SECONDS; nothing was stored.
        """
        if connection.in_atomic_block or not self.running or connection.vendor != "sqlite":
            return _inline(run, items)
        job = _Job(run, items)
        self._queue.put(job)
        try:
            return job.future.result(WRITE_WAIT_SECONDS)
        except FutureTimeoutError:
            if job.future.cancel():
                raise Busy(
                    f"The database was busy for {WRITE_WAIT_SECONDS:g} s. Nothing was stored; try again."
                ) from None
            # Already begun: its outcome is about to be known, and an answer before it would be a guess.
            return job.future.result()
        except CancelledError:
            raise Busy("The server is stopping. Nothing was stored; try again.") from None

    def _loop(self) -> None:
        try:
            while (first := self._queue.get()) is not None:
                if not self._store(first):
                    break
        finally:
            self._cancel_waiting()
            connection.close()

    def _store(self, first: _Job) -> bool:
        """Store ``first`` and what waits with it; False when the end was asked for."""
        while not first.future.cancelled():
            jobs: list[_Job] = []
            going_on = True
            try:
                with transaction.atomic():
                    # Only now, with the lock in hand, does a job count as begun and its waiter stay.
                    jobs, going_on = self._take(first)
                    groups = _groups(jobs)
                    # One group needs no savepoint, the transaction is its own.
                    outcomes = (
                        _answers(groups[0])
                        if len(groups) == 1
                        else [outcome for group in groups for outcome in _attempt(group)]
                    )
            except Exception as error:
                if not jobs and isinstance(error, DatabaseError) and is_locked(error):
                    continue
                self._after_failed_transaction(jobs, first, error)
                return going_on
            for job, outcome in zip(jobs, outcomes, strict=True):
                _answer(job, outcome)
            if self._checkpointer is not None:
                self._checkpointer.hold_back()
            return going_on
        return True

    def _take(self, first: _Job) -> tuple[list[_Job], bool]:
        """Everything that waits, marked as begun; and False where the end was asked for."""
        jobs: list[_Job] = []
        count = 0
        job: _Job | None = first
        while job is not None:
            if job.future.set_running_or_notify_cancel():
                jobs.append(job)
                count += len(job.items)
            if count >= GROUP_ITEMS or self._queue.empty():
                return jobs, True
            job = self._queue.get()
        return jobs, False

    def _after_failed_transaction(self, jobs: list[_Job], first: _Job, error: Exception) -> None:
        """A job or the commit failed (a deferred constraint, a full disk): each again, alone."""
        if isinstance(error, DatabaseError):
            connection.close()
        if not jobs and first.future.set_running_or_notify_cancel():
            jobs = [first]
        for job in jobs:
            try:
                _answer(job, _inline(job.run, job.items) if len(jobs) > 1 else error)
            except Exception as alone:
                _answer(job, alone)

    def _cancel_waiting(self) -> None:
        while not self._queue.empty():
            job = self._queue.get()
            if job is not None:
                job.future.cancel()


def is_locked(error: DatabaseError) -> bool:
    """Whether SQLite refused because another process holds the write lock."""
    return isinstance(error, OperationalError) and "locked" in str(error)


def refusal_of(error: Exception) -> Busy | None:
    """What a caller is told of a database that takes no writes now; None for every other error."""
    if not isinstance(error, OperationalError):
        return None
    said = str(error).lower()
    if "locked" in said:
        return Busy("Another program holds the database. Nothing was stored; try again.")
    if "disk is full" in said or "no space left" in said:
        return Unwritable("The server's disk is full. Nothing was stored; make room and try again.")
    if any(words in said for words in ("readonly", "disk i/o", "unable to open")):
        return Unwritable("The database cannot be written. Nothing was stored; contextdash doctor says why.")
    if connection.vendor == "postgresql":  # where SQLite's also means a mistake of ours, this never does
        return Busy("The database does not answer. Nothing was stored; try again.")
    return None


def write[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Make a service function a write: it runs in the writer's turn, in a transaction, all or nothing."""

    @wraps(function)
    def in_turn(*args: P.args, **kwargs: P.kwargs) -> R:
        return writer.submit(lambda items: [function(*args, **kwargs)], [None])[0]

    return in_turn


def _groups(jobs: list[_Job]) -> list[list[_Job]]:
    """Neighbours that name the same function, in order."""
    groups: list[list[_Job]] = []
    for job in jobs:
        if groups and groups[-1][0].run is job.run:
            groups[-1].append(job)
        else:
            groups.append([job])
    return groups


def _attempt(group: list[_Job]) -> list[Sequence[Any] | Exception]:
    """The outcome of each job; one bad job does not take its neighbours with it."""
    try:
        with transaction.atomic():
            return _answers(group)
    except Exception as error:
        return [error] if len(group) == 1 else [out for job in group for out in _attempt([job])]


def _answers(group: list[_Job]) -> list[Sequence[Any] | Exception]:
    answers = list(group[0].run([item for job in group for item in job.items]))
    outcomes: list[Sequence[Any] | Exception] = []
    for job in group:
        outcomes.append(answers[: len(job.items)])
        del answers[: len(job.items)]
    return outcomes


def _answer(job: _Job, outcome: Sequence[Any] | Exception) -> None:
    if isinstance(outcome, Exception):
        job.future.set_exception(refusal_of(outcome) or outcome)
    else:
        job.future.set_result(outcome)


def _inline[I, R](run: Batch[I, R], items: Sequence[I]) -> Sequence[R]:
    try:
        with transaction.atomic():
            return run(items)
    except OperationalError as error:
        refused = refusal_of(error)
        if refused is None:
            raise
        raise refused from error


writer = Writer()
"""The process's own. ``contextdash/wsgi.py`` starts it; elsewhere it stays off and writes run inline."""
