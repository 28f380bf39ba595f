"""The one writer, with real threads on a SQLite file: order, groups, failures, locks, the end."""

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from contextdash import db
from contextdash.errors import Busy, Invalid, Unwritable
from contextdash.models import User
from contextdash.writer import Writer, write
from contextdash.writer import writer as process_writer

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def writer() -> Iterator[Writer]:
    made = Writer()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextdash.writer.WRITE_WAIT_SECONDS", 0.4)


def add_user(names: Sequence[str]) -> Sequence[int]:
    return [User.objects.create(username=name).pk for name in names]


def at_once(count: int, work: Any) -> list[Any]:
    """``work(n)`` in that many threads; what each returned or raised."""
    results: list[Any] = [None] * count

    def run(place: int) -> None:
        try:
            results[place] = work(place)
        except Exception as error:
            results[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Lock:
    """Another program that holds the write lock."""

    def __enter__(self) -> None:
        path = db.database_file()
        assert path is not None
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


def test_what_many_threads_write_is_stored_once_each_and_answered_with_its_own(writer: Writer) -> None:
    keys = at_once(40, lambda n: writer.submit(add_user, [f"user{n}"])[0])
    stored = dict(User.objects.values_list("username", "pk"))
    assert [stored[f"user{n}"] for n in range(40)] == keys


def test_jobs_that_wait_together_are_given_in_one_call(writer: Writer) -> None:
    sizes: list[int] = []
    gate = threading.Event()

    def hold(items: Sequence[None]) -> Sequence[None]:
        gate.wait(5)
        return items

    def count(items: Sequence[int]) -> Sequence[int]:
        sizes.append(len(items))
        return items

    def work(place: int) -> Any:
        if place == 0:
            return writer.submit(hold, [None])
        time.sleep(0.2)
        if place == 9:
            time.sleep(0.3)
            gate.set()
            return None
        return writer.submit(count, [place, place])

    results = at_once(10, work)
    assert results[1:9] == [[n, n] for n in range(1, 9)]
    assert sizes == [16]


def test_one_bad_job_does_not_take_its_neighbours_with_it(writer: Writer) -> None:
    User.objects.create(username="user5")
    results = at_once(12, lambda n: writer.submit(add_user, [f"user{n}"]))
    assert isinstance(results[5], IntegrityError)
    assert all(isinstance(result, list) for place, result in enumerate(results) if place != 5)
    assert User.objects.count() == 12


def test_a_job_is_stored_whole_or_not_at_all(writer: Writer) -> None:
    with pytest.raises(IntegrityError):
        writer.submit(add_user, ["anna", "berta", "anna"])
    assert not User.objects.exists()


def test_a_refusal_reaches_its_caller_and_undoes_what_was_written(writer: Writer) -> None:
    def refuse(items: Sequence[str]) -> Sequence[int]:
        add_user(items)
        raise Invalid("no", field="x")

    with pytest.raises(Invalid):
        writer.submit(refuse, ["anna"])
    assert not User.objects.exists()
    assert writer.submit(add_user, ["berta"])


def test_a_failure_at_commit_is_found_and_its_neighbours_stay(writer: Writer) -> None:
    from contextdash.models import Token

    def orphan(items: Sequence[int]) -> Sequence[int]:
        # The foreign key is checked at commit.
        for owner in items:
            Token.objects.create(
                name="x", prefix="x", digest=bytes([owner % 256]), scope="read", owner_id=owner,
                created_at="2026-12-01T00:00:00Z",
            )  # fmt: skip
        return items

    owner = User.objects.create(username="owner").pk
    results = at_once(8, lambda n: writer.submit(orphan, [owner if n else 999_999]))
    assert isinstance(results[0], IntegrityError)
    # All the others would have collided on the digest: the first of them is in.
    assert Token.objects.count() == 1
    assert sum(isinstance(result, list) for result in results) == 1


def test_a_short_lock_of_another_program_makes_the_write_late_and_not_lost(writer: Writer) -> None:
    def work(place: int) -> Any:
        if place == 0:
            with Lock():
                time.sleep(1)
            return None
        time.sleep(0.1)
        return writer.submit(add_user, [f"user{place}"])

    at_once(9, work)
    assert User.objects.count() == 8


@pytest.mark.usefixtures("short_wait")
def test_a_long_lock_is_busy_and_what_was_given_up_is_never_stored(writer: Writer) -> None:
    with Lock():
        started = time.monotonic()
        results = at_once(4, lambda n: _busy(writer, f"user{n}"))
        assert time.monotonic() - started < 3
    assert results == ["busy"] * 4
    # The writer is free again as soon as the lock is, and skips what nobody waits for any more.
    end = time.monotonic() + 8
    while _busy(writer, "later") == "busy" and time.monotonic() < end:
        time.sleep(0.2)
    assert list(User.objects.values_list("username", flat=True)) == ["later"]


def _busy(writer: Writer, name: str) -> str:
    try:
        writer.submit(add_user, [name])
    except Busy:
        return "busy"
    return "stored"


@pytest.mark.usefixtures("short_wait")
def test_a_full_disk_is_told_as_that_and_the_writer_goes_on(writer: Writer) -> None:
    def fill(items: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1")  # no more than there are already
            cursor.execute("CREATE TABLE filler (text)")
            cursor.executemany("INSERT INTO filler VALUES (%s)", [["x" * 9000]] * 500)
        return items

    with pytest.raises(Unwritable, match="disk is full"):
        writer.submit(fill, [1])
    assert writer.running
    writer.submit(add_user, ["after"])
    assert User.objects.filter(username="after").exists()


def test_a_write_that_has_begun_is_waited_for(writer: Writer) -> None:
    def slow(items: Sequence[str]) -> Sequence[int]:
        time.sleep(1)
        return add_user(items)

    assert writer.submit(slow, ["anna"])
    assert User.objects.get().username == "anna"


def test_inside_a_transaction_a_write_runs_on_the_callers_connection(writer: Writer) -> None:
    with transaction.atomic():
        writer.submit(add_user, ["anna"])
        transaction.set_rollback(True)
    assert not User.objects.exists()


def test_stopping_stores_what_waits_and_refuses_what_comes_later() -> None:
    writer = Writer()
    writer.start()
    results = at_once(10, lambda n: writer.submit(add_user, [f"user{n}"]))
    writer.stop()
    assert all(isinstance(result, list) for result in results)
    assert not writer.running
    assert writer.submit(add_user, ["inline"])  # without a thread it writes by itself
    assert User.objects.count() == 11


def test_services_may_call_each_other_in_the_writers_turn(writer: Writer, monkeypatch: Any) -> None:
    monkeypatch.setattr("contextdash.writer.writer", writer)

    @write
    def inner(*, name: str) -> int:
        return User.objects.create(username=name).pk

    @write
    def outer(*, name: str) -> int:
        inner(name=name)
        raise Invalid("after all not")

    with pytest.raises(Invalid):
        outer(name="anna")
    assert not User.objects.exists()
    assert inner(name="berta")


def test_two_writers_of_hooks_at_once_leave_counts_that_agree(writer: Writer) -> None:
    from sessions_app.ingest.store import store
    from sessions_app.models import Event, Session, ToolCall
    from tests.sessions.deliveries import seen, tool

    def work(place: int) -> Any:
        return [
            writer.submit(store, [seen(tool(event, f"c{place}-{n}", prompt_id="t1"))])
            for n in range(20)
            for event in ("PostToolUse", "PreToolUse")
        ]

    at_once(2, work)
    session = Session.objects.get()
    assert (session.event_count, session.call_count, session.ordinal) == (80, 40, 80)
    assert Event.objects.count() == 80
    assert ToolCall.objects.filter(state="done").count() == 40
    assert session.turns.get().call_count == 40


def test_the_process_has_a_writer_that_is_off_until_it_serves() -> None:
    assert not process_writer.running
