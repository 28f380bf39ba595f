import io
import zipfile
from datetime import UTC, datetime

import pytest

from contextdash.actor import SYSTEM
from sessions_app.queries.adr import as_record, file_name
from sessions_app.services.decisions import log_decision
from tests import factories

pytestmark = pytest.mark.django_db


def decide(choice="Unique index in PostgreSQL, not a lock in Redis", **values):
    return log_decision(topic="idempotency-store", choice=choice, actor=SYSTEM, **values)


def unpacked(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_a_record_tells_status_reason_and_its_chain():
    session = factories.session("s1", title="Make refunds idempotent")
    first = decide("Lock in Redis")
    second = decide(rationale="A lock can **expire**.", supersedes=first.pk, session=session)
    text = as_record(second)
    assert text.startswith(f"# {second.pk}. Unique index in PostgreSQL, not a lock in Redis\n")
    assert f"Supersedes [{first.pk}. Lock in Redis]({file_name(first)})" in text
    assert "A lock can **expire**." in text
    assert "Session: Make refunds idempotent (s1)" in text
    first.refresh_from_db()
    assert f"Superseded by [{second.pk}. Unique index" in as_record(first)


@pytest.mark.parametrize(
    "choice", ["../../etc/passwd", "C:\\x", "a/b\0c", "修改了项目", 'x"; rm -rf', "\x1b[31m", "n" * 999]
)
def test_a_file_name_is_never_a_path(choice):
    name = file_name(decide(choice))
    assert name.endswith(".md")
    assert len(name) < 80
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert ".." not in name


def test_the_export_is_a_zip_of_what_the_filter_lets_through(page):
    decide("First")
    other = decide("Second", agent_name="tester")
    answer = page.get("/decisions/export/", {"agent": "tester"})
    assert answer["Content-Type"] == "application/zip"
    assert answer["Content-Disposition"] == 'attachment; filename="decisions.zip"'
    assert list(unpacked(answer.content)) == [f"decisions/{file_name(other)}"]
    assert len(unpacked(page.get("/decisions/export/").content)) == 2


def test_one_and_all_as_markdown(page):
    made = decide("First")
    decide("Second")
    assert page.get(f"/decisions/{made.pk}/record.md")["Content-Disposition"].endswith(f'"{file_name(made)}"')
    text = page.get("/decisions/export/", {"format": "md"}).content.decode()
    assert text.index("First") < text.index("Second")


def test_a_decision_from_before_zip_files_were_invented_is_exported(page):
    decide(at=datetime(1971, 1, 1, tzinfo=UTC))
    assert "Date: 1971-01-01" in next(iter(unpacked(page.get("/decisions/export/").content).values()))


def test_an_export_reads_in_few_queries(page, django_assert_max_num_queries):
    last = None
    for number in range(60):
        last = decide(f"Choice {number}", supersedes=last.pk if last else None)
    with django_assert_max_num_queries(6):
        assert len(unpacked(page.get("/decisions/export/").content)) == 60


def test_programs_export_too(api, make_api):
    decide()
    assert len(unpacked(api.get("decisions/export").content)) == 1
    assert api.get("decisions/export", format="md").content.startswith(b"# ")
    assert api.get("decisions/export", format="pdf").status_code == 422
    assert make_api("ingest").get("decisions/export").status_code == 403


def test_the_page_offers_both_exports_of_its_filter(page):
    decide()
    body = page.get("/decisions/", {"agent": "orchestrator"}).content.decode()
    assert "/decisions/export/?agent=orchestrator&amp;format=md" in body
    assert 'href="/decisions/export/?agent=orchestrator"' in body
