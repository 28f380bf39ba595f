from datetime import timedelta

import pytest

from contextdash import clock
from sessions_app.models import HookBucket, HookEvent, Quarantined
from sessions_app.queries import hooks as queries
from tests import factories

pytestmark = pytest.mark.django_db

FRAGMENT = {"HX-Request": "true"}
QUARTER_US = 900_000_000


def bucket(client="claude-code", event="PreToolUse", hours_ago=0, **counts):
    at = clock.now_us() - hours_ago * 3_600_000_000
    return HookBucket.objects.create(
        start_us=at // QUARTER_US * QUARTER_US, client=client, event=event, last_us=at, **counts
    )


def report(outcome="ok", hook="20-autoreview.csx", event="beforeCommit", ms=100, minutes_ago=1, **values):
    at = clock.now() - timedelta(minutes=minutes_ago)
    return HookEvent.objects.create(
        hook_name=hook, event_type=event, outcome=outcome, duration_ms=ms, ts=at, **values
    )


def held(reason="malformed", **values):
    values.setdefault("body", b'{"a":1}')
    values.setdefault("body_size", len(values["body"]))
    return Quarantined.objects.create(
        source="hook", client="claude-code", reason=reason, at=clock.now(), **values
    )


def test_deliveries_are_summed_by_client_and_event_within_the_range():
    bucket(accepted=5, hours_ago=3)
    bucket(accepted=7, duplicate=1, refused=2)
    bucket(event="Odd", accepted=1, unknown=1)
    bucket(accepted=100, hours_ago=24 * 3)
    [client] = queries.deliveries(timedelta(days=1))
    assert (client.accepted, client.duplicate, client.refused, client.unknown) == (13, 1, 2, 1)
    assert [(event.event, event.accepted) for event in client.events] == [("PreToolUse", 12), ("Odd", 1)]


def test_rates_and_percentiles_leave_out_skips_and_wrong_clocks():
    for ms in range(1, 101):
        report(ms=ms)
    report("skip", ms=0)
    report("warn", ms=-5)
    report("exploded", ms=10**15)
    found = queries.reports(timedelta(days=1))
    [script] = found.scripts
    assert (script.p50_us, script.p95_us) == (50_000, 95_000)
    assert [(name, count) for name, count, _ in script.shares] == [
        ("ok", 100), ("warn", 1), ("skip", 1), ("exploded", 1),
    ]  # fmt: skip


def test_the_last_failure_of_each_hook_and_event_is_shown():
    report("fail", hook="21-build-gate.csx", minutes_ago=9)
    last = report("fail", hook="21-build-gate.csx", minutes_ago=2)
    other = report("fail", hook="30-test-gate.csx", event="beforePush", minutes_ago=5)
    report("ok")
    assert [row.pk for row in queries.reports(timedelta(days=1)).failures] == [last.pk, other.pk]


@pytest.mark.parametrize("gate", ["contextdash-gate", "20-autoreview.csx"])
def test_what_the_gate_holds_back_is_its_answer_and_no_failure(page, gate):
    for _ in range(4):
        report("fail", hook=gate)
    body = page.get("/hooks/").text
    assert "held back" in body
    assert queries.reports(timedelta(days=1)).failures == []
    assert "Last failure of each" not in body


def test_the_page_shows_all_of_it_in_few_queries(page, django_assert_max_num_queries):
    session = factories.session("s1")
    for number in range(30):
        bucket(event=f"Event{number}", accepted=1)
        report("fail", hook=f"hook-{number}", session=session, payload_json='{"reason":"no-fresh-review"}')
        held(detail=f"detail {number}")
    page.get("/hooks/")
    with django_assert_max_num_queries(11):
        answer = page.get("/hooks/", headers=FRAGMENT)
    body = answer.content.decode()
    assert "no-fresh-review" in body
    assert "detail 29" in body
    assert answer.context["next_url"]


def test_an_empty_page_says_the_next_step(page):
    body = page.get("/hooks/").content.decode()
    assert "contextdash connect claude-code" in body
    assert "Everything that came was stored" in body


@pytest.mark.parametrize("chosen", ["1h", "7d", "30d", "nonsense", "'"])
def test_any_range_is_answered(page, chosen):
    bucket(accepted=1)
    assert page.get("/hooks/", {"range": chosen}).status_code == 200


def test_an_unchanged_page_is_204_and_a_delivery_is_news(page):
    row = bucket(accepted=1)
    version = page.get("/hooks/").headers["X-Version"]
    assert page.get("/hooks/", {"v": version}).status_code == 204
    HookBucket.objects.filter(pk=row.pk).update(accepted=2)
    assert page.get("/hooks/", {"v": version}).status_code == 200


def test_a_quarantined_body_is_text_whatever_it_holds(page):
    row = held(
        detail="<script>alert(1)</script>",
        event="<b>Event</b>",
        body=b'{"x": "<script>alert(1)</script>\xff\x00\x1b[31m"}',
    )
    for path in ("/hooks/", f"/hooks/quarantined/{row.pk}/"):
        body = page.get(path).content.decode()
        assert "<script>alert" not in body
        assert "<b>Event" not in body
        assert "\x1b" not in body
        assert "\x00" not in body


def test_a_list_of_held_bodies_does_not_read_them_whole(page):
    for _ in range(20):
        held(body=b"x" * 65_536, body_size=20_000_000)
    assert len(page.get("/hooks/").content) < 100_000


@pytest.mark.parametrize("pk", ["1", "99999999999999999999999"])
def test_an_unknown_body_is_not_found(page, pk):
    assert page.get(f"/hooks/quarantined/{pk}/").status_code == 404


def test_a_session_shows_its_reports(page):
    session = factories.session("s1", hook_count=1)
    report("fail", session=session, ms=380, payload_json='{"exit":1}')
    body = page.get("/sessions/s1/hooks/").content.decode()
    assert "20-autoreview.csx" in body
    assert "380ms" in body
