"""Prepared queries answer what the ORM answers, for every value they are asked with."""

import pytest
from django.db.models import Count, Max, Q

from contextdash import clock
from contextdash.prepared import Prepared, given_number, given_text, given_time, totals
from sessions_app.models import AgentMessage, Session
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def rows():
    for number, activity in enumerate(("working", "working", "waiting", "ended")):
        session = factories.session(f"s-{number}", activity=activity)
        Session.objects.filter(key=session.key).update(last_us=1000 * number, title=f"it's {number}%")
        at = clock.from_us(1000 * number)
        AgentMessage.objects.create(session=session, agent_name="a", role="info", content="x", ts=at)


def test_values_are_told_anew_each_time(django_assert_num_queries):
    query = Prepared(
        lambda: (
            Session.objects.filter(last_us__gt=given_number("now") - 500, title=given_text("title"))
            .order_by("key")
            .values_list("id", "last_us")
        )
    )
    with django_assert_num_queries(3):
        assert query.rows(now=1000, title="it's 2%") == [("s-2", 2000)]
        assert query.one(now=1000, title="it's 3%") == ("s-3", 3000)
        assert query.one(now=3600, title="it's 3%") is None


def test_what_is_written_in_between_is_seen():
    query = Prepared(lambda: totals(Session.objects.all(), n=Count("key"), last=Max("last_us")))
    assert query.rows() == [(4, 3000)]
    factories.session("later")
    assert query.rows()[0][0] == 5


def test_times_go_in_and_come_out_as_the_orm_has_them():
    query = Prepared(
        lambda: (
            AgentMessage.objects.filter(ts__lt=given_time("until")).order_by("-ts").values_list("ts", "id")
        )
    )
    wanted = AgentMessage.objects.filter(ts__lt=clock.from_us(2500)).order_by("-ts").values_list("ts", "id")
    assert query.rows(until=clock.from_us(2500)) == list(wanted)


def test_totals_are_those_of_aggregate():
    sums = {"n": Count("key"), "working": Count("key", filter=Q(activity="working")), "last": Max("last_us")}
    for wanted in (Session.objects.all(), Session.objects.filter(title="nothing")):
        assert list(totals(wanted, **sums)) == [tuple(wanted.aggregate(**sums).values())]


def test_each_form_is_a_query_of_its_own():
    def build(of_one: bool):
        found = Session.objects.filter(id=given_text("id")) if of_one else Session.objects.all()
        return totals(found, n=Count("key"))

    query = Prepared(build)
    assert [query.rows(False, id="s-1"), query.rows(True, id="s-1")] == [[(4,)], [(1,)]]
