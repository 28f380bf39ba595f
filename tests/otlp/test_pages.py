"""What pages show of telemetry, and how Connect says that it is switched on."""

import pytest
import time_machine
from django.test import Client

from contextdash.connect.clients import CLIENTS
from contextdash.pages.snippets import snippet
from sessions_app.models import CodeCount, Project, Session
from tests.otlp.sending import Exporter, sample

pytestmark = pytest.mark.django_db

SESSION = "7c1e4b52-8f3a-4d19-9a6e-2b5d0c9f1e77"


@pytest.fixture
def counted(exporter: Exporter) -> Session:
    exporter.send(sample("v1-logs.json"))
    exporter.send(sample("v1-metrics.json"))
    return Session.objects.get(id=SESSION)


def test_the_session_tells_lines_and_commits(counted: Session, page: Client) -> None:
    shown = page.get(f"/sessions/{SESSION}/").content.decode()
    assert "7 lines in, 0 out" in shown
    CodeCount.objects.update(commits=2, lines_removed=3)
    shown = page.get(f"/sessions/{SESSION}/").content.decode()
    assert "2 commits, 7 lines in, 3 out" in shown


def test_usage_tells_them_by_day_and_project(counted: Session, page: Client) -> None:
    with time_machine.travel("2026-11-18T12:00:00Z", tick=False):
        assert "Lines written" in page.get("/usage/").content.decode()
        assert "Lines written" in page.get("/usage/?day=2026-11-17").content.decode()
        assert "Lines written" not in page.get("/usage/?day=2026-11-16").content.decode()
        assert "Lines written" in page.get("/usage/?project=no+project").content.decode()
        assert "Lines written" not in page.get("/usage/?project=other").content.decode()
        assert "Lines written" not in page.get("/usage/?model=claude-opus-5").content.decode()
        counted.project = Project.objects.create(
            name="Mine", slug="mine", root="/mine", created_at=counted.started_at
        )
        counted.save()
        # Its sums follow the session.
        assert "Lines written" not in page.get("/usage/?project=no+project").content.decode()


def test_health_tells_when_telemetry_came_last(counted: Session, page: Client) -> None:
    for address in ("/connect/", "/hooks/"):
        assert "claude-code telemetry" in page.get(address).content.decode()


@pytest.mark.parametrize("client", CLIENTS)
def test_the_lines_that_switch_telemetry_on(client: str, page: Client) -> None:
    lines = snippet(client, base="http://127.0.0.1:1", secret="cdt_x").telemetry.splitlines()
    assert "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1/otlp" in lines
    assert 'export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20cdt_x"' in lines
    assert ("export CLAUDE_CODE_ENABLE_TELEMETRY=1" in lines) == (client == "claude-code")
    shown = page.get(f"/connect/?client={client}").content.decode()
    assert "OTEL_EXPORTER_OTLP_HEADERS" in shown
