"""Claims of a session, raw: what the ledger's page leads to."""

import html
import json

import pytest

from sessions_app.models import SubagentSpawn
from tests.claims.test_continuations import body, sealed
from tests.claims.test_epochs import EPOCH
from tests.claims.test_partials import piece, write
from tests.claims.test_spawns import WORK
from tests.ledger.telling import run

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>"


def test_the_export_of_a_session_holds_them(api, page):
    of = run("s-1", run_id="run-0")
    api.post("spawns", WORK)
    api.post("continuations", body(sealed()))
    write(piece(of, "Half a sentence"))
    answer = page.get("/sessions/s-1/export.json")
    told = json.loads(b"".join(answer.streaming_content))["sessions"][0]
    assert [row["child_session_id"] for row in told["spawns"]] == ["child-1"]
    assert [row["claim_id"] for row in told["continuations"]] == ["claim-1"]
    assert [row["text"] for row in told["streams"]] == ["Half a sentence"]
    text = b"".join(page.get("/sessions/s-1/export.md").streaming_content).decode()
    for told_so in ("child-1", "claim-1", "Half a sentence"):
        assert told_so in text


def test_the_ledger_leads_to_what_was_claimed_and_each_kind_is_shown(
    api, page, django_assert_max_num_queries
):
    of = run("s-1", run_id="run-0")
    ledger = page.get("/sessions/s-1/ledger/").text
    assert 'href="/sessions/s-1/claims/">Claims and streams</a>' in ledger
    assert ">Claims and streams</a></li>" not in page.get("/sessions/s-1/").text, "it has no tab"
    assert "claimed anything" in page.get("/sessions/s-1/claims/").text
    api.post("spawns", WORK)
    api.post("continuations", body(sealed()))
    api.post("epochs", EPOCH)
    api.post("sessions/ensure", session_id="s-9", request_fingerprint="print-9")
    write(piece(of, f"Half a {HOSTILE} sen"))
    with django_assert_max_num_queries(30):
        text = html.unescape(page.get("/sessions/s-1/claims/").text)
    for told in ("child-1", "claim-1", "epoch_1", "runtime_recovery_authority", "Half a"):
        assert told in text
    assert HOSTILE not in page.get("/sessions/s-1/claims/").text
    assert "print-9" in page.get("/sessions/s-9/claims/").text
    assert SubagentSpawn.objects.get().child_session_id in page.get("/sessions/child-1/claims/").text
