"""What follows the writes: one background thread per server process, in bounded steps, under a lease.

Apps register tasks in ``AppConfig.ready``. Of several processes on one database the one that holds the lease
works; a holder that is killed is followed by another when its lease has run out. A step is one write of at
most STEP_SECONDS of the write lock, and between two steps the thread waits at least as long as the step took,
so that writers never wait for much more than one step.
"""

import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from django.db import close_old_connections, connections

from contextdash import clock
from contextdash.errors import Busy
from contextdash.models import BackgroundRun, Lease
from contextdash.writer import write

log = logging.getLogger("contextdash.background")

LEASE_SECONDS = 30
"""How long a holder may be silent. Clocks of several machines must agree better than this."""
BEAT_SECONDS = 5.0
"""How often the lease is renewed or tried for, and due tasks are looked for."""
STEP_SECONDS = 0.05
"""The longest that one step should hold the write lock; tasks choose the size of their steps by it."""
PAUSE_SECONDS = 0.01
"""The shortest pause between two steps."""
NOTED_SECONDS = 30.0
"""A task that runs more often than this is not written down each time."""
LATE_SECONDS = 120.0
"""A task that was due so long ago is said to lag."""

_LEASE = "background"


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    title: str
    """In words, for people who ask what lags."""
    every_seconds: float
    step: Callable[[], bool]
    """One bounded piece of the work; True while more of it is left."""
    everywhere: bool = False
    """Each process does it for itself, whoever holds the lease."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """How a task stands, as seen from the database."""

    name: str
    title: str
    finished_us: int | None
    took_us: int
    lag_us: int
    """How long ago it was due and has not run to its end; 0 when it is in time."""
    error: str

    @property
    def late(self) -> bool:
        return self.lag_us > LATE_SECONDS * 1_000_000 or bool(self.error)


_tasks: dict[str, Task] = {}


def register(task: Task) -> None:
    _tasks[task.name] = task


def states() -> Sequence[TaskState]:
    """Every task that one process does for all, and how far it lags. Reads one small table."""
    now_us = clock.now_us()
    runs = {run.name: run for run in BackgroundRun.objects.all()}
    # A server that has only just started on a new database is not late.
    began_us = min((run.finished_us for run in runs.values() if run.finished_us), default=now_us)
    return [
        _state(task, runs.get(task.name), now_us, began_us) for task in _tasks.values() if not task.everywhere
    ]


def _state(task: Task, run: BackgroundRun | None, now_us: int, began_us: int) -> TaskState:
    finished_us = run.finished_us if run else None
    due_us = (began_us if finished_us is None else finished_us) + int(task.every_seconds * 1_000_000)
    return TaskState(
        name=task.name,
        title=task.title,
        finished_us=finished_us,
        took_us=run.took_us if run else 0,
        lag_us=max(0, now_us - due_us),
        error=run.error if run else "",
    )


class Background:
    def __init__(self, tasks: Sequence[Task] | None = None, *, beat_seconds: float = BEAT_SECONDS) -> None:
        self._given = tasks
        self._beat_seconds = beat_seconds
        self._holder = secrets.token_hex(8)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._asked: set[str] = set()
        self._due: dict[str, float] = {}
        self._noted: dict[str, float] = {}
        self._renew_at = 0.0
        self._holds = False
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread. Call it once, in the process that serves, after the writer."""
        if not self.running:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._loop, name="background", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread after the step that it is in, and leave the lease to others. Before the writer."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(10)
            self._thread = None

    def wake(self, name: str) -> None:
        """Have a task run now; where another process holds the lease it runs there at its own time."""
        self._asked.add(name)
        self._wake.set()

    def _loop(self) -> None:
        try:
            while not self._stopping.is_set():
                self._round()
                self._wake.wait(self._beat_seconds)
                self._wake.clear()
            self._end()
        finally:
            connections.close_all()

    def _round(self) -> None:
        close_old_connections()
        for task in _tasks.values() if self._given is None else self._given:
            if self._stopping.is_set():
                return
            if not self._is_due(task) or not (task.everywhere or self._keep_lease()):
                continue
            self._asked.discard(task.name)
            self._due[task.name] = monotonic() + task.every_seconds
            self._run(task)

    def _end(self) -> None:
        """What each process must do for itself is done a last time; then another may hold the lease."""
        for task in _tasks.values() if self._given is None else self._given:
            if task.everywhere:
                self._run(task)
        if self._holds:
            try:
                release_lease(holder=self._holder)
            except Exception:
                log.exception("the lease was not given back; it runs out by itself")

    def _is_due(self, task: Task) -> bool:
        return task.name in self._asked or monotonic() >= self._due.get(task.name, 0.0)

    def _run(self, task: Task) -> None:
        begun = monotonic()
        error = ""
        try:
            while self._step(task):
                if self._stopping.is_set() and not task.everywhere:
                    return
                if not (task.everywhere or self._keep_lease()):
                    return
        except Busy as busy:
            log.warning("background task %s put off: %s", task.name, busy)
            self._due[task.name] = 0.0  # with the next beat
            return
        except Exception as failure:
            log.exception("background task %s failed", task.name)
            error = f"{type(failure).__name__}: {failure}"[:500]
        if not task.everywhere and (error or begun >= self._noted.get(task.name, 0.0) + NOTED_SECONDS):
            self._note(task, monotonic() - begun, error)

    def _step(self, task: Task) -> bool:
        begun = monotonic()
        more = task.step()
        if more:
            self._stopping.wait(max(PAUSE_SECONDS, monotonic() - begun))
        return more

    def _note(self, task: Task, took: float, error: str) -> None:
        try:
            note_run(name=task.name, took_us=int(took * 1_000_000), error=error)
            self._noted[task.name] = 0.0 if error else monotonic()
        except Exception:
            log.exception("the run of %s was not noted", task.name)

    def _keep_lease(self) -> bool:
        if monotonic() < self._renew_at:
            return self._holds
        try:
            self._holds = take_lease(holder=self._holder)
        except Exception as error:
            log.warning("no lease now: %s", error)
            self._holds = False
        self._renew_at = monotonic() + (LEASE_SECONDS / 3 if self._holds else self._beat_seconds)
        return self._holds


@write
def take_lease(*, holder: str, seconds: float = LEASE_SECONDS) -> bool:
    """Take or renew the lease; False while another holds it."""
    now_us = clock.now_us()
    expires_us = now_us + int(seconds * 1_000_000)
    ours_or_over = Lease.objects.filter(name=_LEASE)
    if ours_or_over.filter(holder=holder).update(expires_us=expires_us):
        return True
    if ours_or_over.filter(expires_us__lte=now_us).update(holder=holder, expires_us=expires_us):
        return True
    # Of two that find no row at this moment only one's is kept.
    Lease.objects.bulk_create(
        [Lease(name=_LEASE, holder=holder, expires_us=expires_us)], ignore_conflicts=True
    )
    return Lease.objects.filter(name=_LEASE, holder=holder).exists()


@write
def release_lease(*, holder: str) -> None:
    Lease.objects.filter(name=_LEASE, holder=holder).update(expires_us=0)


@write
def note_run(*, name: str, took_us: int, error: str) -> None:
    now_us = clock.now_us()
    values: dict[str, object] = (
        {"failed_us": now_us, "error": error}
        if error
        else {"finished_us": now_us, "took_us": took_us, "error": ""}
    )
    BackgroundRun.objects.update_or_create(name=name, defaults=values)


background = Background()
"""The process's own. ``contextdash/wsgi.py`` starts it; elsewhere it stays off."""
