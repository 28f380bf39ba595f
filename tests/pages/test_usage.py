"""The Usage page, and what a session cost where sessions are shown."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.test import Client

from contextdash.models import Change, User
from sessions_app.importers.files import Place, import_file
from sessions_app.models import PriceOverride, Project, Session
from tests.imports.lines import prompt, response, says, write

pytestmark = pytest.mark.django_db

HERE = Place(host="desk")
CLAUDE = Path(__file__).parent.parent / "data" / "transcripts" / "claude" / "projects"
NOW = "2026-11-18T20:00:00Z"
USED = {"input_tokens": 1000, "output_tokens": 2000, "cache_read_input_tokens": 500_000}


def take_all() -> None:
    for path in sorted(CLAUDE.rglob("*.jsonl"), key=lambda path: path.stem.startswith("c04")):
        import_file(path, place=HERE)


def spend(folder: Path, at: str, model: str = "claude-opus-5", name: str = "m") -> None:
    told = response(name, at, says("x"), model=model, **USED)
    import_file(write(folder, prompt("Go.", at, turn=name), told), place=HERE)


def text(response: Any) -> str:
    return str(response.content.decode())


@time_machine.travel(NOW, tick=False)
def test_the_page_tells_tokens_and_cost_of_the_samples(page: Client) -> None:
    take_all()
    shown = text(page.get("/usage/"))
    assert "4 November to 18 November 2026, days in UTC" in shown
    assert "$0.96" in shown
    assert "claude-opus-5" in shown
    assert "claude-sonnet-4-5" not in shown  # of last year
    assert "kettle-api" in shown
    assert "Explore" in shown


@time_machine.travel(NOW, tick=False)
def test_what_has_no_price_is_listed_and_never_zero(page: Client, tmp_path: Path) -> None:
    spend(tmp_path, "2026-11-18T10:00:00Z", model="router-internal-1")
    shown = text(page.get("/usage/"))
    assert "1 call of router-internal-1: no price is known" in shown
    assert "$0.00" not in shown
    assert "—" in text(page.get("/sessions/"))


@time_machine.travel(NOW, tick=False)
@pytest.mark.parametrize(
    ("zone", "day"),
    [("America/Los_Angeles", "2026-11-16"), ("Asia/Tokyo", "2026-11-17"), ("UTC", "2026-11-17")],
)
def test_evening_work_is_on_the_readers_day_in_table_filter_and_file(
    page: Client, member: User, tmp_path: Path, zone: str, day: str
) -> None:
    spend(tmp_path, "2026-11-17T04:08:00Z")
    member.time_zone = zone
    member.save()
    shown = text(page.get("/usage/"))
    assert f"days in {zone}" in shown
    assert "$0.30" in text(page.get(f"/usage/?day={day}"))
    other = "2026-11-17" if day.endswith("16") else "2026-11-16"
    assert "No usage in these days" in text(page.get(f"/usage/?day={other}"))
    rows = list(csv.reader(StringIO(text(page.get("/usage/usage.csv")))))
    assert rows[0] == [f"day ({zone})", "model", "cost_usd"]
    assert [row[:2] for row in rows[1:]] == [[day, "claude-opus-5"]]


@time_machine.travel(NOW, tick=False)
def test_filters_are_in_the_address_and_can_be_left_out(page: Client, tmp_path: Path) -> None:
    spend(tmp_path, "2026-11-18T10:00:00Z", name="m1")
    spend(tmp_path, "2026-11-18T11:00:00Z", model="claude-sonnet-5", name="m2")
    shown = text(page.get("/usage/?model=claude-sonnet-5"))
    assert 'href="?"' in shown
    assert "claude-opus-5" not in shown
    assert "No usage in these days" in text(page.get("/usage/?agent=nobody"))
    project = Project.objects.get()
    assert "claude-opus-5" in text(page.get(f"/usage/?project={project.slug}"))
    assert "No usage in these days" in text(page.get("/usage/?project=another"))


@pytest.mark.parametrize(
    "query", ["days=0", "days=x", "day=2026-13-45", "model=%00", "project=%27%22", "days=99999"]
)
def test_odd_addresses_are_answered(page: Client, query: str) -> None:
    assert page.get(f"/usage/?{query}").status_code in (200, 400)


@time_machine.travel(NOW, tick=False)
def test_a_session_costs_what_its_subagents_cost_besides(page: Client) -> None:
    take_all()
    shown = text(page.get("/sessions/"))
    root = Session.objects.get(id="7c1e4b52-8f3a-4d19-9a6e-2b5d0c9f1e77")
    family = Session.objects.filter(parent=root)
    whole = sum(row.cost_micro or 0 for row in (root, *family)) / 1_000_000
    assert f"${whole:.2f}" in shown
    assert f"${whole:.2f}" in text(page.get(f"/sessions/{root.id}/"))


@time_machine.travel(NOW, tick=False)
def test_today_tells_what_the_day_cost(page: Client, tmp_path: Path) -> None:
    spend(tmp_path, "2026-11-18T10:00:00Z")
    spend(tmp_path, "2026-11-17T10:00:00Z", name="yesterday")
    assert "$0.30" in text(page.get("/"))


@time_machine.travel(NOW, tick=False)
def test_the_page_costs_the_same_with_many_rows(
    page: Client, tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    spend(tmp_path, "2026-11-18T10:00:00Z")
    with django_assert_max_num_queries(30) as few:
        page.get("/usage/")
    for number in range(20):
        spend(
            tmp_path,
            f"2026-11-{number % 9 + 10}T1{number % 9}:00:00Z",
            model=f"model-{number}",
            name=f"n{number}",
        )
    with django_assert_max_num_queries(len(few.captured_queries)):
        page.get("/usage/")


@time_machine.travel(NOW, tick=False)
def test_hostile_names_are_shown_as_text(page: Client, tmp_path: Path) -> None:
    spend(tmp_path, "2026-11-18T10:00:00Z", model="<script>alert(1)</script>")
    spend(tmp_path, "2026-11-18T10:10:00Z", model="=1+1", name="m3")
    assert "<script>alert" not in text(page.get("/usage/"))
    assert "'=1+1" in text(page.get("/usage/usage.csv"))


def test_nobody_sees_it_signed_out(client: Client) -> None:
    assert client.get("/usage/").status_code == 302


def test_an_owner_sets_a_price_in_the_admin_and_the_past_is_priced(
    client: Client, owner: User, tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    client.force_login(owner)
    spend(tmp_path, "2026-11-18T10:00:00Z", model="router-internal-1")
    values = {
        "model": "router-internal-1",
        "input_price": "2",
        "output_price": "10",
        "cache_read_price": "0",
        "cache_write_5m_price": "0",
        "cache_write_1h_price": "0",
        "reason": "our contract",
        "active": "on",
    }
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post("/admin/sessions_app/priceoverride/add/", values)
    assert answer.status_code == 302, text(answer)
    assert Session.objects.get().cost_micro == 22_000
    assert Change.objects.filter(noun="price", row_id="router-internal-1", reason="our contract").count() == 6
    row = PriceOverride.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        client.post(f"/admin/sessions_app/priceoverride/{row.pk}/change/", {**values, "active": ""})
    assert not PriceOverride.objects.get().active
    session = Session.objects.get()
    assert (session.cost_micro, session.unpriced_count) == (None, 1)
