import pytest
from django.db import DatabaseError, transaction

from contextdash import clock
from sessions_app.models import Event, Purge, ToolJournalEntry
from sessions_app.services.ledger_append import TOOLS
from tests import factories
from tests.ledger import telling

pytestmark = pytest.mark.django_db


def make_event(session, number: int = 1) -> Event:
    return Event.objects.create(
        session=session,
        ordinal=number,
        source="api",
        client="test",
        name="Something",
        kind="other",
        identity=number.to_bytes(16, "big"),
        content=b"c" * 16,
        occurred_us=1,
        received_us=number,
        payload=b"{}",
        payload_size=2,
    )


def test_an_event_is_never_changed():
    event = make_event(factories.session())
    with pytest.raises(DatabaseError, match="never change"), transaction.atomic():
        Event.objects.filter(pk=event.pk).update(name="Other")
    assert Event.objects.get().name == "Something"


def test_an_event_is_not_deleted_without_a_purge():
    event = make_event(factories.session())
    with pytest.raises(DatabaseError, match="purge"), transaction.atomic():
        event.delete()
    assert Event.objects.count() == 1


def test_an_entry_of_a_journal_is_never_changed():
    of = telling.run()
    tell = telling.Teller(of)
    telling.append(of, tell.call("c1"), tell.dispatch("c1"), writers=TOOLS)
    with pytest.raises(DatabaseError, match="never change"), transaction.atomic():
        ToolJournalEntry.objects.update(state="recovery_completed")
    with pytest.raises(DatabaseError, match="never change"), transaction.atomic():
        Event.objects.update(seq=9)
    assert ToolJournalEntry.objects.get().state == "prepared"


def test_an_open_purge_lets_the_events_of_its_session_go_and_no_others():
    mine, other = factories.session(), factories.session()
    make_event(mine, 1)
    make_event(other, 2)
    purge = Purge.objects.create(session_key=mine.key, reason="asked", started_at=clock.now())
    Event.objects.filter(session=mine).delete()
    with pytest.raises(DatabaseError), transaction.atomic():
        Event.objects.filter(session=other).delete()
    purge.finished_at = clock.now()
    purge.save()
    make_event(mine, 3)
    with pytest.raises(DatabaseError), transaction.atomic():
        Event.objects.filter(session=mine).delete()


@pytest.mark.django_db(transaction=True)
def test_flush_goes_through_the_door():
    make_event(factories.session())
    # The teardown of this test is the check: it flushes a database that holds an event.
