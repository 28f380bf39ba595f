"""The background thread: one of several works, a killed one is followed, steps are short."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import connection

from contextdash import background as background_module
from contextdash import clock, housekeeping
from contextdash.background import Background, Task, release_lease, states, take_lease
from contextdash.models import BackgroundRun, Lease, MaskedCount, Receipt, SigninLink
from contextdash.redaction import mask, take_counts
from contextdash.services.masked_counts import write_counts
from contextdash.writer import Writer
from contextdash.writer import writer as process_writer
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)

BEAT = 0.02


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Writer]:
    """The process's writer runs, as in a server."""
    process_writer.start()
    yield process_writer
    process_writer.stop()


@pytest.fixture
def make() -> Iterator[Callable[..., Background]]:
    made: list[Background] = []

    def make(*tasks: Task) -> Background:
        made.append(Background(tasks, beat_seconds=BEAT))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def until(true: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def counting(name: str, into: list[str], every: float = 0.0) -> Task:
    def step() -> bool:
        into.append(name)
        return False

    return Task(name, name, every, step)


def test_of_two_that_run_one_works_and_the_other_follows_when_it_ends(serving, make):
    by_first: list[str] = []
    by_second: list[str] = []
    first, second = make(counting("work", by_first)), make(counting("work", by_second))
    first.start()
    until(lambda: bool(by_first))
    second.start()
    time.sleep(10 * BEAT)
    assert by_second == []
    first.stop()
    until(lambda: bool(by_second))


def test_the_lease_of_a_killed_holder_runs_out():
    assert take_lease(holder="killed", seconds=0.3)
    assert not take_lease(holder="next")
    assert take_lease(holder="killed", seconds=0.3), "renewing is not taking"
    time.sleep(0.35)
    assert take_lease(holder="next")
    assert not take_lease(holder="killed")
    release_lease(holder="killed")
    assert Lease.objects.get().holder == "next"
    assert Lease.objects.get().expires_us > clock.now_us()


def test_of_many_that_ask_at_once_one_gets_the_lease(serving):
    got: list[str] = []

    def ask(name: str) -> None:
        try:
            if take_lease(holder=name):
                got.append(name)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(f"holder{n}",)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1


def test_steps_go_on_to_the_end_of_the_work_and_writers_come_between(serving, make):
    left = [40]

    def step() -> bool:
        time.sleep(0.01)
        left[0] -= 1
        return left[0] > 0

    made = make(Task("long", "Long work", 3600, step))
    made.start()
    begun = time.monotonic()
    until(lambda: left[0] == 0)
    assert time.monotonic() - begun >= 0.7, "it pauses as long as it works"


def test_stopping_waits_for_the_step_and_not_for_the_work(serving, make):
    inside = threading.Event()
    steps: list[int] = []

    def step() -> bool:
        inside.set()
        time.sleep(0.1)
        steps.append(1)
        return True

    made = make(Task("endless", "Endless work", 3600, step))
    made.start()
    inside.wait(5)
    made.stop()
    assert not made.running
    done = len(steps)
    assert done >= 1
    time.sleep(0.3)
    assert len(steps) == done
    assert not BackgroundRun.objects.exists(), "a run that was cut short did not come to its end"


def test_a_failing_task_is_told_and_does_not_stop_the_others(serving, make, caplog):
    ran: list[str] = []

    def fail() -> bool:
        raise ValueError("the disk is upside down")

    made = make(Task("failing", "Failing", 0, fail), counting("after", ran))
    made.start()
    until(lambda: bool(ran) and BackgroundRun.objects.filter(name="failing").exists())
    made.stop()
    told = BackgroundRun.objects.get(name="failing")
    assert told.error == "ValueError: the disk is upside down"
    assert told.finished_us is None
    assert "failing failed" in caplog.text


def test_how_far_it_lags_can_be_asked(monkeypatch):
    task = Task("slow", "Slow work", 60, lambda: False)
    monkeypatch.setattr(background_module, "_tasks", {"slow": task})
    assert [state.late for state in states()] == [False], "nothing is late before the first run"
    BackgroundRun.objects.create(name="slow", finished_us=clock.now_us() - 90_000_000)
    assert 29_000_000 < states()[0].lag_us < 35_000_000
    assert not states()[0].late
    BackgroundRun.objects.update(finished_us=clock.now_us() - 600_000_000)
    assert states()[0].late


def test_what_was_asked_for_runs_at_once(serving, make):
    ran: list[str] = []
    made = make(counting("seldom", ran, every=3600))
    made._beat_seconds = 30
    made.start()
    until(lambda: len(ran) == 1)
    made.wake("seldom")
    until(lambda: len(ran) == 2)


def test_receipts_are_forgotten_after_a_day_and_links_a_day_after_their_end(owner):
    now = clock.now()
    for hours in (1, 23, 25, 400):
        Receipt.objects.create(
            digest=hours.to_bytes(16, "big"),
            body_digest=b"b" * 16,
            noun="plans",
            row_id="1",
            at=now - timedelta(hours=hours),
        )
        SigninLink.objects.create(
            user=owner,
            digest=hours.to_bytes(32, "big"),
            created_at=now - timedelta(hours=hours),
            expires_at=now - timedelta(hours=hours),
        )
    assert housekeeping.forget_receipts() is False
    assert housekeeping.forget_signin_links() is False
    assert Receipt.objects.count() == 2
    assert SigninLink.objects.count() == 2


def test_a_step_forgets_no_more_than_a_slice(monkeypatch):
    monkeypatch.setattr(housekeeping, "SLICE_ROWS", 2)
    for n in range(5):
        Receipt.objects.create(
            digest=n.to_bytes(16, "big"),
            body_digest=b"b" * 16,
            noun="plans",
            row_id="1",
            at=clock.now() - timedelta(days=2),
        )
    assert [housekeeping.forget_receipts() for _ in range(3)] == [True, True, False]


def test_masked_secrets_are_counted_by_each_process_and_written_down_at_its_end(serving, make):
    take_counts()
    mask("AKIAIOSFODNN7EXAMPLE and AKIAIOSFODNN7EXAMPLF")
    MaskedCount.objects.create(kind="aws-access-key", count=5, last_at=clock.now())
    made = make(Task("masked-counts", "Counting", 3600, write_counts, everywhere=True))
    take_lease(holder="another process")
    made.start()
    until(lambda: MaskedCount.objects.get(kind="aws-access-key").count == 7)
    mask("AKIAIOSFODNN7EXAMPLE")
    made.stop()
    assert MaskedCount.objects.get(kind="aws-access-key").count == 8
    assert Lease.objects.get().holder == "another process"


@pytest.mark.sqlite
def test_free_pages_leave_the_file_in_slices(monkeypatch):
    monkeypatch.setattr(housekeeping, "FREE_PAGES", 10)
    monkeypatch.setattr(housekeeping, "SLICE_PAGES", 50)
    session = factories.session()
    for _ in range(100):
        session.extra = {"text": "x" * 200_00}
        factories.session(extra=session.extra)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM session_states")
        cursor.execute("DELETE FROM sessions")
        cursor.execute("PRAGMA freelist_count")
        before = cursor.fetchone()[0]
        assert before > 200
        steps = 0
        while housekeeping.give_back_pages():
            steps += 1
        cursor.execute("PRAGMA freelist_count")
        assert cursor.fetchone()[0] <= 60
        assert steps > 2
