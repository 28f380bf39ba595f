"""Can one trust the pages: what arrived, what was refused or is unknown, what waits in spools, what lags."""

import re

import pytest
from django.test import Client

from contextdash import background, clock
from contextdash.models import BackgroundRun, User
from contextdash.pages import arrivals
from sessions_app.models import SpoolReport
from tests import factories
from tests.conftest import Api

pytestmark = pytest.mark.django_db

SPOOL = {"X-Contextdash-Host": "build-7", "X-Contextdash-User": "dana%20d"}


def hook(api: Api, body: str) -> int:
    answer = api.client.post(
        "/api/v1/hooks/claude-code", body, content_type="application/json", headers=api.headers
    )
    return int(answer.status_code)


def told(api: Api, **headers: str) -> None:
    line = '{"type":"hook","client":"codex","body":{"session_id":"s-1","hook_event_name":"Stop"}}'
    sent = {**api.headers, **SPOOL, **{f"X-Contextdash-{name}": value for name, value in headers.items()}}
    answer = api.client.post("/api/v1/ingest", line, content_type="application/x-ndjson", headers=sent)
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/", "/connect/"])
def test_a_refused_delivery_is_counted_and_leads_to_its_reason(path, page, api):
    assert hook(api, '{"session_id":"s-1","hook_event_name":"Stop"}') == 204
    assert hook(api, "{broken") == 400
    body = page.get(path).text
    link = re.search(r'href="(/hooks/\?range=\d+d)#held">1', body)
    assert link
    assert "Claude Code" in body
    assert "not a JSON" in page.get(link[1]).text or "malformed" in page.get(link[1]).text


def test_connect_shows_the_reason_itself(page, api):
    hook(api, "{broken")
    body = page.get("/connect/").text
    assert re.search(r'<b>malformed</b> <bdi>claude-code</bdi> <a href="/hooks/quarantined/\d+/">', body)


def test_an_event_that_nobody_knows_is_stored_and_named(page, api):
    assert hook(api, '{"session_id":"s-1","hook_event_name":"Future<b>Event"}') == 204
    assert hook(api, '{"session_id":"s-1","hook_event_name":"Stop"}') == 204
    body = page.get("/connect/").text
    assert "sends what is not known here" in body
    assert "Future&lt;b&gt;Event</bdi> 1." in body
    assert "1 unknown" in page.get("/").text


def test_the_newest_word_of_each_spool_is_kept(page, api):
    told(api, Waiting="1204", Dropped="3")
    told(api, Waiting="7", Dropped="3")
    told(api, Waiting="0", Host="laptop")
    told(api)  # a writer's post says nothing of spools
    assert sorted(SpoolReport.objects.values_list("host", "user_name", "waiting", "dropped")) == [
        ("build-7", "dana d", 7, 3),
        ("laptop", "dana d", 0, 0),
    ]
    for path in ("/", "/connect/"):
        body = page.get(path).text
        assert "<b>7</b> wait in the spool on <bdi>build-7</bdi> of <bdi>dana d</bdi>" in body
        assert "3 lost, its spool was full" in body
        assert "laptop" not in body


def test_empty_spools_are_said_to_be_empty(page, api):
    assert "No spool has held anything back." in page.get("/connect/").text
    told(api, Waiting="0")
    assert "No spool that has reported holds anything back." in page.get("/").text


@pytest.mark.parametrize("waiting", ["-1", "x", "9" * 40, "٣", ""])
def test_a_count_that_is_none_is_left_out(waiting, api):
    told(api, Waiting=waiting)
    assert not SpoolReport.objects.exists()


def test_hostile_names_of_machines_are_text(page, api):
    told(api, Waiting="1", Host="%3Cscript%3E%00" + "x" * 900)
    body = page.get("/connect/").text
    assert "&lt;script&gt;" in body
    assert "<script>\x00" not in body


def test_the_news_of_a_spool_changes_the_version(page, api):
    told(api, Waiting="5")
    before = arrivals.health_version()
    SpoolReport.objects.update(at_us=clock.now_us() + 1)
    assert arrivals.health_version() != before


def test_the_sizes_are_told(page):
    sizes = arrivals.sizes()
    body = page.get("/connect/").text
    assert ("The database takes" in body) == (sizes is not None)


def test_background_work_that_lags_or_fails_is_told(page, api):
    told(api, Waiting="0")
    assert "Behind:" not in page.get("/").text
    task = background.states()[0]
    long_ago = clock.now_us() - 48 * 3_600_000_000
    BackgroundRun.objects.update_or_create(name=task.name, defaults={"finished_us": long_ago, "took_us": 1})
    assert f"Behind:</span> {task.title}" in page.get("/").text.replace("Behind: ", "Behind:</span> ")
    BackgroundRun.objects.filter(name=task.name).update(error="disk full <b>")
    body = page.get("/connect/").text
    assert "Failed in the background:" in body
    assert "disk full &lt;b&gt;" in body


# How many wait, in every title


@pytest.mark.parametrize("path", ["/", "/sessions/", "/board/", "/decisions/", "/connect/", "/profile/"])
def test_every_title_counts_the_sessions_that_wait(path, page):
    factories.session("s-1", activity="working")
    assert re.search(r"<title>[^(]", page.get(path).text)
    for n in range(2):
        factories.session(f"w-{n}", activity="waiting", waiting_for="May I?")
    factories.session("gone", activity="waiting", deleted_at=clock.now())
    body = page.get(path).text
    assert "<title>(2) " in body
    assert "<span hidden data-waiting>2</span>" in body


def test_the_line_that_every_page_asks_for_tells_when_the_number_changes(page):
    first = page.get("/freshness/").text
    version = re.search(r'data-version="([^"]+)"', first)[1]
    assert page.get("/freshness/", {"v": version}).status_code == 204
    factories.session("w", activity="waiting", waiting_for="May I?")
    news = page.get("/freshness/", {"v": version})
    assert "<span hidden data-waiting>1</span>" in news.text


# The reader's zone is named where days are counted


@pytest.mark.parametrize(
    "path", ["/", "/hooks/", "/mistakes/", "/reviews/trends/", "/board/flow/", "/standup/"]
)
def test_the_zone_is_named_where_days_are_counted(path, member: User):
    member.time_zone = "Asia/Tokyo"
    member.save()
    client = Client()
    client.force_login(member)
    main = client.get(path).text.partition("<main")[2]
    assert "JST" in main or "Asia/Tokyo" in main


def test_without_a_zone_of_the_profile_the_browsers_counts(page):
    page.cookies["contextdash_zone"] = "Asia/Tokyo"
    assert "JST" in page.get("/").text.partition("<main")[2]
